package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// The tests live in March 2026, when New York changes its clocks on the 8th: days end at 21:00 UTC before, at 20:00
// after.
var (
	start = instant(4, 21, 0)
	end   = instant(12, 20, 0)
)

func instant(day, hour, minute int) int64 {
	return time.Date(2026, 3, day, hour, minute, 0, 0, time.UTC).UnixMilli()
}

// clock is set by hand.
type clock struct{ ms atomic.Int64 }

func (c *clock) now() time.Time { return time.UnixMilli(c.ms.Load()) }

// newPublisher publishes to the store by a clock that stands at the given instant.
func newPublisher(db *store.DB, at int64) (*Publisher, *clock) {
	c := &clock{}
	c.ms.Store(at)
	return &Publisher{Store: db, Now: c.now, Log: slog.New(slog.DiscardHandler)}, c
}

// rentals are one H100 a quarter in us-east, and one H200 every third hour somewhere.
func rentals(from, to int64) (all []assay.Transaction) {
	for at := from; at < to; at += assay.Hour / 4 {
		quarter := at / (assay.Hour / 4)
		t := assay.Transaction{
			Source: "test", ID: fmt.Sprint(quarter), ExecutedAt: at, GPU: "H100 SXM", Region: "us-east",
			Price: 2*assay.One + assay.Nanos(quarter%97)*10_000_000, GPUs: 1 + quarter%8, HourMicros: 1_000_000, Provider: "Acme", Verified: true,
		}
		all = append(all, t)
		if quarter%12 == 0 {
			t.ID, t.GPU, t.Region = "h200-"+t.ID, "H200", ""
			all = append(all, t)
		}
	}
	return all
}

func mustAppend(t *testing.T, db *store.DB, batch ...assay.Transaction) {
	t.Helper()
	if _, err := db.AppendTransactions(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

// ok takes what a publishing method returns and gives the number of records.
func ok(t *testing.T) func(records int, err error) int {
	return func(records int, err error) int {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return records
	}
}

// catchUpFrom catches up as Run does if it started at the given instant.
func catchUpFrom(t *testing.T, p *Publisher, started int64) (records int) {
	t.Helper()
	records, err := p.publishDue(t.Context(), nil, sinceCoverage(func(string) int64 { return started }))
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// average is the index over the verified transactions of a GPU, plainly.
func average(all []assay.Transaction, gpu string) assay.Nanos {
	var c index.Calculator
	var rows []int32
	for i := range all {
		if all[i].GPU == gpu {
			rows = append(rows, int32(i))
		}
	}
	c.Load(all)
	d, _ := c.Compute(rows, index.Plain())
	return d.Value
}

// world is everything that is published: all revisions of every slot, whichever version made them.
type world struct {
	revisions map[string][]assay.Revision
	coverage  store.Coverage
}

func readWorld(t *testing.T, db *store.DB) world {
	t.Helper()
	coverage, err := db.Coverage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := world{map[string][]assay.Revision{}, coverage}
	for _, grain := range assay.Grains {
		for _, line := range []assay.Line{
			{GPU: "H100 SXM", Region: assay.Global},
			{GPU: "H100 SXM", Region: "us-east"},
			{GPU: "H200", Region: assay.Global},
			{GPU: "H200", Region: "us-east"},
			{GPU: "B200", Region: assay.Global},
		} {
			list, err := db.Revisions(t.Context(), line, grain, math.MinInt64, math.MaxInt64, 0, math.MaxInt64)
			if err != nil {
				t.Fatal(err)
			}
			for i := range list {
				list[i].Version = 0
			}
			w.revisions[fmt.Sprint(line, grain)] = list
		}
	}
	return w
}

func (w world) series(gpu string, grain assay.Grain) []assay.Revision {
	return w.revisions[fmt.Sprint(assay.Line{GPU: gpu, Region: assay.Global}, grain)]
}

// newest is the world with only the newest revision of each slot, as a first one, and without those that are gone.
func (w world) newest() world {
	n := world{map[string][]assay.Revision{}, w.coverage}
	for line, list := range w.revisions {
		n.revisions[line] = nil
		for i, r := range list {
			if i+1 < len(list) && list[i+1].At == r.At || r.Gone {
				continue
			}
			n.revisions[line] = append(n.revisions[line], assay.Revision{Point: r.Point})
		}
	}
	return n
}

func wantWorld(t *testing.T, db *store.DB, want world) {
	t.Helper()
	wantSame(t, readWorld(t, db), want)
	wantWholeChains(t, db)
}

func wantSame(t *testing.T, got, want world) {
	t.Helper()
	if !reflect.DeepEqual(got.coverage, want.coverage) {
		t.Errorf("the coverage is\n%v, want\n%v", got.coverage, want.coverage)
	}
	for line, list := range want.revisions {
		if !slices.Equal(got.revisions[line], list) {
			t.Errorf("%s has %d revisions, want %d:\n%v, want\n%v", line, len(got.revisions[line]), len(list), got.revisions[line], list)
		}
	}
}

// wantWholeChains walks every chain from its first record to its head.
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
				t.Fatalf("%v: record %d, of %s, is not behind the one before", chain.SeriesKey, r.Sequence, assay.FormatInstant(r.At))
			}
			head = r.Hash
			wantFits(t, r, publications[r.Version-1])
		}
		if int64(len(records)) != chain.Records || head != chain.Head {
			t.Errorf("%v: the chain ends with record %d of %d, or with another", chain.SeriesKey, len(records), chain.Records)
		}
	}
}

// wantFits compares a record with the version that published it.
func wantFits(t *testing.T, r *store.Record, p assay.Publication) {
	t.Helper()
	if r.Version != p.Version || r.Receipt != p.Receipt || r.PublishedAt != p.PublishedAt {
		t.Errorf("the record of %s is of receipt %d, published at %d; its version %d of %d, at %d", assay.FormatInstant(r.At),
			r.Receipt, r.PublishedAt, p.Version, p.Receipt, p.PublishedAt)
	}
}

// oneGo is the world of the tests' rentals, published in one go when all was over.
func oneGo(t *testing.T) world {
	t.Helper()
	db := storetest.Open(t)
	mustAppend(t, db, rentals(start, end)...)
	p, _ := newPublisher(db, end)
	ok(t)(p.Backfill(t.Context(), start, end, nil))
	return readWorld(t, db)
}

// The clean run is what the other tests compare with, so it is worth counting.
func TestBackfill_OneGo(t *testing.T) {
	t.Parallel()
	w := oneGo(t)
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
		t.Errorf("%d GPUs and grains are covered, want all 6 in 2 grains, with transactions or without", n)
	}
}

func TestBackfill_PiecesEqualOneGo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine and a lot of work: make unit runs it, without the race detector")
	}
	want := oneGo(t)
	f := func(size int, pieces ...store.Span) {
		t.Helper()
		db := storetest.Open(t)
		mustAppend(t, db, rentals(start, end)...)
		p, _ := newPublisher(db, end)
		p.versionSize = size
		for _, piece := range pieces {
			ok(t)(p.Backfill(t.Context(), piece.From, piece.To, nil))
		}
		wantWorld(t, db, want)
	}
	all := store.Span{From: start, To: end}
	switchDay, sixth := instant(8, 20, 0), instant(6, 21, 0)
	f(0, all, all)
	f(1, all) // a version every day
	f(50, all)
	f(0, store.Span{From: start, To: switchDay}, store.Span{From: switchDay, To: end})
	f(0, store.Span{From: switchDay, To: end}, store.Span{From: start, To: switchDay})
	f(0, store.Span{From: sixth, To: switchDay}, all) // the rest lies on both sides
	// A bound in the middle of a slot leaves the slot to the next piece that holds all of it.
	f(0, store.Span{From: start, To: instant(7, 12, 34)}, store.Span{From: start, To: end + 1})
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
			t.Errorf("at 10:59 %s slots are covered to %s, want %s", grain, assay.FormatInstant(got), assay.FormatInstant(want))
		}
	}
	f(assay.Hourly, instant(6, 10, 0))
	f(assay.Daily, instant(5, 21, 0))
}

// Serving hour by hour, with a day's downtime and a long one, comes to the same points as one go.
func TestCatchUp_AfterDowntime(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testCatchUpAfterDowntime)
}

func testCatchUpAfterDowntime(t *testing.T, db *store.DB) {
	p, c := newPublisher(db, start)
	mustAppend(t, db, rentals(start, end)...)
	for _, at := range []int64{start, start + assay.Hour, start + 2*assay.Hour, start + 2*assay.Hour + 1, start + assay.Day, instant(9, 3, 30), end} {
		c.ms.Store(at)
		catchUpFrom(t, p, start)
	}
	wantWorld(t, db, oneGo(t))
	if n := ok(t)(p.CatchUp(t.Context())); n != 0 {
		t.Errorf("catching up again published %d points", n)
	}
}

// CatchUp alone does not begin a history: that is Run's or Backfill's to decide.
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
	mustAppend(t, db, rentals(noon-assay.Hour, noon+assay.Hour)...) // one stands exactly at noon
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
	// What is determined stays: a transaction that comes now does not bring a point.
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
		spans[0].From -= assay.Day // which the second backfill was asked for
		want.coverage[key] = spans
	}
	wantWorld(t, db, want)
	wantLate(t, db, "late hourly daily")
}

// wantLate compares the late list with lines such as "id hourly daily", which say what waits for a restatement.
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

// A server that starts empty publishes from its first hour on; the history that is loaded later fills in what lies
// before, and nothing else.
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
		t.Errorf("serving began with the slot %s, want the one that was running", assay.FormatInstant(first))
	}

	mustAppend(t, db, rentals(start, end)...)
	ok(t)(p.Backfill(t.Context(), start, end, nil))
	filled, clean := readWorld(t, db), oneGo(t)
	if !reflect.DeepEqual(filled.coverage, clean.coverage) {
		t.Errorf("the coverage is %v, want %v", filled.coverage, clean.coverage)
	}
	for line, points := range served.revisions {
		// What was served is the end of what is there now, with the day's value made of the hours that were known then.
		got := filled.revisions[line]
		if tail := got[len(got)-len(points):]; !slices.Equal(tail, points) {
			t.Errorf("%s: served was\n%v, now it is\n%v", line, points, tail)
		}
		if head := got[:len(got)-len(points)]; !slices.Equal(head, clean.revisions[line][:len(head)]) || len(got) != len(clean.revisions[line]) {
			t.Errorf("%s: the history is\n%v, want\n%v", line, head, clean.revisions[line])
		}
	}
}

// A run that breaks off between its versions, or inside one, and is repeated comes to the same as a clean one.
func TestBackfill_BrokenOffAndRepeated(t *testing.T) {
	t.Parallel()
	want := oneGo(t)
	db := storetest.Open(t)
	mustAppend(t, db, rentals(start, end)...)
	p, _ := newPublisher(db, end)
	p.versionSize = 1
	broken, partly := 0, 0
	for n := int64(10); ; n += 7 {
		_, err := p.Backfill(storetest.BreakAt(t, n), start, end, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		broken++
		if got := readWorld(t, db).coverage.End(store.CoverageKey{GPU: "B200", Grain: assay.Daily}); got > start && got < end {
			partly++
		}
	}
	if broken < 5 || partly < 2 {
		t.Errorf("broken off %d times, %d of them between versions: too few to tell", broken, partly)
	}
	wantWorld(t, db, want)
}

// The publisher's lock is a file, and a file may be deleted under its holder. Then coverage and chain still see to it
// that a slot is published once: the other publisher is faster by an hour, just before the version that holds it is
// written. The refused version must not be lost, and nothing may be published behind it first: catching up would
// never come back.
func TestBackfill_Overtaken(t *testing.T) {
	t.Parallel()
	want := oneGo(t)
	f := func(size int, from, to int64) {
		t.Helper()
		dir := t.TempDir()
		db := storetest.OpenIn(t, dir)
		mustAppend(t, db, rentals(start, end)...)
		p, _ := newPublisher(db, end)
		p.versionSize = size
		other, _ := newPublisher(storetest.Another(t, db), end)
		records := 0
		once := func(int64) {
			if records > 0 {
				return
			}
			if err := os.Remove(filepath.Join(dir, "publisher.lock")); err != nil {
				t.Fatal(err)
			}
			records = ok(t)(other.Backfill(t.Context(), from, to, nil))
		}
		records += ok(t)(p.Backfill(t.Context(), start, end, once))
		wantWorld(t, db, want)
		if all := want.count(); records != all {
			t.Errorf("two publishers tell of %d records, want %d", records, all)
		}
	}
	f(0, start+5*assay.Hour, start+6*assay.Hour)
	f(1, start, start+assay.Hour)
	f(50, end-assay.Hour, end)
	f(50, start, end)
}

func (w world) count() (n int) {
	for _, list := range w.revisions {
		n += len(list)
	}
	return n
}

// Two publishers work through the same time, each version by whoever has the lock.
func TestBackfill_TwoAtOnce(t *testing.T) {
	t.Parallel()
	want := oneGo(t)
	db := storetest.Open(t)
	mustAppend(t, db, rentals(start, end)...)
	var wg sync.WaitGroup
	var records [2]int
	for i, handle := range []*store.DB{db, storetest.Another(t, db)} {
		p, _ := newPublisher(handle, end)
		p.versionSize = 1
		wg.Go(func() { records[i] = ok(t)(p.Backfill(t.Context(), start, end, nil)) })
	}
	wg.Wait()
	if all := want.count(); records[0]+records[1] != all {
		t.Errorf("two publishers tell of %v records, want %d in all", records, all)
	}
	wantWorld(t, db, want)
}

// While a version is computed, rows arrive: of a day that has been read, and of one that has not. The version does not
// know of either; both are late.
func TestBackfill_ArrivalsInBetween(t *testing.T) {
	t.Parallel()
	want := oneGo(t)
	db := storetest.Open(t)
	mustAppend(t, db, rentals(start, end)...)
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

// lateRow is a dear rental of an H100.
func lateRow(id string, at int64) assay.Transaction {
	x := rentals(start, start+1)[0]
	x.ID, x.ExecutedAt, x.Price = id, at, 100*assay.One
	return x
}

// A clock that is set back does not turn the order of publications round.
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
