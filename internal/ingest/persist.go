package ingest

import "time"

// How long a followed feed waits before it tries the database again.
const (
	firstRetry   = 100 * time.Millisecond
	longestRetry = 5 * time.Second
)

// persist attempts something that needs the database. A feed outlasts its database: it tries again until that is back,
// and reads no further meanwhile, so nothing that was read is lost. It gives up only when the feed's context ends.
// Every row has a key, so it does not matter whether an attempt that failed was committed all the same.
func (im *Importer[T]) persist(attempt func() error) error {
	for pause := firstRetry; ; pause = min(2*pause, longestRetry) {
		err := attempt()
		if err == nil || im.feed == nil {
			return err
		}
		if im.Retrying != nil {
			im.Retrying(err)
		}
		select {
		case <-im.feed.ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}
