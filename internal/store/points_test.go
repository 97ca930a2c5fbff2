package store_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// record returns a record with little more than a value; ready adds it to the chain.
func record(line assay.Line, grain assay.Grain, at int64, value assay.Nanos) assay.Determination {
	return assay.Determination{
		Line: line, Grain: grain, At: at, From: at - assay.Hour, Methodology: "1.0.0", HasValue: true,
		Value: value, Transactions: 1,
	}
}

// records returns records of one series with revision 0. The value of each is its instant.
func records(line assay.Line, grain assay.Grain, instants ...int64) store.SeriesRecords {
	s := store.SeriesRecords{Line: line, Grain: grain}
	for _, at := range instants {
		s.Records = append(s.Records, record(line, grain, at, assay.Nanos(at)))
	}
	return s
}

// hours returns a publication of the hours [from, to) since 1970 of a GPU's global line: a record for each, with the
// number of the hour as its value, and their coverage.
func hours(gpu string, from, to int64) store.Publication {
	line := assay.Line{GPU: gpu, Region: assay.Global}
	s := store.SeriesRecords{Line: line, Grain: assay.Hourly}
	for h := from; h < to; h++ {
		s.Records = append(s.Records, record(line, assay.Hourly, (h+1)*assay.Hour, assay.Nanos(h)))
	}
	return store.Publication{Methodology: "1.0.0", Series: []store.SeriesRecords{s}, Covers: covers(gpu, from, to)}
}

func covers(gpu string, from, to int64) store.Coverage {
	return store.Coverage{{GPU: gpu, Grain: assay.Hourly}: {{From: from * assay.Hour, To: to * assay.Hour}}}
}

// ready completes a publication so that the store accepts it: with the newest receipt, and with its records after the
// heads of their chains.
func ready(t testing.TB, db *store.DB, p store.Publication) store.Publication {
	t.Helper()
	state, err := db.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.Receipt = state.Receipt
	p.Series = slices.Clone(p.Series)
	for i := range p.Series {
		s := &p.Series[i]
		head := state.Heads[store.SeriesKey{Line: s.Line, Grain: s.Grain}]
		s.Records = chained(slices.Clone(s.Records), head, p)
	}
	return p
}

func chained(list []assay.Determination, head assay.Hash, p store.Publication) []assay.Determination {
	for i := range list {
		list[i].Receipt, list[i].PublishedAt = p.Receipt, p.PublishedAt
		proof.Seal(&list[i], head)
		head = list[i].Hash
	}
	return list
}

// mustPublish completes a publication and publishes it.
func mustPublish(t *testing.T, db *store.DB, p store.Publication) int64 {
	t.Helper()
	version, err := db.Publish(t.Context(), ready(t, db, p))
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// revisions reads the revisions of a series that the versions in (after, upTo] added.
func revisions(
	t *testing.T, db *store.DB, line assay.Line, grain assay.Grain, first, last, after, upTo int64,
) []assay.Revision {
	t.Helper()
	list, err := db.Revisions(t.Context(), line, grain, first, last, after, upTo)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// points returns the points of a series, which must all be the first revision of their slot.
func points(t *testing.T, db *store.DB, line assay.Line, grain assay.Grain) (list []assay.Point) {
	t.Helper()
	for _, r := range revisions(t, db, line, grain, math.MinInt64, math.MaxInt64, 0, math.MaxInt64) {
		if r.Number != 0 || r.Gone {
			t.Errorf("%v has the revision %+v", line, r)
		}
		list = append(list, r.Point)
	}
	return list
}

// published is everything that publishing can change.
type published struct {
	Counters     store.Counters
	State        store.State
	Covers       store.Covers
	Changes      []store.Change
	Publications []assay.Publication
	Records      []store.Record
	Chains       []store.Chain
	Unsigned     []int64
	Late         []store.Late
}

func readPublished(t *testing.T, db *store.DB) (p published) {
	t.Helper()
	ctx := t.Context()
	var errs [6]error
	p.Counters, errs[0] = db.Counters(ctx)
	p.State, errs[1] = db.State(ctx)
	p.Changes, errs[2] = db.Changes(ctx, 0, math.MaxInt64)
	p.Publications, errs[3] = db.Publications(ctx, 0, math.MaxInt64)
	p.Records, errs[4] = db.AppendRecords(ctx, nil, math.MinInt64, math.MaxInt64)
	p.Chains, errs[5] = db.Chains(ctx)
	ledger := mustLedger(t, db)
	p.Covers, p.Unsigned = ledger.Covers, ledger.Unsigned
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	p.Late = listLate(t, db)
	return p
}

func wantPublished(t *testing.T, db *store.DB, want published) {
	t.Helper()
	if diff := cmp.Diff(want, readPublished(t, db)); diff != "" {
		t.Errorf("the published data has changed (-want +got):\n%s", diff)
	}
}

func TestPublish_VersionsCountUp(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
			t.Errorf("without coverage the end is %d, want 0", end)
		}
	})
}

func TestPublish_RefusedLeavesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPublish(t, db, hours("H100 SXM", 10, 20))
		want := readPublished(t, db)
		f := func(p store.Publication, message string) {
			t.Helper()
			_, err := db.Publish(t.Context(), ready(t, db, p))
			if err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("the error is %v, want %s", err, message)
			}
			wantPublished(t, db, want)
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
		// One span overlaps and one does not: both are refused.
		both := hours("B200", 10, 20)
		both.Covers[store.CoverageKey{GPU: "H100 SXM", Grain: assay.Hourly}] = []store.Span{{From: 0, To: 11 * assay.Hour}}
		f(both, store.ErrOvertaken.Error())
		// Spans that overlap each other are refused too.
		overlapping := store.Coverage{{GPU: "B200"}: {{From: 0, To: 10}, {From: 9, To: 12}}}
		f(store.Publication{Covers: overlapping}, store.ErrOvertaken.Error())

		// A revision is published once, even without coverage.
		again := hours("H100 SXM", 15, 16)
		again.Covers = nil
		f(again, "constraint") // "constraint failed" or "violates unique constraint"

		f(hours("h100 sxm", 30, 31), "cover h100 sxm: not in the catalog")
		unknown := hours("h100 sxm", 30, 31)
		unknown.Covers = nil
		f(unknown, "publish h100 sxm: not in the catalog")
		elsewhere := hours("H100 SXM", 30, 31)
		elsewhere.Series[0].Region = "moon"
		f(elsewhere, "publish H100 SXM in moon: the region is not in the catalog")
	})
}

func TestPublish_BrokenChain(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := func(message string, change func(list []assay.Determination)) {
			t.Helper()
			want := readPublished(t, db)
			p := ready(t, db, hours("H100 SXM", 20, 24))
			change(p.Series[0].Records)
			if _, err := db.Publish(t.Context(), p); err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("a broken chain returns the error %v, want %s", err, message)
			}
			wantPublished(t, db, want)
		}
		overtaken := store.ErrOvertaken.Error()
		f(overtaken, func(list []assay.Determination) { list[0].Previous[31]++ }) // a chain must begin with zero
		mustPublish(t, db, hours("H100 SXM", 10, 20))
		f(overtaken, func(list []assay.Determination) { list[0].Previous[0]++ })
		f(overtaken, func(list []assay.Determination) { list[0].Previous = assay.Hash{} })
		f("do not follow each other", func(list []assay.Determination) { list[2].Previous[5]++ })
		f("do not follow each other", func(list []assay.Determination) { list[0].Hash[5]++ })
		f("do not follow each other", func(list []assay.Determination) { list[1], list[2] = list[2], list[1] })
		mustPublish(t, db, hours("H100 SXM", 20, 24))
	})
}

// A publication leaves nothing behind, wherever it is canceled.
func TestPublish_AllOrNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"))
		p := ready(t, db, hours("H100 SXM", 0, 100))
		p.Series = append(p.Series, ready(t, db, hours("B200", 0, 70)).Series...)
		before := readPublished(t, db)
		tried := 0
		for n := int64(1); ; n += storetest.BreakStep(t, db, 2) {
			_, err := db.Publish(storetest.BreakAt(t, n), p)
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("after cancellation at use %d the error is %v", n, err)
			}
			if tried++; tried%20 == 0 {
				storetest.Vacuum(t, db)
			}
			wantPublished(t, db, before)
		}
		if after := readPublished(t, db); tried < 10 || len(after.Records) != 170 || len(after.Chains) != 2 {
			t.Errorf("after %d attempts there are %d records in %d chains, want 170 in 2",
				tried, len(after.Records), len(after.Chains))
		}
	})
}

func TestPublish_OneOfTwoWins(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		handles := []*store.DB{db, storetest.Another(t, db)}
		line := assay.Line{GPU: "H200", Region: assay.Global}
		for round := range int64(20) {
			var errs [2]error
			var publications [2]store.Publication
			for i := range publications {
				p := hours("H200", round, round+1)
				p.Series[0].Records[0].Value = assay.Nanos(i)
				publications[i] = ready(t, db, p)
			}
			var wg sync.WaitGroup
			for i, handle := range handles {
				wg.Go(func() {
					_, errs[i] = handle.Publish(t.Context(), publications[i])
				})
			}
			wg.Wait()
			winner := slices.Index(errs[:], nil)
			if winner < 0 || !errors.Is(errs[1-winner], store.ErrOvertaken) {
				t.Fatalf("hour %d: two publishers got %v, want one success and one %v", round, errs, store.ErrOvertaken)
			}
			at := (round + 1) * assay.Hour
			want := []assay.Revision{{Point: assay.Point{At: at, Value: assay.Nanos(winner)}, Version: round + 1}}
			if got := revisions(t, db, line, assay.Hourly, at, at, 0, math.MaxInt64); !slices.Equal(got, want) {
				t.Fatalf("hour %d has the revisions %v, want the winner's %v", round, got, want)
			}
		}
		if got := mustCounters(t, db).Publication; got != 20 {
			t.Errorf("20 hours made %d versions", got)
		}
	})
}

func TestRevisions_OfVersions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		line := assay.Line{GPU: "H200", Region: "eu-west"}
		for version := int64(1); version <= 3; version++ {
			p := hours("H200", 100-10*version, 110-10*version) // backwards, as a backfill does after serving began
			p.Series[0].Line = line
			mustPublish(t, db, p)
		}
		f := func(first, last, after, upTo int64, wantFirst, wantLast int64) {
			t.Helper()
			got := revisions(t, db, line, assay.Hourly, first, last, after, upTo)
			var want []assay.Revision
			for at := wantFirst; at <= wantLast; at += assay.Hour {
				hour := at/assay.Hour - 1
				want = append(want, assay.Revision{Point: assay.Point{At: at, Value: assay.Nanos(hour)}, Version: 10 - hour/10})
			}
			if !slices.Equal(got, want) {
				t.Errorf("[%d, %d] of (%d, %d]: got\n%v, want\n%v", first, last, after, upTo, got, want)
			}
		}
		const h = assay.Hour
		f(0, 1000*h, 0, 0, 1, 0)
		f(0, 1000*h, 0, 1, 91*h, 100*h)
		f(0, 1000*h, 0, 2, 81*h, 100*h)
		f(0, 1000*h, 1, 2, 81*h, 90*h)
		f(0, 1000*h, 0, 99, 71*h, 100*h)
		f(0, 1000*h, 3, 99, 1, 0)
		f(95*h, 97*h, 0, 99, 95*h, 97*h) // both ends are included
		f(95*h+1, 96*h-1, 0, 99, 1, 0)
		f(math.MinInt64, math.MaxInt64, 0, math.MaxInt64, 71*h, 100*h)

		for _, other := range []assay.Line{
			{GPU: "H200", Region: assay.Global}, {GPU: "B200", Region: "eu-west"}, {GPU: "none", Region: "eu-west"},
		} {
			if got := points(t, db, other, assay.Hourly); len(got) != 0 {
				t.Errorf("%v has the points of %v", other, line)
			}
		}
		if got := points(t, db, line, assay.Daily); len(got) != 0 {
			t.Error("the daily series has hourly points")
		}
	})
}

// restated returns a restatement of one hour of a GPU.
func restated(gpu string, hour int64, revision int, value assay.Nanos, hasValue bool) store.Publication {
	p := hours(gpu, hour, hour+1)
	r := &p.Series[0].Records[0]
	r.Revision, r.Value, r.HasValue = revision, value, hasValue
	p.Reason, p.Actor = "a late file", "desk"
	return p
}

// Nothing is overwritten: all revisions remain, and one without a value withdraws the value.
func TestPublish_KeepsRevisions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPublish(t, db, hours("H200", 5, 8))
		mustPublish(t, db, restated("H200", 6, 1, 60, true))
		mustPublish(t, db, restated("H200", 6, 2, 0, false))
		mustPublish(t, db, restated("H200", 6, 3, 0, true)) // a value of zero is a value
		at := func(hour int64, value assay.Nanos) assay.Point {
			return assay.Point{At: hour * assay.Hour, Value: value}
		}
		want := []assay.Revision{
			{Point: at(6, 5), Version: 1},
			{Point: at(7, 6), Version: 1},
			{Point: at(7, 60), Number: 1, Version: 2},
			{Point: at(7, 0), Number: 2, Gone: true, Version: 3},
			{Point: at(7, 0), Number: 3, Version: 4},
			{Point: at(8, 7), Version: 1},
		}
		line := assay.Line{GPU: "H200", Region: assay.Global}
		got := revisions(t, db, line, assay.Hourly, math.MinInt64, math.MaxInt64, 0, math.MaxInt64)
		if !slices.Equal(got, want) {
			t.Errorf("the revisions are\n%v, want\n%v", got, want)
		}
		list, err := db.Publications(t.Context(), 1, 3)
		wantList := []assay.Publication{
			{Version: 2, Methodology: "1.0.0", Reason: "a late file", Actor: "desk"},
			{Version: 3, Methodology: "1.0.0", Reason: "a late file", Actor: "desk"},
		}
		if err != nil || !slices.Equal(list, wantList) {
			t.Errorf("the publications are %+v (%v), want %+v", list, err, wantList)
		}
	})
}

func TestPublish_ManyRecordsAndExtremes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		line := assay.Line{GPU: "B200", Region: "us-east"}
		s := records(line, assay.Daily, math.MinInt64)
		for i := range int64(1000) {
			s.Records = append(s.Records, record(line, assay.Daily, i, assay.Nanos(-i)))
		}
		s.Records = append(s.Records, record(line, assay.Daily, math.MaxInt64, math.MaxInt64))
		mustPublish(t, db, store.Publication{Series: []store.SeriesRecords{s}})
		var want []assay.Point
		for _, r := range s.Records {
			want = append(want, assay.Point{At: r.At, Value: r.Value})
		}
		if got := points(t, db, line, assay.Daily); !slices.Equal(got, want) {
			t.Errorf("read %d points that differ from the %d published ones", len(got), len(want))
		}
		if ledger, err := db.Ledger(t.Context()); err != nil || ledger.Records != 1002 {
			t.Errorf("there are %d records (%v), want 1002", ledger.Records, err)
		}
	})
}

func TestChanges(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		publish := func(series ...store.SeriesRecords) {
			t.Helper()
			mustPublish(t, db, store.Publication{Series: series})
		}
		h100, eu := assay.Line{GPU: "H100 SXM", Region: assay.Global}, assay.Line{GPU: "H100 SXM", Region: "eu-west"}
		publish(records(h100, assay.Daily, 9, 5, 7), records(eu, assay.Hourly, 6)) // records may be in any order
		publish(records(eu, assay.Hourly))                                         // no records, but a version
		publish(records(h100, assay.Daily, 1))

		first := []store.Change{
			{Version: 1, Line: h100, Grain: assay.Daily, First: 5, Last: 9},
			{Version: 1, Line: eu, Grain: assay.Hourly, First: 6, Last: 6},
		}
		third := store.Change{Version: 3, Line: h100, Grain: assay.Daily, First: 1, Last: 1}
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

// GPU names are compared byte by byte, so names that differ in case are different. The catalog keeps its order,
// whatever the names are.
func TestCatalog_NamesAreBytes(t *testing.T) {
	t.Parallel()
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
			got := points(t, db, assay.Line{GPU: gpu, Region: assay.Global}, assay.Hourly)
			if !slices.Equal(got, want) {
				t.Errorf("%s has the points %v, want %v", gpu, got, want)
			}
		}
		f("B200", assay.Point{At: assay.Hour, Value: 0})
		f("b200", assay.Point{At: 8 * assay.Hour, Value: 7})
		f("Ångström")
	})
}
