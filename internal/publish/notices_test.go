package publish

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

func noticesOf(t *testing.T, db *store.DB) []assay.Notice {
	t.Helper()
	list, err := db.Notices(t.Context(), 0, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// wantNotices compares the kind, line and day of the notices after the first ones.
func wantNotices(t *testing.T, db *store.DB, after int, want ...assay.Notice) {
	t.Helper()
	var got []assay.Notice
	for _, n := range noticesOf(t, db)[after:] {
		got = append(got, assay.Notice{Kind: n.Kind, GPU: n.GPU, Region: n.Region, About: n.About})
	}
	if !slices.Equal(got, want) {
		t.Errorf("the notices are %+v, want %+v", got, want)
	}
}

// days are rentals of one GPU in one region, each for one provider, by day.
func days(perDay map[int]int) (all []assay.Transaction) {
	for day, n := range perDay {
		for i := range n {
			x := rentals(start, start+1)[0]
			x.ExecutedAt = instant(day, 10, i)
			x.ID, x.Provider = assay.FormatInstant(x.ExecutedAt), string(rune('A'+i))
			all = append(all, x)
		}
	}
	return all
}

func TestNotices_DaysWithoutAValue(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p, c := newPublisher(db, instant(9, 20, 0))
		db.Now = c.now
		mustAppend(t, db, days(map[int]int{5: 1, 7: 1})...)
		if _, err := p.Backfill(t.Context(), start, instant(9, 20, 0), nil); err != nil {
			t.Fatal(err)
		}
		noValue := func(region string, day, hour int) assay.Notice {
			return assay.Notice{
				Kind: assay.NoValueNotice, GPU: "H100 SXM", Region: region, About: instant(day, hour, 0),
			}
		}
		// The first days of the coverage come before the series begin.
		wantNotices(t, db, 0,
			noValue("global", 6, 21), noValue("global", 8, 20), noValue("global", 9, 20),
			noValue("us-east", 6, 21), noValue("us-east", 8, 20), noValue("us-east", 9, 20))
		first := noticesOf(t, db)[0]
		const text = "H100 SXM global, the day that ends at 2026-03-06T21:00:00.000Z, has no value: " +
			"what counts is too little for the methodology."
		if first.Number != 1 || first.At != c.ms.Load() || first.Text != text {
			t.Errorf("the first notice is %+v", first)
		}

		// A later version knows that the series have begun, and a restatement can take a value back.
		c.ms.Store(instant(10, 20, 0))
		if _, err := p.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantNotices(t, db, 6, noValue("global", 10, 20), noValue("us-east", 10, 20))
		last := days(map[int]int{7: 1})[0]
		v := assay.Verification{Source: last.Source, ID: last.ID, Actor: "auditor", Reason: "made up"}
		if _, err := db.AddVerifications(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		r := Restatement{GPU: "H100 SXM", From: instant(6, 21, 0), To: instant(7, 21, 0), Reason: "made up", Actor: "editor"}
		if _, err := p.Restate(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		wantNotices(t, db, 8, noValue("global", 7, 21), noValue("us-east", 7, 21))
	})
}

func TestNotices_Fallback(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	adopt(t, db, start, "transactions = 1\nproviders    = 1\n", `transactions = 4
providers = 2
[[fallback]]
name = "thin"
transactions = 2
providers = 2
[[fallback]]
name = "one"
transactions = 2
providers = 1
`)
	p, _ := newPublisher(db, instant(9, 20, 0))
	mustAppend(t, db, days(map[int]int{5: 4, 6: 2, 7: 1})...)
	same := days(map[int]int{9: 2})
	same[1].Provider = same[0].Provider
	mustAppend(t, db, same...)
	if _, err := p.Backfill(t.Context(), start, instant(9, 20, 0), nil); err != nil {
		t.Fatal(err)
	}
	records, err := db.SeriesRecords(t.Context(),
		store.SeriesKey{Line: assay.Line{GPU: "H100 SXM", Region: "us-east"}, Grain: assay.Daily}, start, end)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range records {
		got = append(got, assay.FormatInstant(r.At)[8:10]+" "+r.Fallback)
	}
	if want := []string{"05 ", "06 thin", "09 one"}; !slices.Equal(got, want) {
		t.Errorf("the days are determined by %q, want %q", got, want)
	}
	for _, n := range noticesOf(t, db) {
		if n.Kind == assay.FallbackNotice && n.About == instant(9, 20, 0) && !strings.Contains(n.Text, `fallback "one"`) {
			t.Errorf("the notice says %q", n.Text)
		}
	}
	hours, err := db.SeriesRecords(t.Context(),
		store.SeriesKey{Line: assay.Line{GPU: "H100 SXM", Region: "us-east"}, Grain: assay.Hourly}, start, end)
	if err != nil || len(hours) != 1 {
		t.Errorf("%d hours have values (%v), want the one with enough rentals: fallbacks are for days", len(hours), err)
	}
}

func TestNotices_SeriesEnd(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p, c := newPublisher(db, instant(6, 21, 0))
		db.Now = c.now
		mustAppend(t, db, rentals(start, end)...)
		if _, err := p.Backfill(t.Context(), start, instant(6, 21, 0), nil); err != nil {
			t.Fatal(err)
		}
		say := func(kind assay.NoticeKind, at int64, notice time.Duration, want string) {
			t.Helper()
			_, err := db.AddNotice(t.Context(), assay.Notice{Kind: kind, GPU: "H200", About: at, Text: "x"}, notice)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", kind, err, want)
			}
		}
		say(assay.ResumptionNotice, 0, 0, "no notice says that the series end")
		say(assay.CessationNotice, instant(6, 20, 0), 0, "is published up to")
		say(assay.CessationNotice, instant(8, 0, 30), 48*time.Hour, "can end at 2026-03-08T21:00:00.000Z at the earliest")
		say(assay.CessationNotice, instant(8, 0, 30), 0, "")
		say(assay.CessationNotice, instant(9, 0, 0), 0, "already")

		c.ms.Store(end)
		ends := func(gpu string) (hour, day int64) {
			t.Helper()
			if _, err := p.CatchUp(t.Context()); err != nil {
				t.Fatal(err)
			}
			coverage, err := db.Coverage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return coverage.End(store.CoverageKey{GPU: gpu, Grain: assay.Hourly}),
				coverage.End(store.CoverageKey{GPU: gpu, Grain: assay.Daily})
		}
		if hour, day := ends("H200"); hour != instant(8, 0, 0) || day != instant(7, 21, 0) {
			t.Errorf("the series end at %s and %s", assay.FormatInstant(hour), assay.FormatInstant(day))
		}
		if hour, day := ends("H100 SXM"); hour != end || day != end {
			t.Error("the series of another GPU end too")
		}
		say(assay.ResumptionNotice, 0, 0, "")
		if hour, day := ends("H200"); hour != end || day != end {
			t.Error("the series do not continue")
		}
		wantWholeChains(t, db)
	})
}

// History that is published at once has one notice for each GPU, and hidden regions have none.
func TestNotices_History(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	p, c := newPublisher(db, instant(20, 20, 0))
	db.Now = c.now
	mustAppend(t, db, days(map[int]int{5: 1, 7: 1, 18: 1})...)
	if _, err := p.Backfill(t.Context(), start, instant(20, 20, 0), nil); err != nil {
		t.Fatal(err)
	}
	day := func(region string, day int) assay.Notice {
		return assay.Notice{Kind: assay.NoValueNotice, GPU: "H100 SXM", Region: region, About: instant(day, 20, 0)}
	}
	var want []assay.Notice
	want = append(want, assay.Notice{Kind: assay.HistoryNotice, GPU: "H100 SXM", About: instant(12, 20, 0)})
	for _, region := range []string{"global", "us-east"} {
		for _, one := range []int{13, 14, 15, 16, 17, 19, 20} {
			want = append(want, day(region, one))
		}
	}
	wantNotices(t, db, 0, want...)
	const text = "H100 SXM, days of its series that end from 2026-03-06T21:00:00.000Z to 2026-03-12T20:00:00.000Z: " +
		"12 have no value, because what counts is too little for the methodology, and 0 were determined by a fallback."
	if got := noticesOf(t, db)[0].Text; got != text {
		t.Errorf("the notice says %q", got)
	}

	if err := db.Hide(t.Context(), assay.CatalogEntry{Kind: assay.KindRegion, Name: "us-east"}); err != nil {
		t.Fatal(err)
	}
	c.ms.Store(instant(21, 20, 0))
	if _, err := p.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantNotices(t, db, len(want), day("global", 21))
}

// Prints have no fallbacks, and those of series that have ended stop.
func TestNotices_Realtime(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	adopt(t, db, start, "transactions = 1\nproviders    = 1\n", `transactions = 2
providers = 1
[[fallback]]
name = "thin"
transactions = 1
providers = 1
`)
	p, c := newPublisher(db, instant(5, 10, 0))
	db.Now = c.now
	rows := days(map[int]int{5: 3})
	for i := range rows {
		rows[i].ExecutedAt = instant(5, 10, 10*i)
		rows[i].Provider = "A"
	}
	mustAppend(t, db, rows...)
	n := assay.Notice{Kind: assay.CessationNotice, GPU: rows[0].GPU, About: instant(5, 10, 30), Text: "x"}
	if _, err := db.AddNotice(t.Context(), n, 0); err != nil {
		t.Fatal(err)
	}
	c.ms.Store(instant(5, 11, 0))
	if err := p.Realtime(t.Context()); err != nil {
		t.Fatal(err)
	}
	prints, err := db.Realtime(t.Context(), start, end)
	if err != nil {
		t.Fatal(err)
	}
	minutes := map[int64]bool{}
	for _, one := range prints {
		minutes[one.At] = true
	}
	for minute := range 60 {
		if at, want := instant(5, 10, minute), minute >= 11 && minute <= 30; minutes[at] != want {
			t.Errorf("minute %d has a print: %t", minute, !want)
		}
	}
}
