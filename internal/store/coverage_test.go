package store_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// span returns a publication that covers hours without a record.
func span(from, to int64, reason string) store.Publication {
	return store.Publication{Reason: reason, Covers: covers("H200", from, to)}
}

func TestCovers_At(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPublish(t, db, span(10, 20, "")) // version 1
		mustPublish(t, db, span(30, 40, "")) // 2
		mustPublish(t, db, span(0, 5, ""))   // 3: a backfill, later in versions and first in time
		mustPublish(t, db, span(12, 18, "restated"))
		mustPublish(t, db, span(2, 4, "restated"))
		mustPublish(t, db, span(15, 20, "restated"))
		mustPublish(t, db, span(5, 10, "")) // 7: joins 3 and 1 in the coverage, but is a separate cover
		all := mustLedger(t, db).Covers
		key := store.CoverageKey{GPU: "H200", Grain: assay.Hourly}
		f := func(at int64, want ...int64) {
			t.Helper()
			var got []int64
			for _, c := range all.At(key, at) {
				if c.Restatement != slices.Contains([]int64{4, 5, 6}, c.Version) {
					t.Errorf("version %d is a restatement: %v", c.Version, c.Restatement)
				}
				got = append(got, c.Version)
			}
			if !slices.Equal(got, want) {
				t.Errorf("at %s the covers are %v, want %v", assay.FormatInstant(at), got, want)
			}
		}
		const h = assay.Hour
		f(-1)
		f(0, 3)
		f(2*h, 3, 5)
		f(4*h-1, 3, 5)
		f(4*h, 3)
		f(5*h, 7)
		f(10*h-1, 7)
		f(10*h, 1)
		f(12*h, 1, 4)
		f(15*h, 1, 4, 6)
		f(18*h, 1, 6)
		f(20*h-1, 1, 6)
		f(20 * h)
		f(29 * h)
		f(30*h, 2)
		f(40 * h)
		if got := all.At(store.CoverageKey{GPU: "H200", Grain: assay.Daily}, 15*h); len(got) != 0 {
			t.Errorf("the daily covers are %v, want none", got)
		}
	})
}

func TestCovers_Content(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"))
		p := span(1, 2, "")
		p.PublishedAt = 77
		mustPublish(t, db, p)
		all := mustLedger(t, db).Covers
		key := store.CoverageKey{GPU: "H200", Grain: assay.Hourly}
		hour := store.Span{From: assay.Hour, To: 2 * assay.Hour}
		want := []store.Cover{{Span: hour, Version: 1, PublishedAt: 77, Receipt: 1}}
		if len(all) != 1 || !slices.Equal(all[key], want) {
			t.Errorf("the covers are %+v, want %+v", all, want)
		}
	})
}

// Only time that has been determined can be restated.
func TestPublish_RestatementInsideTheCoverage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPublish(t, db, span(10, 20, ""))
		mustPublish(t, db, span(30, 40, ""))
		f := func(from, to int64) {
			t.Helper()
			want := readPublished(t, db)
			_, err := db.Publish(t.Context(), ready(t, db, span(from, to, "restated")))
			if err == nil || !strings.Contains(err.Error(), "restate H200: the time has not been determined") {
				t.Errorf("restating [%d, %d) returns the error %v", from, to, err)
			}
			wantPublished(t, db, want)
		}
		f(0, 5)
		f(5, 10)
		f(5, 11)
		f(9, 21)
		f(19, 21)
		f(15, 35)
		f(20, 30)
		f(40, 41)
		before, err := db.Coverage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, inside := range []store.Span{
			{From: 10, To: 20}, {From: 10, To: 11}, {From: 19, To: 20}, {From: 33, To: 34}, {From: 33, To: 34},
		} {
			mustPublish(t, db, span(inside.From, inside.To, "restated"))
		}
		after, err := db.Coverage(t.Context())
		key := store.CoverageKey{GPU: "H200", Grain: assay.Hourly}
		if err != nil || !slices.Equal(after[key], before[key]) {
			t.Errorf("restating changed the coverage from %v to %v (%v)", before, after, err)
		}
	})
}

// Head reads the counters and the coverage as of one moment.
func TestHead(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPublish(t, db, span(10, 20, ""))
		counters, coverage, err := db.Head(t.Context())
		key := store.CoverageKey{GPU: "H200", Grain: assay.Hourly}
		if err != nil || counters != mustCounters(t, db) || counters.Publication != 1 || coverage.End(key) != 20*assay.Hour {
			t.Errorf("the head is %+v and %v (%v)", counters, coverage, err)
		}
	})
}
