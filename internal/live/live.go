// Package live keeps the snapshot current. The follower waits for a commit, reads what the new versions changed, builds
// the next snapshot and swaps it in. While the database is unreachable, the current snapshot keeps serving.
package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/observed"
	"github.com/assaydata/assay/internal/registry"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/utilization"
)

// SettingSynthetic is the setting that marks an installation with synthetic data.
const SettingSynthetic = "synthetic"

// Follower keeps a holder's snapshot current.
type Follower struct {
	Store   *store.DB
	Holder  *snapshot.Holder
	Prepare func(*snapshot.Snapshot) // prepares frequent responses; may be nil
	Now     func() time.Time         // nil does not wait for the instant of a publication
	Log     *slog.Logger

	seen     store.Counters            // of the current snapshot
	settler  *utilization.Settler      // of its utilization; nil if all of that must be read
	compared atomic.Pointer[time.Time] // when the snapshot was last known to be complete
}

// Run follows the store until the context ends. Call Load once before.
func (f *Follower) Run(ctx context.Context) error {
	f.Store.Follow(ctx, "published values", f.Log, f.Load)
	return nil
}

// Load updates the snapshot to the state of the store; the first call builds it.
func (f *Follower) Load(ctx context.Context) error {
	began := time.Now().Add(-f.Store.Lag()) // a replica is behind by this much
	counters, coverage, err := f.Store.Head(ctx)
	if err != nil {
		return fmt.Errorf("read the counters: %w", err)
	}
	counters.Receipt = 0 // a receipt matters only once it is published
	// These are followed elsewhere: no snapshot has to be built when someone signs in.
	counters.Keys, counters.Accounts, counters.Sessions, counters.Devices = 0, 0, 0, 0
	counters.ShareLinks, counters.IngestKeys = 0, 0
	if f.Holder.Load() != nil && f.seen == counters {
		f.compared.Store(&began)
		return nil
	}
	next, err := f.next(ctx, counters, coverage)
	if err != nil {
		return fmt.Errorf("read version %d: %w", counters.Publication, err)
	}
	// The first snapshot is shown at once: a response that is not prepared is better than none.
	first := f.Holder.Load() == nil
	if !first {
		f.prepare(next)
	}
	f.compared.Store(&began) // before the swap: readers of a snapshot may call Behind
	f.await(ctx, next)
	f.Holder.Store(next)
	f.seen = counters
	if first {
		f.prepare(next)
	}
	return nil
}

func (f *Follower) prepare(next *snapshot.Snapshot) {
	if f.Prepare != nil {
		f.Prepare(next)
	}
}

// longestWait bounds the wait for the instant of a publication: the publisher's clock may be ahead of this node's.
const longestWait = 10 * time.Second

// await announces a snapshot for the instant of its newest publication, and waits for it. A publication is committed a
// little earlier (see publish), so that every node shows it when that instant comes, and as_of a moment is what was
// served then.
func (f *Follower) await(ctx context.Context, next *snapshot.Snapshot) {
	newest, ok := next.Publication()
	if !ok || f.Now == nil {
		return
	}
	wait := time.Duration(newest.PublishedAt-f.Now().UnixMilli()) * time.Millisecond
	if wait <= 0 || wait > longestWait {
		return
	}
	f.Holder.Announce(next, newest.PublishedAt)
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
}

// Behind returns how long ago the snapshot was last known to show everything committed. Call Load once before.
func (f *Follower) Behind() time.Duration { return time.Since(*f.compared.Load()) }

// next builds the snapshot of the given counters from the current one.
func (f *Follower) next(
	ctx context.Context, counters store.Counters, coverage store.Coverage,
) (*snapshot.Snapshot, error) {
	current, seen := f.Holder.Load(), f.seen
	if wentBack(seen, counters) {
		current = nil
	}
	update := snapshot.Update{Version: counters.Publication}
	for key := range coverage {
		if key.Grain == assay.Hourly {
			update.Covered = max(update.Covered, coverage.End(key))
		} else {
			update.CoveredDays = max(update.CoveredDays, coverage.End(key))
		}
	}
	synthetic, err := f.Store.Setting(ctx, SettingSynthetic)
	if err != nil {
		return nil, err
	}
	update.Synthetic = synthetic == "true"
	if current != nil && current.CatalogVersion != counters.Catalog {
		if current, err = f.withNewCatalog(ctx, current, seen.Publication, counters.Catalog); err != nil {
			return nil, err
		}
	}
	if current == nil {
		catalog, err := f.Store.Catalog(ctx)
		if err != nil {
			return nil, err
		}
		current, seen, f.settler = snapshot.New(catalog, counters.Catalog), store.Counters{}, nil
		if update.Series, err = f.allSeries(ctx, catalog, counters.Publication); err != nil {
			return nil, err
		}
	} else if update.Series, err = f.changes(ctx, seen.Publication, counters.Publication); err != nil {
		return nil, err
	}
	if update.Publications, err = f.Store.Publications(ctx, seen.Publication, counters.Publication); err != nil {
		return nil, err
	}
	setVersions(update.Series, update.Publications)
	if err := f.readOthers(ctx, seen, counters, &update); err != nil {
		return nil, err
	}
	return current.With(update), nil
}

// wentBack reports whether the store has less than it had, because it was restored from a backup. Then everything must
// be read again.
func wentBack(seen, now store.Counters) bool {
	return now.Catalog < seen.Catalog || now.Publication < seen.Publication || now.Methodology < seen.Methodology ||
		now.Manifest < seen.Manifest || now.Notices < seen.Notices || now.Restatements < seen.Restatements ||
		now.Realtime < seen.Realtime || now.Utilization < seen.Utilization ||
		anyLess(now.Observed[:], seen.Observed[:])
}

// anyLess reports whether any of the values is less than the other at the same position.
func anyLess(values, others []int64) bool {
	for i := range values {
		if values[i] < others[i] {
			return true
		}
	}
	return false
}

// withNewCatalog returns the snapshot under a catalog with additions, or with entries that became free or paid. It
// shares all lines, because an addition has no data yet. It returns nil if an addition has data or something was
// removed: then the catalog was changed outside the program, and everything must be read again.
func (f *Follower) withNewCatalog(
	ctx context.Context, current *snapshot.Snapshot, version, catalogVersion int64,
) (*snapshot.Snapshot, error) {
	catalog, err := f.Store.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	next := current.WithCatalog(catalog, catalogVersion)
	for _, line := range catalogLines(current.Catalog) {
		if next.Line(line.GPU, line.Region) == nil {
			return nil, nil
		}
	}
	known := func(l assay.Line) bool { return current.Line(l.GPU, l.Region) != nil }
	updates, err := f.seriesOf(ctx, slices.DeleteFunc(catalogLines(catalog), known), version)
	hasData := func(u snapshot.SeriesUpdate) bool { return len(u.Revisions) > 0 }
	if err != nil || slices.ContainsFunc(updates, hasData) {
		return nil, err
	}
	return next, nil
}

// catalogLines lists the lines of a catalog.
func catalogLines(catalog assay.Catalog) (lines []assay.Line) {
	for _, gpu := range catalog.GPUs {
		for _, region := range append([]string{assay.Global}, catalog.Regions...) {
			lines = append(lines, assay.Line{GPU: gpu.Name, Region: region})
		}
	}
	return lines
}

// setVersions sets the newest publication of each series update.
func setVersions(updates []snapshot.SeriesUpdate, publications []assay.Publication) {
	published := map[int64]int64{}
	for _, p := range publications {
		published[p.Version] = p.PublishedAt
	}
	for i := range updates {
		u := &updates[i]
		for _, r := range u.Revisions {
			u.Version = max(u.Version, r.Version)
		}
		u.Published = published[u.Version]
	}
}

// readOthers reads everything that is not a series, as far as it has changed.
func (f *Follower) readOthers(ctx context.Context, seen, now store.Counters, update *snapshot.Update) (err error) {
	if now.Realtime != seen.Realtime {
		if update.Realtime, err = f.realtime(ctx, seen.Realtime, now.Realtime); err != nil {
			return err
		}
	}
	for i, family := range registry.Families {
		if update.Observations[i], err = f.observations(ctx, family, seen.Observed[i], now.Observed[i]); err != nil {
			return err
		}
	}
	if now.Methodology != seen.Methodology {
		if update.Methodologies, err = f.Store.Methodologies(ctx); err != nil {
			return err
		}
	}
	if now.Restatements != seen.Restatements {
		if update.Restatements, err = f.Store.Restatements(ctx, seen.Restatements, now.Restatements); err != nil {
			return err
		}
	}
	if now.Notices != seen.Notices {
		if update.Notices, err = f.Store.Notices(ctx, seen.Notices, now.Notices); err != nil {
			return err
		}
	}
	if now.Manifest != seen.Manifest {
		if update.Manifests, err = f.Store.Manifests(ctx, seen.Manifest, now.Manifest); err != nil {
			return err
		}
	}
	if now.Checkpoint != seen.Checkpoint && now.Checkpoint != 0 {
		if update.Checkpoint, err = f.Store.CheckpointNote(ctx, now.Checkpoint); err != nil {
			return err
		}
	}
	return f.readUtilization(ctx, seen, now, update)
}

// readUtilization reads which readings count now. All are read again when the methodology changes, or if this has
// failed: the settler cannot go back. So nothing that may fail comes after it.
func (f *Follower) readUtilization(
	ctx context.Context, seen, now store.Counters, update *snapshot.Update,
) (err error) {
	settler, after := f.settler, seen.Utilization
	f.settler = nil
	if settler == nil || now.Methodology != seen.Methodology {
		if settler, err = f.newSettler(ctx, now); err != nil {
			return err
		}
		update.AllUtilization, after = true, 0
	} else {
		update.Utilization = settler.Restate(observed.Of(assay.FamilyUtilization, update.Restatements))
	}
	received, err := observed.Utilization(ctx, f.Store, after, now.Utilization)
	if err != nil {
		return err
	}
	update.Utilization = append(update.Utilization, settler.Settle(received)...)
	f.settler = settler
	return nil
}

func (f *Follower) newSettler(ctx context.Context, now store.Counters) (*utilization.Settler, error) {
	files, err := f.Store.Methodologies(ctx)
	if err != nil {
		return nil, err
	}
	schedule, err := index.ReadableSchedule(files)
	if err != nil {
		f.Log.Error("read the methodology", "error", err)
	}
	rules, err := observed.ReadRules(ctx, f.Store, now, schedule)
	return utilization.NewSettler(rules.Of(assay.FamilyUtilization)), err
}

// observations reads what was received of a family in (after, upTo], or nil if that is empty.
func (f *Follower) observations(ctx context.Context, family family.Family, after, upTo int64) (family.Batch, error) {
	if upTo == after {
		return nil, nil
	}
	return observed.Batch(ctx, f.Store, family, after, upTo)
}

// realtime reads the prints in (after, upTo].
func (f *Follower) realtime(ctx context.Context, after, upTo int64) (updates []snapshot.RealtimeUpdate, err error) {
	prints, err := f.Store.Realtime(ctx, after, upTo)
	if err != nil {
		return nil, err
	}
	lines := map[assay.Line]int{}
	for _, p := range prints {
		i, ok := lines[p.Line]
		if !ok {
			i = len(updates)
			lines[p.Line] = i
			updates = append(updates, snapshot.RealtimeUpdate{Line: p.Line})
		}
		updates[i].Prints = append(updates[i].Prints, p.RealtimePrint)
	}
	return updates, nil
}

// changes reads the series that the versions in (after, upTo] changed.
func (f *Follower) changes(ctx context.Context, after, upTo int64) (updates []snapshot.SeriesUpdate, err error) {
	changes, err := f.Store.Changes(ctx, after, upTo)
	if err != nil {
		return nil, err
	}
	touched := map[store.SeriesKey]store.Span{} // both ends included
	for _, c := range changes {
		key := store.SeriesKey{Line: c.Line, Grain: c.Grain}
		span, ok := touched[key]
		if !ok {
			span = store.Span{From: c.First, To: c.Last}
		}
		touched[key] = store.Span{From: min(span.From, c.First), To: max(span.To, c.Last)}
	}
	for key, span := range touched {
		revisions, err := f.Store.Revisions(ctx, key.Line, key.Grain, span.From, span.To, after, upTo)
		if err != nil {
			return nil, err
		}
		updates = append(updates, snapshot.SeriesUpdate{Line: key.Line, Grain: key.Grain, Revisions: revisions})
	}
	return updates, nil
}

// allSeries reads every series of a catalog as of a version. If packed points are damaged, it reads the points
// themselves: a node that starts slowly is better than none, and no damaged value is shown.
func (f *Follower) allSeries(
	ctx context.Context, catalog assay.Catalog, version int64,
) (updates []snapshot.SeriesUpdate, err error) {
	all, err := f.Store.AllRevisions(ctx, version)
	if errors.Is(err, store.ErrDamaged) {
		f.Log.Error("reading published values one by one, which is slow: their packed form is damaged; run assay verify",
			"error", err)
		return f.seriesOf(ctx, catalogLines(catalog), version)
	}
	if err != nil {
		return nil, err
	}
	for _, line := range catalogLines(catalog) {
		for _, grain := range assay.Grains {
			if revisions := all[store.SeriesKey{Line: line, Grain: grain}]; len(revisions) > 0 {
				updates = append(updates, snapshot.SeriesUpdate{Line: line, Grain: grain, Revisions: revisions})
			}
		}
	}
	return updates, nil
}

// loaders is how many series are read one by one at once; the store has that many read connections to spare.
const loaders = 2

// seriesOf reads every series of the lines as of a version. Most lines of a large catalog have none.
func (f *Follower) seriesOf(ctx context.Context, lines []assay.Line, version int64) ([]snapshot.SeriesUpdate, error) {
	chains, err := f.Store.Chains(ctx)
	if err != nil {
		return nil, err
	}
	exists := make(map[store.SeriesKey]bool, len(chains))
	for _, c := range chains {
		exists[c.SeriesKey] = true
	}
	var updates []snapshot.SeriesUpdate
	for _, line := range lines {
		for _, grain := range assay.Grains {
			if exists[store.SeriesKey{Line: line, Grain: grain}] {
				updates = append(updates, snapshot.SeriesUpdate{Line: line, Grain: grain})
			}
		}
	}
	var wg sync.WaitGroup
	errs := make([]error, loaders)
	for worker := range loaders {
		wg.Go(func() {
			for i := worker; i < len(updates) && errs[worker] == nil; i += loaders {
				u := &updates[i]
				u.Revisions, errs[worker] = f.Store.Revisions(ctx, u.Line, u.Grain,
					math.MinInt64, math.MaxInt64, 0, version)
			}
		})
	}
	wg.Wait()
	return updates, errors.Join(errs...)
}
