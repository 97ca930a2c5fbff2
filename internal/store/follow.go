package store

import (
	"context"
	"log/slog"
	"time"
)

// followInterval is how soon a failed load is retried. Readers are promised new data within about a second.
const followInterval = time.Second

// Follow calls load at once, after every commit of any process, and once a second, until the context ends. Load checks
// whether something it reads has changed. The log shows when load begins to fail and when it works again, not each
// attempt.
func (db *DB) Follow(ctx context.Context, what string, log *slog.Logger, load func(context.Context) error) {
	var failing time.Time // since when; zero while load succeeds
	changed := db.Changed()
	for {
		switch err := load(ctx); {
		case ctx.Err() != nil:
			return
		case err != nil && failing.IsZero():
			failing = time.Now()
			log.Error("cannot follow the store; using the last data read", "what", what, "error", err)
		case err == nil && !failing.IsZero():
			log.Info("following the store again", "what", what, "after", time.Since(failing).Round(time.Millisecond).String())
			failing = time.Time{}
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
			changed = db.Changed()
		case <-time.After(followInterval):
		}
	}
}

// headTimeout bounds the check whether anything has changed. A connection that is lost unnoticed would block it much
// longer, and a revoked key would stay valid that long.
const headTimeout = 5 * time.Second
