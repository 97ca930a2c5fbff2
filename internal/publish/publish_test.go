package publish

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/tools/testenv"
)

// wantWholeChains follows every chain from its first record to its head.
func wantWholeChains(t *testing.T, db *store.DB) {
	t.Helper()
	chains, err := db.Chains(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	publications, err := db.Publications(t.Context(), 0, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	for _, chain := range chains {
		records, err := db.SeriesRecords(t.Context(), chain.SeriesKey, math.MinInt64, math.MaxInt64)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(records, func(a, b store.Record) int { return cmp.Compare(a.Sequence, b.Sequence) })
		var head assay.Hash
		for i := range records {
			r := &records[i]
			if r.Sequence != int64(i+1) || r.Previous != head || r.Hash != proof.Record(&r.Determination) {
				t.Fatalf("%s: record %d does not follow the record before it", SlotOf(&r.Determination), r.Sequence)
			}
			head = r.Hash
			wantPublishedIn(t, r, publications[r.Version-1])
		}
		if int64(len(records)) != chain.Records || head != chain.Head {
			t.Errorf("%v: the chain of %d records ends with record %d, or with another head",
				chain.SeriesKey, chain.Records, len(records))
		}
	}
}

// wantPublishedIn compares a record with the version that published it.
func wantPublishedIn(t *testing.T, r *store.Record, p assay.Publication) {
	t.Helper()
	if r.Version != p.Version || r.Receipt != p.Receipt || r.PublishedAt != p.PublishedAt {
		t.Errorf("%s: the record has receipt %d and time %d; its version %d has %d and %d", SlotOf(&r.Determination),
			r.Receipt, r.PublishedAt, p.Version, p.Receipt, p.PublishedAt)
	}
}

// The other tests compare with this result.
func TestBackfill_AtOnce(t *testing.T) {
	t.Parallel()
	w := publishedAtOnce(t)
	f := func(gpu string, grain assay.Grain, first, last int64, points int) {
		t.Helper()
		s := w.series(gpu, grain)
		if len(s) != points || s[0].At != first || s[points-1].At != last {
			t.Errorf("%s %s: %d points %v, want %d from %d to %d", gpu, grain, len(s), s, points, first, last)
		}
	}
	const hoursInAll = 8*24 - 1 // one of the days has 23
	f("H100 SXM", assay.Hourly, start+assay.Hour, end, hoursInAll)
	f("H100 SXM", assay.Daily, instant(5, 21, 0), end, 8)
	f("H200", assay.Hourly, start+assay.Hour, end-assay.Hour, 64) // every third hour has one
	f("H200", assay.Daily, instant(5, 21, 0), end, 8)
	for key, spans := range w.coverage {
		if want := []store.Span{{From: start, To: end}}; !slices.Equal(spans, want) {
			t.Errorf("%v is covered in %v, want %v", key, spans, want)
		}
	}
	if n := len(w.coverage); n != 12 {
		t.Errorf("%d GPUs and grains are covered, want all 6 GPUs in 2 grains, with transactions or without", n)
	}
}

// A backfill in pieces, in any order, publishes the same as one call.
func TestBackfill_Pieces(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	want := publishedAtOnce(t)
	all := store.Span{From: start, To: end}
	clockChange, sixth := instant(8, 20, 0), instant(6, 21, 0)
	for name, c := range map[string]struct {
		versionSize int
		pieces      []store.Span
	}{
		"twice":                {pieces: []store.Span{all, all}},
		"one version per day":  {versionSize: 1, pieces: []store.Span{all}},
		"versions of 50":       {versionSize: 50, pieces: []store.Span{all}},
		"two pieces":           {pieces: []store.Span{{From: start, To: clockChange}, {From: clockChange, To: end}}},
		"the later one first":  {pieces: []store.Span{{From: clockChange, To: end}, {From: start, To: clockChange}}},
		"the middle one first": {pieces: []store.Span{{From: sixth, To: clockChange}, all}},
		// A bound inside a slot leaves the slot to the next piece that contains it.
		"a bound inside a slot": {pieces: []store.Span{{From: start, To: instant(7, 12, 34)}, {From: start, To: end + 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := loaded(t)
			p, _ := newPublisher(db, end)
			p.versionSize = c.versionSize
			for _, piece := range c.pieces {
				ok(t)(p.Backfill(t.Context(), piece.From, piece.To, nil))
			}
			wantWorld(t, db, want)
		})
	}
}

func TestBackfill_NothingBeforeItHasEnded(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testBackfillNothingBeforeItHasEnded)
}

func testBackfillNothingBeforeItHasEnded(t *testing.T, db *store.DB) {
	mustAppend(t, db, rentals(start, end)...)
	p, _ := newPublisher(db, instant(6, 10, 59))
	ok(t)(p.Backfill(t.Context(), start, end, nil))
	w := readWorld(t, db)
	f := func(grain assay.Grain, want int64) {
		t.Helper()
		if got := w.coverage.End(store.CoverageKey{GPU: "H200", Grain: grain}); got != want {
			t.Errorf("at 10:59 %s slots are covered to %s, want %s",
				grain, assay.FormatInstant(got), assay.FormatInstant(want))
		}
	}
	f(assay.Hourly, instant(6, 10, 0))
	f(assay.Daily, instant(5, 21, 0))
}

// Publishing hour by hour, with short and long downtimes, gives the same values as one call.
func TestCatchUp_AfterDowntime(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testCatchUpAfterDowntime)
}

func testCatchUpAfterDowntime(t *testing.T, db *store.DB) {
	p, c := newPublisher(db, start)
	mustAppend(t, db, rentals(start, end)...)
	for _, at := range []int64{
		start, start + assay.Hour, start + 2*assay.Hour, start + 2*assay.Hour + 1, start + assay.Day, instant(9, 3, 30), end,
	} {
		c.ms.Store(at)
		catchUpFrom(t, p, start)
	}
	wantWorld(t, db, publishedAtOnce(t))
	if n := ok(t)(p.CatchUp(t.Context())); n != 0 {
		t.Errorf("catching up again published %d points", n)
	}
}

// CatchUp does not start a history; only Run and Backfill do.
func TestCatchUp_WithoutCoverage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testCatchUpWithoutCoverage)
}

func testCatchUpWithoutCoverage(t *testing.T, db *store.DB) {
	mustAppend(t, db, rentals(start, end)...)
	p, _ := newPublisher(db, end)
	if n := ok(t)(p.CatchUp(t.Context())); n != 0 {
		t.Errorf("published %d points", n)
	}
	if w := readWorld(t, db); len(w.coverage) != 0 {
		t.Errorf("covered %v", w.coverage)
	}
}

func TestCatchUp_ExactlyAtTheEnd(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	noon := instant(5, 12, 0)
	mustAppend(t, db, rentals(noon-assay.Hour, noon+assay.Hour)...) // one of them at noon exactly
	p, c := newPublisher(db, noon-1)
	started := noon - assay.Hour
	if n := catchUpFrom(t, p, started); n != 0 {
		t.Errorf("a millisecond before noon %d points were published", n)
	}
	c.ms.Store(noon)
	catchUpFrom(t, p, started)
	before := rentals(noon-assay.Hour, noon)
	want := []assay.Revision{{Point: assay.Point{At: noon, Value: average(before, "H100 SXM")}}}
	if got := readWorld(t, db).series("H100 SXM", assay.Hourly); !slices.Equal(got, want) {
		t.Errorf("at noon the points are %v, want %v", got, want)
	}
}

func TestCatchUp_SlotWithoutTransactions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testCatchUpSlotWithoutTransactions)
}

func testCatchUpSlotWithoutTransactions(t *testing.T, db *store.DB) {
	p, c := newPublisher(db, start)
	c.ms.Store(start + assay.Hour)
	if n := catchUpFrom(t, p, start); n != 0 {
		t.Errorf("published %d points of nothing", n)
	}
	w := readWorld(t, db)
	want := []store.Span{{From: start, To: start + assay.Hour}}
	if got := w.coverage[store.CoverageKey{GPU: "B200", Grain: assay.Hourly}]; !slices.Equal(got, want) {
		t.Errorf("an empty hour is covered as %v, want %v", got, want)
	}
	// The slot is determined: a transaction that arrives now does not add a point.
	mustAppend(t, db, rentals(start, start+assay.Hour)...)
	catchUpFrom(t, p, start)
	ok(t)(p.Backfill(t.Context(), start, start+assay.Hour, nil))
	wantWorld(t, db, w)
}

func TestCatchUp_LateTransactionChangesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testCatchUpLateTransactionChangesNothing)
}

func testCatchUpLateTransactionChangesNothing(t *testing.T, db *store.DB) {
	mustAppend(t, db, rentals(start, end)...)
	p, _ := newPublisher(db, end)
	ok(t)(p.Backfill(t.Context(), start, end, nil))
	want := readWorld(t, db)

	late := rentals(start, start+assay.Hour)[0]
	late.ID, late.Price = "late", 100*assay.One
	mustAppend(t, db, late)
	n := ok(t)(p.CatchUp(t.Context())) + ok(t)(p.Backfill(t.Context(), start-assay.Day, end, nil))
	if n != 0 {
		t.Errorf("a late transaction made %d points", n)
	}
	for key, spans := range want.coverage {
		spans[0].From -= assay.Day // from the second backfill
		want.coverage[key] = spans
	}
	wantWorld(t, db, want)
	wantLate(t, db, "late hourly daily")
}

// wantLate compares the late list with lines such as "id hourly daily", which name the slots to restate.
func wantLate(t *testing.T, db *store.DB, want ...string) {
	t.Helper()
	var got []string
	err := db.EachLate(t.Context(), func(l *store.Late) error {
		line := l.ID
		if l.Hourly {
			line += " hourly"
		}
		if l.Daily {
			line += " daily"
		}
		got = append(got, line)
		return nil
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the late list is %q (%v), want %q", got, err, want)
	}
}

// A server that starts empty publishes from its first hour on. A later backfill of the history publishes the time
// before that, and nothing else.
func TestBackfill_AfterServingStarted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testBackfillAfterServingStarted)
}

func testBackfillAfterServingStarted(t *testing.T, db *store.DB) {
	began := instant(10, 9, 30)
	p, c := newPublisher(db, began)
	mustAppend(t, db, rentals(instant(10, 9, 0), end)...)
	for at := began; at < end; at += assay.Hour {
		c.ms.Store(at)
		catchUpFrom(t, p, began)
	}
	c.ms.Store(end)
	catchUpFrom(t, p, began)
	served := readWorld(t, db)
	if first := served.series("H100 SXM", assay.Hourly)[0].At; first != instant(10, 10, 0) {
		t.Errorf("the first slot is %s, want the one that was running", assay.FormatInstant(first))
	}

	mustAppend(t, db, rentals(start, end)...)
	ok(t)(p.Backfill(t.Context(), start, end, nil))
	filled, clean := readWorld(t, db), publishedAtOnce(t)
	if !maps.EqualFunc(filled.coverage, clean.coverage, slices.Equal) {
		t.Errorf("the coverage is %v, want %v", filled.coverage, clean.coverage)
	}
	for line, points := range served.revisions {
		// The values that were served stay, although the first day lacks the hours that were unknown then.
		got, all := filled.revisions[line], clean.revisions[line]
		head, tail := got[:len(got)-len(points)], got[len(got)-len(points):]
		if !slices.Equal(tail, points) {
			t.Errorf("%s: served were\n%v, now they are\n%v", line, points, tail)
		}
		if len(got) != len(all) || !slices.Equal(head, all[:len(head)]) {
			t.Errorf("%s: the history is\n%v, want\n%v", line, head, all)
		}
	}
}

// A backfill that is interrupted between versions, or inside one, and repeated publishes the same as a clean one.
func TestBackfill_InterruptedAndRepeated(t *testing.T) {
	t.Parallel()
	want := publishedAtOnce(t)
	db := loaded(t)
	p, _ := newPublisher(db, end)
	p.versionSize = 1
	interrupted, partly := 0, 0
	for n := int64(10); ; n += 7 {
		_, err := p.Backfill(storetest.BreakAt(t, n), start, end, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		interrupted++
		got := readWorld(t, db).coverage.End(store.CoverageKey{GPU: "B200", Grain: assay.Daily})
		if got > start && got < end {
			partly++
		}
	}
	if interrupted < 5 || partly < 2 {
		t.Errorf("interrupted %d times, %d of them between versions: too few", interrupted, partly)
	}
	wantWorld(t, db, want)
}

// The publisher's lock of SQLite is a file, which may be deleted while it is held. Coverage and chains still make sure
// that a slot is published once: here another publisher publishes an hour just before the version that contains it is
// written. The refused version must be computed again, and nothing after it may be published first: catching up never
// goes back.
func TestBackfill_Overtaken(t *testing.T) {
	t.Parallel()
	want := publishedAtOnce(t)
	for name, c := range map[string]struct {
		versionSize int
		from, to    int64
	}{
		"in the middle of one version":   {from: start + 5*assay.Hour, to: start + 6*assay.Hour},
		"in the first of daily versions": {versionSize: 1, from: start, to: start + assay.Hour},
		"in the last of some versions":   {versionSize: 50, from: end - assay.Hour, to: end},
		"completely":                     {versionSize: 50, from: start, to: end},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := loaded(t)
			p, _ := newPublisher(db, end)
			p.versionSize = c.versionSize
			other, _ := newPublisher(storetest.Another(t, db), end)
			records := 0
			once := func(int64) {
				if records > 0 {
					return
				}
				if err := os.Remove(filepath.Join(storetest.Folder(t, db), "publisher.lock")); err != nil {
					t.Fatal(err)
				}
				records = ok(t)(other.Backfill(t.Context(), c.from, c.to, nil))
			}
			records += ok(t)(p.Backfill(t.Context(), start, end, once))
			wantWorld(t, db, want)
			if all := want.count(); records != all {
				t.Errorf("the two publishers report %d records, want %d", records, all)
			}
		})
	}
}

// Two publishers share the work: each version is made by the one that holds the lock.
func TestBackfill_TwoAtOnce(t *testing.T) {
	t.Parallel()
	want := publishedAtOnce(t)
	db := loaded(t)
	var wg sync.WaitGroup
	var records [2]int
	var errs [2]error
	for i, handle := range []*store.DB{db, storetest.Another(t, db)} {
		p, _ := newPublisher(handle, end)
		p.versionSize = 1
		wg.Go(func() { records[i], errs[i] = p.Backfill(t.Context(), start, end, nil) })
	}
	wg.Wait()
	if all := want.count(); errors.Join(errs[:]...) != nil || records[0]+records[1] != all {
		t.Errorf("two publishers report %v records (%v), want %d in total", records, errs, all)
	}
	wantWorld(t, db, want)
}

// Rows that arrive while a version is computed are late, whether or not their day has been read already.
func TestBackfill_ArrivalsInBetween(t *testing.T) {
	t.Parallel()
	want := publishedAtOnce(t)
	db := loaded(t)
	p, _ := newPublisher(db, end)
	read, unread := lateRow("read", start), lateRow("unread", end-assay.Hour)
	arrived := false
	ok(t)(p.Backfill(t.Context(), start, end, func(int64) {
		if !arrived {
			arrived = true
			mustAppend(t, db, unread, read)
		}
	}))
	wantWorld(t, db, want)
	wantLate(t, db, "read hourly daily", "unread hourly daily")
}

// A clock that is set back does not reverse the order of publications.
func TestCatchUp_ClockSetBack(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testCatchUpClockSetBack)
}

func testCatchUpClockSetBack(t *testing.T, db *store.DB) {
	mustAppend(t, db, rentals(start, end)...)
	p, c := newPublisher(db, end)
	ok(t)(p.Backfill(t.Context(), start, instant(6, 21, 0), nil))
	c.ms.Store(instant(8, 20, 0))
	ok(t)(p.CatchUp(t.Context()))
	list, err := db.Publications(t.Context(), 0, math.MaxInt64)
	if err != nil || len(list) != 2 || list[1].PublishedAt != end {
		t.Errorf("the publications are %+v (%v), want the second at %d too", list, err, end)
	}
	wantWholeChains(t, db)
}
