package live_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/live"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

var (
	global = assay.Line{GPU: "H100 SXM", Region: assay.Global}
	east   = assay.Line{GPU: "H100 SXM", Region: "us-east"}
)

func newFollower(db *store.DB) *live.Follower {
	return &live.Follower{Store: db, Holder: &snapshot.Holder{}, Log: slog.New(slog.DiscardHandler)}
}

func load(t *testing.T, f *live.Follower) *snapshot.Snapshot {
	t.Helper()
	if err := f.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f.Holder.Load()
}

// hour is a publication of hour n, counted from 1970: a point of value n in each line, and the coverage of the GPUs.
func hour(n int64, lines ...assay.Line) store.Publication {
	p := store.Publication{Methodology: "1.0.0", Covers: store.Coverage{}}
	for _, line := range lines {
		point := assay.Point{At: (n + 1) * assay.Hour, Value: assay.Nanos(n)}
		p.Series = append(p.Series, store.SeriesPoints{Line: line, Grain: assay.Hourly, Points: []assay.Point{point}})
		p.Covers[store.CoverageKey{GPU: line.GPU, Grain: assay.Hourly}] = []store.Span{{From: n * assay.Hour, To: (n + 1) * assay.Hour}}
	}
	return p
}

func publish(t *testing.T, db *store.DB, p store.Publication) {
	t.Helper()
	if _, err := db.Publish(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// describe writes down all of a snapshot that a reader can get at, every row byte for byte.
func describe(s *snapshot.Snapshot) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.Version, s.CatalogVersion, s.Latest, s.Covered, s.Synthetic, s.Catalog)
	for _, gpu := range s.Catalog.GPUs {
		for _, region := range append([]string{assay.Global}, s.Catalog.Regions...) {
			for _, grain := range assay.Grains {
				series := s.Line(gpu.Name, region).Series(grain)
				fmt.Fprintln(&b, gpu.Name, region, grain, series.Version(), series.Modified(), series.Len(), string(series.Rows(0, series.Len())))
			}
		}
	}
	return b.String()
}

func TestLoad_Builds(t *testing.T) {
	db := storetest.Open(t)
	f := newFollower(db)
	if s := load(t, f); s.Version != 0 || s.Latest != 0 || s.Covered != 0 || s.Synthetic || len(s.GPUsByName) != 6 {
		t.Errorf("an empty store becomes %s", describe(s))
	}
	var clock int64
	db.Now = func() time.Time { return time.UnixMilli(clock) }
	for n := range int64(3) {
		clock = 1000 + n
		publish(t, db, hour(n, global))
	}
	if err := db.SetSetting(t.Context(), live.SettingSynthetic, "true"); err != nil {
		t.Fatal(err)
	}
	s := load(t, newFollower(db))
	if s.Version != 3 || s.Latest != 3*assay.Hour || s.Covered != 3*assay.Hour || !s.Synthetic {
		t.Errorf("three hours become version %d, latest %d, covered %d, synthetic %v", s.Version, s.Latest, s.Covered, s.Synthetic)
	}
	series := s.Line("H100 SXM", assay.Global).Series(assay.Hourly)
	const want = `{"timestamp":"1970-01-01T01:00:00.000Z","index_value":0},` +
		`{"timestamp":"1970-01-01T02:00:00.000Z","index_value":0.000000001},` +
		`{"timestamp":"1970-01-01T03:00:00.000Z","index_value":0.000000002}`
	if got := string(series.Rows(0, series.Len())); got != want {
		t.Errorf("the rows are\n%s, want\n%s", got, want)
	}
	if series.Version() != 3 || series.Modified() != 1002 {
		t.Errorf("the series is of version %d at %d, want 3 at 1002", series.Version(), series.Modified())
	}
	if n := s.Line("H100 SXM", "us-east").Series(assay.Hourly).Len(); n != 0 {
		t.Errorf("a line without publications has %d points", n)
	}
}

func TestLoad_NothingNew(t *testing.T) {
	db := storetest.Open(t)
	f := newFollower(db)
	before := load(t, f)
	if err := db.SetSetting(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	if load(t, f) != before {
		t.Error("a commit that publishes nothing replaces the snapshot")
	}
}

func TestLoad_PreparesBeforeTheSwap(t *testing.T) {
	db := storetest.Open(t)
	f := newFollower(db)
	var prepared []int64
	f.Prepare = func(next *snapshot.Snapshot) {
		prepared = append(prepared, next.Version)
		if current := f.Holder.Load(); current != nil && current.Version >= next.Version {
			t.Errorf("version %d was served before it was prepared", next.Version)
		}
	}
	load(t, f)
	publish(t, db, hour(0, global))
	load(t, f)
	load(t, f)
	if fmt.Sprint(prepared) != "[0 1]" {
		t.Errorf("prepared were the versions %v, want 0 and 1, each once", prepared)
	}
}

// However the versions are spread over the loads, the snapshot is the one that a fresh start would build.
func TestLoad_IncrementalEqualsFull(t *testing.T) {
	other := assay.Line{GPU: "B200", Region: "ap-east"}
	var versions []store.Publication
	for n := int64(100); n < 110; n++ {
		versions = append(versions, hour(n, global, east)) // appended
	}
	versions = append(versions,
		hour(50, global, other), // before all others
		hour(105, other),
		store.Publication{Covers: hour(60, other).Covers}, // covered without a point
		hour(104, other), // in between
	)
	long := store.SeriesPoints{Line: east, Grain: assay.Daily}
	for day := range int64(200) {
		long.Points = append(long.Points, assay.Point{At: day * assay.Day, Value: assay.Nanos(day) * assay.One / 7})
	}
	versions = append(versions, store.Publication{Series: []store.SeriesPoints{long}}, hour(111, other))

	for _, every := range []int{1, 3, len(versions)} {
		t.Run(fmt.Sprint(every), func(t *testing.T) {
			db := storetest.Open(t)
			f := newFollower(db)
			load(t, f)
			for i, p := range versions {
				publish(t, db, p)
				if (i+1)%every == 0 || i == len(versions)-1 {
					load(t, f)
				}
			}
			if got, want := describe(f.Holder.Load()), describe(load(t, newFollower(db))); got != want {
				t.Errorf("followed, the snapshot is\n%s\nbuilt anew it is\n%s", got, want)
			}
		})
	}
}

func TestLoad_CatalogChangeBuildsAnew(t *testing.T) {
	db := storetest.Open(t)
	f := newFollower(db)
	publish(t, db, hour(0, global))
	load(t, f)
	// The GPU comes with data before anybody is told of it: following the versions alone would miss them.
	storetest.Exec(t, db, `INSERT INTO gpus (gpu_name, free) VALUES ('X300', 1)`)
	publish(t, db, hour(1, global, assay.Line{GPU: "X300", Region: "us-east"}))
	if s := load(t, f); s.Line("X300", "us-east") != nil || s.Version != 2 {
		t.Errorf("version %d has a GPU that its catalog has not", s.Version)
	}
	storetest.Exec(t, db, `UPDATE counters SET value = value + 1 WHERE name = 'catalog'`)
	s := load(t, f)
	if line := s.Line("X300", "us-east"); line == nil || line.Series(assay.Hourly).Len() != 1 {
		t.Errorf("the new GPU or its point is missing: %v", line)
	}
	if _, ok := s.GPU("X300"); !ok || len(s.GPUsByName) != 7 || s.CatalogVersion != 2 {
		t.Errorf("the snapshot has the catalog %v of version %d", s.Catalog, s.CatalogVersion)
	}
	if got, want := describe(s), describe(load(t, newFollower(db))); got != want {
		t.Errorf("the snapshot is\n%s\nbuilt anew it is\n%s", got, want)
	}
}

// Every publication here adds a point to two lines and covers their hour. A reader sees all of it or nothing, and the
// snapshot it holds does not change under it.
func TestLoad_ReadersNeverSeeHalf(t *testing.T) {
	const versions = 60
	db := storetest.Open(t)
	f := newFollower(storetest.Another(t, db))
	first := load(t, f)
	before := describe(first)
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := range int64(versions) {
			if _, err := db.Publish(t.Context(), hour(n, global, east)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	wg.Go(func() {
		for f.Holder.Load().Version < versions && !t.Failed() {
			if err := f.Load(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	for seen := first; seen.Version < versions && !t.Failed(); {
		seen = f.Holder.Load()
		a, b := seen.Line(global.GPU, global.Region).Series(assay.Hourly), seen.Line(east.GPU, east.Region).Series(assay.Hourly)
		n := int(seen.Version)
		if a.Len() != n || !bytes.Equal(a.Rows(0, n), b.Rows(0, b.Len())) {
			t.Errorf("version %d has %d and %d points", n, a.Len(), b.Len())
		}
		if end := seen.Version * assay.Hour; seen.Covered != end || seen.Latest != end {
			t.Errorf("version %d is covered to %d and has points to %d, want %d", n, seen.Covered, seen.Latest, end)
		}
	}
	wg.Wait()
	if describe(first) != before {
		t.Error("a snapshot has changed while its successors were made")
	}
}

// Another version is published before each of the readings that a load is made of. The store asks for the time in every
// reading, which tells when to do so.
func TestLoad_PublicationsInBetween(t *testing.T) {
	db := storetest.Open(t)
	following := storetest.Another(t, db)
	published := int64(0)
	following.Now = func() time.Time {
		publish(t, db, hour(published, global, east))
		published++
		return time.UnixMilli(0)
	}
	f := newFollower(following)
	f.Prepare = func(s *snapshot.Snapshot) {
		a, b := s.Line(global.GPU, global.Region).Series(assay.Hourly), s.Line(east.GPU, east.Region).Series(assay.Hourly)
		if end := s.Version * assay.Hour; s.Covered != end || s.Latest != end || a.Len() != int(s.Version) || b.Len() != a.Len() {
			t.Errorf("version %d is covered to %d and has %d and %d points to %d", s.Version, s.Covered, a.Len(), b.Len(), s.Latest)
		}
	}
	// A full build reads in several goroutines; it begins without data.
	f.Holder.Store(snapshot.New(assay.DefaultCatalog(), 1))
	for range 3 {
		load(t, f)
	}
	if s := f.Holder.Load(); s.Version == published {
		t.Errorf("version %d is the last: nothing was published in between", s.Version)
	}
}

// follow runs the follower in a bubble; the returned function ends it.
func follow(t *testing.T, f *live.Follower) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- f.Run(ctx) }()
	synctest.Wait()
	return func() {
		t.Helper()
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("Run ended with %v, want nil", err)
		}
	}
}

func TestRun_FollowsAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Open(t)
		f := newFollower(storetest.Another(t, db))
		load(t, f)
		end := follow(t, f)
		for n := range int64(5) {
			publish(t, db, hour(n, global))
			<-time.After(150 * time.Millisecond) // the watcher looks every 100 ms
			synctest.Wait()
			if got := f.Holder.Load().Version; got != n+1 {
				t.Errorf("the follower is at version %d, want %d", got, n+1)
			}
		}
		end()
	})
}

// While the store cannot be read, the snapshot in hand stays, and the follower tries again.
func TestRun_StoreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Open(t)
		f := newFollower(db)
		var log bytes.Buffer
		f.Log = slog.New(slog.NewTextHandler(&log, nil))
		publish(t, db, hour(0, global))
		load(t, f)
		end := follow(t, f)
		publish(t, db, hour(1, global))
		storetest.Exec(t, db, `ALTER TABLE points RENAME TO away`)
		<-time.After(3 * time.Second)
		synctest.Wait()
		if got := f.Holder.Load().Version; got != 1 {
			t.Errorf("without the table the follower is at version %d, want 1", got)
		}
		if n := strings.Count(log.String(), "follow the store"); n < 3 || n > 6 {
			t.Errorf("in three seconds %d failures were logged, want about one a second:\n%s", n, &log)
		}
		storetest.Exec(t, db, `ALTER TABLE away RENAME TO points`)
		<-time.After(1100 * time.Millisecond)
		synctest.Wait()
		if got := f.Holder.Load().Version; got != 2 {
			t.Errorf("with the table back the follower is at version %d, want 2", got)
		}
		end()
	})
}
