// Package live keeps the snapshot current. The follower waits for the store to say that something was committed, reads
// what the new versions touched, builds the next snapshot aside and swaps it in. When the store is away, the snapshot in
// hand goes on serving.
package live

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/store"
)

// SettingSynthetic is the setting that marks an installation whose data are made up.
const SettingSynthetic = "synthetic"

// Follower keeps a holder's snapshot current.
type Follower struct {
	Store   *store.DB
	Holder  *snapshot.Holder
	Prepare func(*snapshot.Snapshot) // makes ready what will be asked most, before the swap; may be nil
	Log     *slog.Logger
}

// retryAfter is how long the loop waits after a failed reading, and how long at most between two looks.
const retryAfter = time.Second

// Run follows the store until the context ends. Load must have succeeded once before.
func (f *Follower) Run(ctx context.Context) error {
	changed := f.Store.Changed()
	for {
		if err := f.Load(ctx); err != nil && ctx.Err() == nil {
			f.Log.Error("follow the store", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			changed = f.Store.Changed()
		case <-time.After(retryAfter):
		}
	}
}

// Load brings the snapshot up to the store's current version; the first call builds it.
func (f *Follower) Load(ctx context.Context) error {
	counters, coverage, err := f.Store.Head(ctx)
	if err != nil {
		return fmt.Errorf("read the counters: %w", err)
	}
	current := f.Holder.Load()
	if current != nil && current.Version == counters.Publication && current.CatalogVersion == counters.Catalog {
		return nil
	}
	next, err := f.next(ctx, current, counters, coverage)
	if err != nil {
		return fmt.Errorf("read version %d: %w", counters.Publication, err)
	}
	if f.Prepare != nil {
		f.Prepare(next)
	}
	f.Holder.Store(next)
	return nil
}

func (f *Follower) next(ctx context.Context, current *snapshot.Snapshot, counters store.Counters, coverage store.Coverage) (*snapshot.Snapshot, error) {
	update := snapshot.Update{Version: counters.Publication}
	for key := range coverage {
		if key.Grain == assay.Hourly {
			update.Covered = max(update.Covered, coverage.End(key))
		}
	}
	synthetic, err := f.Store.Setting(ctx, SettingSynthetic)
	if err != nil {
		return nil, err
	}
	update.Synthetic = synthetic == "true"
	if current == nil || current.CatalogVersion != counters.Catalog {
		catalog, err := f.Store.Catalog(ctx)
		if err != nil {
			return nil, err
		}
		current = snapshot.New(catalog, counters.Catalog)
		update.Series, err = f.everything(ctx, catalog, counters.Publication)
		if err != nil {
			return nil, err
		}
	} else if update.Series, err = f.changes(ctx, current.Version, counters.Publication); err != nil {
		return nil, err
	}
	return current.With(update), nil
}

// changes reads what the versions in (after, upTo] touched.
func (f *Follower) changes(ctx context.Context, after, upTo int64) (updates []snapshot.SeriesUpdate, err error) {
	changes, err := f.Store.Changes(ctx, after, upTo)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		s, err := f.Store.Series(ctx, c.Line, c.Grain, c.First, c.Last, upTo)
		if err != nil {
			return nil, err
		}
		updates = append(updates, snapshot.SeriesUpdate{Line: c.Line, Grain: c.Grain, Points: s.Points, Version: c.Version, Published: c.PublishedAt})
	}
	return updates, nil
}

// loaders is how many series are read at once in a full build; the store has as many reading connections to spare.
const loaders = 2

// everything reads every series of the catalog as of a version.
func (f *Follower) everything(ctx context.Context, catalog assay.Catalog, version int64) ([]snapshot.SeriesUpdate, error) {
	var updates []snapshot.SeriesUpdate
	for _, gpu := range catalog.GPUs {
		for _, region := range append([]string{assay.Global}, catalog.Regions...) {
			for _, grain := range assay.Grains {
				updates = append(updates, snapshot.SeriesUpdate{Line: assay.Line{GPU: gpu.Name, Region: region}, Grain: grain})
			}
		}
	}
	var wg sync.WaitGroup
	errs := make([]error, loaders)
	for worker := range loaders {
		wg.Go(func() {
			for i := worker; i < len(updates) && errs[worker] == nil; i += loaders {
				u := &updates[i]
				var s store.Series
				s, errs[worker] = f.Store.Series(ctx, u.Line, u.Grain, math.MinInt64, math.MaxInt64, version)
				u.Points, u.Version, u.Published = s.Points, s.Version, s.PublishedAt
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return updates, nil
}
