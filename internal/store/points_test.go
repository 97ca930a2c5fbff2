package store_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// hours publishes the hours [from, to), counted from 1970, of a GPU's global line: a point for each, with the value of
// its place, and the coverage of them all.
func hours(gpu string, from, to int64) store.Publication {
	line := store.SeriesPoints{Line: assay.Line{GPU: gpu, Region: assay.Global}, Grain: assay.Hourly}
	for h := from; h < to; h++ {
		line.Points = append(line.Points, assay.Point{At: (h + 1) * assay.Hour, Value: assay.Nanos(h)})
	}
	return store.Publication{Methodology: "1.0.0", Series: []store.SeriesPoints{line}, Covers: covers(gpu, from, to)}
}

func covers(gpu string, from, to int64) store.Coverage {
	return store.Coverage{{GPU: gpu, Grain: assay.Hourly}: {{From: from * assay.Hour, To: to * assay.Hour}}}
}

func mustPublish(t *testing.T, db *store.DB, p store.Publication) int64 {
	t.Helper()
	version, err := db.Publish(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

func series(t *testing.T, db *store.DB, line assay.Line, grain assay.Grain, first, last, upTo int64) store.Series {
	t.Helper()
	s, err := db.Series(t.Context(), line, grain, first, last, upTo)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// published is everything that publishing can change.
type published struct {
	counters store.Counters
	coverage store.Coverage
	changes  []store.Change
	h100     store.Series
}

func readPublished(t *testing.T, db *store.DB) published {
	t.Helper()
	coverage, err := db.Coverage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	changes, err := db.Changes(t.Context(), 0, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	h100 := assay.Line{GPU: "H100 SXM", Region: assay.Global}
	return published{mustCounters(t, db), coverage, changes, series(t, db, h100, assay.Hourly, 0, math.MaxInt64, math.MaxInt64)}
}

func TestPublish_VersionsCountUp(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		for want := int64(1); want <= 3; want++ {
			if got := mustPublish(t, db, hours("B200", want, want+1)); got != want {
				t.Errorf("publication %d is version %d", want, got)
			}
			if got := mustCounters(t, db).Publication; got != want {
				t.Errorf("after publication %d the counter is %d", want, got)
			}
		}
	})
}

func TestPublish_CoverageJoins(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := func(from, to int64, want ...store.Span) {
			t.Helper()
			mustPublish(t, db, store.Publication{Covers: covers("H200", from, to)})
			coverage, err := db.Coverage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				want[i] = store.Span{From: want[i].From * assay.Hour, To: want[i].To * assay.Hour}
			}
			key := store.CoverageKey{GPU: "H200", Grain: assay.Hourly}
			if got := coverage[key]; !slices.Equal(got, want) {
				t.Errorf("with [%d, %d) the coverage is %v, want %v", from, to, got, want)
			}
			if got, end := coverage.End(key), want[len(want)-1].To; got != end {
				t.Errorf("the coverage ends at %d, want %d", got, end)
			}
		}
		f(10, 20, store.Span{From: 10, To: 20})
		f(20, 21, store.Span{From: 10, To: 21})
		f(30, 40, store.Span{From: 10, To: 21}, store.Span{From: 30, To: 40})
		f(5, 9, store.Span{From: 5, To: 9}, store.Span{From: 10, To: 21}, store.Span{From: 30, To: 40})
		f(9, 10, store.Span{From: 5, To: 21}, store.Span{From: 30, To: 40})
		f(21, 30, store.Span{From: 5, To: 40})
	})
}

func TestCoverage_ByGPUAndGrain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		want := store.Coverage{
			{GPU: "H200", Grain: assay.Hourly}: {{From: 0, To: 10}},
			{GPU: "H200", Grain: assay.Daily}:  {{From: 5, To: 20}},
			{GPU: "B200", Grain: assay.Hourly}: {{From: -10, To: -5}, {From: 0, To: 10}},
		}
		mustPublish(t, db, store.Publication{Covers: want})
		got, err := db.Coverage(t.Context())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("the coverage is %v (%v), want %v", got, err, want)
		}
		if end := got.End(store.CoverageKey{GPU: "B200", Grain: assay.Daily}); end != 0 {
			t.Errorf("what has no coverage ends at %d, want 0", end)
		}
	})
}

func TestPublish_RefusedLeavesNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPublish(t, db, hours("H100 SXM", 10, 20))
		want := readPublished(t, db)
		f := func(p store.Publication, message string) {
			t.Helper()
			_, err := db.Publish(t.Context(), p)
			if err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("the error is %v, want %s", err, message)
			}
			if got := readPublished(t, db); !reflect.DeepEqual(got, want) {
				t.Errorf("a refused publication has left\n%+v, want\n%+v", got, want)
			}
		}
		overtaken := func(from, to int64) {
			t.Helper()
			f(hours("H100 SXM", from, to), store.ErrOvertaken.Error())
		}
		overtaken(10, 20)
		overtaken(12, 13)
		overtaken(5, 25)
		overtaken(5, 11)
		overtaken(19, 21)
		// One line is free and one is not: the free one must wait too.
		both := hours("B200", 10, 20)
		both.Covers[store.CoverageKey{GPU: "H100 SXM", Grain: assay.Hourly}] = []store.Span{{From: 0, To: 11 * assay.Hour}}
		f(both, store.ErrOvertaken.Error())
		// Spans that overlap each other are no better than spans that overlap what is there.
		f(store.Publication{Covers: store.Coverage{{GPU: "B200"}: {{From: 0, To: 10}, {From: 9, To: 12}}}}, store.ErrOvertaken.Error())

		// A point is published once, even when the coverage is left out.
		again := hours("H100 SXM", 15, 16)
		again.Covers = nil
		f(again, "constraint failed")

		f(hours("h100 sxm", 30, 31), "cover h100 sxm: not in the catalog")
		unknown := hours("h100 sxm", 30, 31)
		unknown.Covers = nil
		f(unknown, "publish h100 sxm: not in the catalog")
		elsewhere := hours("H100 SXM", 30, 31)
		elsewhere.Series[0].Region = "moon"
		f(elsewhere, "publish H100 SXM in moon: the region is not in the catalog")
	})
}

func TestPublish_OneOfTwoWins(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		handles := []*store.DB{db, storetest.Another(t, db)}
		line := assay.Line{GPU: "H200", Region: assay.Global}
		for round := range int64(20) {
			var errs [2]error
			var wg sync.WaitGroup
			for i, handle := range handles {
				wg.Go(func() {
					p := hours("H200", round, round+1)
					p.Series[0].Points[0].Value = assay.Nanos(i)
					_, errs[i] = handle.Publish(t.Context(), p)
				})
			}
			wg.Wait()
			winner := slices.Index(errs[:], nil)
			if winner < 0 || !errors.Is(errs[1-winner], store.ErrOvertaken) {
				t.Fatalf("hour %d: two publishers got %v, want one success and one %v", round, errs, store.ErrOvertaken)
			}
			at := (round + 1) * assay.Hour
			want := []assay.Point{{At: at, Value: assay.Nanos(winner)}}
			if got := series(t, db, line, assay.Hourly, at, at, math.MaxInt64).Points; !slices.Equal(got, want) {
				t.Fatalf("hour %d has the points %v, want the winner's %v", round, got, want)
			}
		}
		if got := mustCounters(t, db).Publication; got != 20 {
			t.Errorf("20 hours made %d versions", got)
		}
	})
}

func TestSeries_AsOfAVersion(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		var clock int64
		db.Now = func() time.Time { return time.UnixMilli(clock) }
		for version := int64(1); version <= 3; version++ {
			clock = 1000 * version
			p := hours("H200", 100-10*version, 110-10*version) // backwards, as a backfill does after serving began
			p.Series[0].Region = "eu-west"
			mustPublish(t, db, p)
		}
		line := assay.Line{GPU: "H200", Region: "eu-west"}
		f := func(first, last, upTo int64, wantFirst, wantLast, wantVersion int64) {
			t.Helper()
			got := series(t, db, line, assay.Hourly, first, last, upTo)
			want := store.Series{Version: wantVersion, PublishedAt: 1000 * wantVersion}
			for at := wantFirst; at <= wantLast; at += assay.Hour {
				want.Points = append(want.Points, assay.Point{At: at, Value: assay.Nanos(at/assay.Hour - 1)})
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("[%d, %d] as of %d: got\n%v, want\n%v", first, last, upTo, got, want)
			}
		}
		const h = assay.Hour
		f(0, 1000*h, 0, 1, 0, 0)
		f(0, 1000*h, 1, 91*h, 100*h, 1)
		f(0, 1000*h, 2, 81*h, 100*h, 2)
		f(0, 1000*h, 99, 71*h, 100*h, 3)
		f(95*h, 97*h, 99, 95*h, 97*h, 1) // both ends belong; the version is that of these points
		f(95*h+1, 96*h-1, 99, 1, 0, 0)
		f(math.MinInt64, math.MaxInt64, math.MaxInt64, 71*h, 100*h, 3)

		for _, other := range []assay.Line{{GPU: "H200", Region: assay.Global}, {GPU: "B200", Region: "eu-west"}, {GPU: "none", Region: "eu-west"}} {
			if got := series(t, db, other, assay.Hourly, 0, math.MaxInt64, 3); len(got.Points) != 0 {
				t.Errorf("%v has the points of %v", other, line)
			}
		}
		if got := series(t, db, line, assay.Daily, 0, math.MaxInt64, 3); len(got.Points) != 0 {
			t.Error("the daily series has hourly points")
		}
	})
}

func TestPublish_ManyPointsAndExtremes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		line := store.SeriesPoints{
			Line: assay.Line{GPU: "B200", Region: "us-east"}, Grain: assay.Daily,
			Points: []assay.Point{{At: math.MinInt64, Value: math.MinInt64}},
		}
		for i := range int64(1000) {
			line.Points = append(line.Points, assay.Point{At: i, Value: assay.Nanos(-i)})
		}
		line.Points = append(line.Points, assay.Point{At: math.MaxInt64, Value: math.MaxInt64})
		mustPublish(t, db, store.Publication{Series: []store.SeriesPoints{line}})
		got := series(t, db, line.Line, assay.Daily, math.MinInt64, math.MaxInt64, 1)
		if !slices.Equal(got.Points, line.Points) {
			t.Errorf("%d points came back, not the %d that were published", len(got.Points), len(line.Points))
		}
	})
}

func TestChanges_ListsWhatWasTouched(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		var clock int64
		db.Now = func() time.Time { return time.UnixMilli(clock) }
		publish := func(at int64, series ...store.SeriesPoints) {
			t.Helper()
			clock = at
			mustPublish(t, db, store.Publication{Series: series})
		}
		h100, eu := assay.Line{GPU: "H100 SXM", Region: assay.Global}, assay.Line{GPU: "H100 SXM", Region: "eu-west"}
		publish(10, store.SeriesPoints{Line: h100, Points: []assay.Point{{At: 5}, {At: 7}, {At: 9}}},
			store.SeriesPoints{Line: eu, Grain: assay.Hourly, Points: []assay.Point{{At: 6}}})
		publish(20, store.SeriesPoints{Line: eu, Grain: assay.Hourly}) // nothing to publish is still a version
		publish(30, store.SeriesPoints{Line: h100, Points: []assay.Point{{At: 1}}})

		first := []store.Change{
			{Version: 1, PublishedAt: 10, Line: h100, Grain: assay.Daily, First: 5, Last: 9},
			{Version: 1, PublishedAt: 10, Line: eu, Grain: assay.Hourly, First: 6, Last: 6},
		}
		third := store.Change{Version: 3, PublishedAt: 30, Line: h100, Grain: assay.Daily, First: 1, Last: 1}
		f := func(after, upTo int64, want ...store.Change) {
			t.Helper()
			got, err := db.Changes(t.Context(), after, upTo)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("(%d, %d]: got %+v (%v), want %+v", after, upTo, got, err, want)
			}
		}
		f(0, 0)
		f(0, 1, first...)
		f(1, 2)
		f(0, 3, first[0], first[1], third)
		f(2, 3, third)
		f(3, 99)
	})
}

// GPU names are compared byte by byte, so names that differ in the case of a letter are two, and the catalog keeps its
// own order whatever the names are.
func TestCatalog_NamesAreBytes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		want := mustCatalog(t, db).GPUs
		for _, name := range []string{"b200", "Ångström", "angstrom", "A"} {
			storetest.Exec(t, db, `INSERT INTO gpus (gpu_name, free) VALUES ($1, 1)`, name)
			want = append(want, assay.GPU{Name: name, Free: true})
		}
		if got := mustCatalog(t, db).GPUs; !slices.Equal(got, want) {
			t.Errorf("the catalog is %v, want %v", got, want)
		}
		p := hours("B200", 0, 1)
		p.Series = append(p.Series, hours("b200", 7, 8).Series...)
		mustPublish(t, db, p)
		f := func(gpu string, want ...assay.Point) {
			t.Helper()
			got := series(t, db, assay.Line{GPU: gpu, Region: assay.Global}, assay.Hourly, 0, math.MaxInt64, 1).Points
			if !slices.Equal(got, want) {
				t.Errorf("%s has the points %v, want %v", gpu, got, want)
			}
		}
		f("B200", assay.Point{At: assay.Hour, Value: 0})
		f("b200", assay.Point{At: 8 * assay.Hour, Value: 7})
		f("Ångström")
	})
}
