package publish

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
)

// DefaultLead is the lead of a publisher whose versions other nodes read.
const DefaultLead = time.Second

// longestLead bounds the lead. A version that takes half a minute to write is committed whenever it is ready.
const longestLead = time.Minute

// writingTime is how much longer the lead is for each record.
const writingTime = 50 * time.Microsecond

// errTooLate is the error when a version could not be committed in time.
var errTooLate = errors.New("the instant of the version is too close")

// commit publishes the records of a step. The publication has the time that they cover and, if it is a restatement, who
// made it and why.
//
// A version has the instant from which on it is served: as_of that instant includes it, and as_of a millisecond earlier
// does not. No one knows in advance when a transaction will be committed and read by every node. So the instant lies
// ahead by the publisher's lead: the version is committed before half of it has passed, nodes read it in the other half
// and show it when the instant comes (see live). If writing takes longer, nothing is committed, and the version is
// sealed again with a longer lead.
func (p *Publisher) commit(ctx context.Context, s *step, publication store.Publication) (version int64, err error) {
	lead := p.Lead
	if lead > 0 {
		lead += time.Duration(s.records) * writingTime
	}
	for ; ; lead *= 2 {
		// A clock set back must not reverse the order of versions.
		at := max(p.Now().Add(lead).UnixMilli(), s.state.PublishedAt)
		s.seal(&publication, at)
		if latest := at - lead.Milliseconds()/2; lead > 0 && lead <= longestLead {
			publication.BeforeCommit = func() error {
				if p.Now().UnixMilli() > latest {
					return errTooLate
				}
				return nil
			}
		} else {
			publication.BeforeCommit = nil
		}
		version, err = p.Store.Publish(ctx, publication)
		if err == nil {
			p.published = at
		}
		if !errors.Is(err, errTooLate) {
			return version, err
		}
	}
}

// inOrder compares series by their names.
func inOrder(a, b store.SeriesKey) int {
	return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Region, b.Region), cmp.Compare(a.Grain, b.Grain))
}

// seal gives all records the instant of the version, and chains them: each carries the hash of the one before it in its
// series. Series are in the order of their names, so that the same market gives the same database.
func (s *step) seal(p *store.Publication, at int64) {
	p.Methodology, p.Receipt, p.PublishedAt = s.schedule.At(at).Version, s.state.Receipt, at
	p.Series = p.Series[:0]
	for _, key := range slices.SortedFunc(maps.Keys(s.made), inOrder) {
		records, previous := s.made[key], s.state.Heads[key]
		for i := range records {
			records[i].PublishedAt = at
			proof.Seal(&records[i], previous)
			previous = records[i].Hash
		}
		p.Series = append(p.Series, store.SeriesRecords{Line: key.Line, Grain: key.Grain, Records: records})
	}
}

// AwaitServed waits until everything that this publisher has made is served.
func (p *Publisher) AwaitServed(ctx context.Context) {
	wait := time.Duration(p.published-p.Now().UnixMilli()) * time.Millisecond
	if p.Lead == 0 || wait <= 0 || wait > longestLead { // it is longer if the clock was set back
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
}
