package store

import (
	"context"
	"log/slog"
	"time"
)

// followAnyway bounds how long a failed reading goes unrepeated. Readers are promised news within about that.
const followAnyway = time.Second

// Follow calls load at once and again whenever something may have been committed, by whichever process, until the context
// ends. Load looks whether anything has changed that it reads. A load that fails is repeated within a second; the log hears
// when that begins and when it is over, and not of each attempt.
func (db *DB) Follow(ctx context.Context, what string, log *slog.Logger, load func(context.Context) error) {
	var failing time.Time // since when; zero while all is well
	changed := db.Changed()
	for {
		switch err := load(ctx); {
		case ctx.Err() != nil:
			return
		case err != nil && failing.IsZero():
			failing = time.Now()
			log.Error("cannot follow the store; what was read before goes on counting", "what", what, "error", err)
		case err == nil && !failing.IsZero():
			log.Info("following the store again", "what", what, "after", time.Since(failing).Round(time.Millisecond).String())
			failing = time.Time{}
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
			changed = db.Changed()
		case <-time.After(followAnyway):
		}
	}
}

// headPatience is how long the database may take to say whether anything has changed. A connection that is cut without a word
// would be waited for much longer, and a revoked key would count as long.
const headPatience = 5 * time.Second
