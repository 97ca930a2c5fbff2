package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

func listLate(t *testing.T, db *store.DB) (list []store.Late) {
	t.Helper()
	err := db.EachLate(t.Context(), func(l *store.Late) error {
		list = append(list, *l)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// wantLate compares the list with lines such as "a arrived hourly daily".
func wantLate(t *testing.T, db *store.DB, want ...string) {
	t.Helper()
	var got []string
	for _, l := range listLate(t, db) {
		line := l.ID + " " + l.Change
		if l.Hourly {
			line += " hourly"
		}
		if l.Daily {
			line += " daily"
		}
		got = append(got, line)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the late list is %q, want %q", got, want)
	}
}

// coverOf returns a publication that determines the hour or the day of a transaction, without a value.
func coverOf(x assay.Transaction, grains ...assay.Grain) store.Publication {
	p := store.Publication{Methodology: "1.0.0", Covers: store.Coverage{}}
	for _, grain := range grains {
		span := store.Span{From: x.ExecutedAt / assay.Hour * assay.Hour}
		span.To = span.From + assay.Hour
		if grain == assay.Daily {
			span = store.Span{From: assay.StartOfDay(x.ExecutedAt), To: assay.StartOfDay(x.ExecutedAt) + assay.Day}
		}
		p.Covers[store.CoverageKey{GPU: x.GPU, Grain: grain}] = []store.Span{span}
	}
	return p
}

func restatementOf(x assay.Transaction, grains ...assay.Grain) store.Publication {
	p := coverOf(x, grains...)
	p.Reason, p.Actor = "late rows", "desk"
	return p
}

func TestLate_WhatIsListed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		in := rental("in")
		hour := in.ExecutedAt / assay.Hour * assay.Hour
		mustAppend(t, db, in)
		mustPublish(t, db, coverOf(in, assay.Hourly))
		wantLate(t, db) // a transaction that arrived in time is not late
		f := func(id string, change func(*assay.Transaction), want int) {
			t.Helper()
			x := rental(id)
			change(&x)
			if got := mustAppend(t, db, x); got.Late != want || got.Inserted != 1 {
				t.Errorf("%s: %+v, want late %d", id, got, want)
			}
		}
		f("first", func(x *assay.Transaction) { x.ExecutedAt = hour }, 1)
		f("before", func(x *assay.Transaction) { x.ExecutedAt = hour - 1 }, 0)
		f("last", func(x *assay.Transaction) { x.ExecutedAt = hour + assay.Hour - 1 }, 1)
		f("after", func(x *assay.Transaction) { x.ExecutedAt = hour + assay.Hour }, 0)
		f("other GPU", func(x *assay.Transaction) { x.GPU = "B200" }, 0)
		f("unverified", func(x *assay.Transaction) { x.Verified = false }, 1)
		f("nowhere", func(x *assay.Transaction) { x.Region = "" }, 1)
		if a := mustAppend(t, db, in, rental("first")); a.Late != 0 { // a duplicate and a conflict
			t.Errorf("known rows result in %+v, want nothing late", a)
		}
		wantLate(t, db, "first arrived hourly", "last arrived hourly", "unverified arrived hourly", "nowhere arrived hourly")
	})
}

func TestLate_Content(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		db.Now = func() time.Time { return time.UnixMilli(77) }
		x := rental("a")
		mustPublish(t, db, coverOf(x, assay.Daily))
		mustAppend(t, db, x)
		x.Receipt = 1
		want := []store.Late{{Transaction: x, Change: "arrived", ReceivedAt: 77, Daily: true}}
		if got := listLate(t, db); !slices.Equal(got, want) {
			t.Errorf("the late list is %+v, want %+v", got, want)
		}
	})
}

func TestLate_Verifications(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		in, open := rental("in"), rental("open")
		open.ExecutedAt += assay.Day
		mustAppend(t, db, in, open)
		if verify(t, db, in, false) || verify(t, db, in, true) {
			t.Error("a verification before the first publication is late")
		}
		mustPublish(t, db, coverOf(in, assay.Hourly, assay.Daily))
		if verify(t, db, open, false) {
			t.Error("a verification for time that is not determined is late")
		}
		if !verify(t, db, in, false) || !verify(t, db, in, true) {
			t.Error("a verification for time that was determined is not late")
		}
		wantLate(t, db, "in withdrawn hourly daily", "in verified hourly daily")
	})
}

// Hour and day are restated separately or together. A transaction leaves the list once both include it.
func TestLate_RestatedByGrain(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		x := rental("a")
		mustPublish(t, db, coverOf(x, assay.Hourly, assay.Daily))
		mustAppend(t, db, x)
		wantLate(t, db, "a arrived hourly daily")
		mustPublish(t, db, restatementOf(x, assay.Hourly))
		wantLate(t, db, "a arrived daily")
		verify(t, db, x, false)
		wantLate(t, db, "a arrived daily", "a withdrawn hourly daily")
		mustPublish(t, db, restatementOf(x, assay.Daily))
		wantLate(t, db, "a withdrawn hourly")
		mustPublish(t, db, restatementOf(x, assay.Hourly, assay.Daily))
		wantLate(t, db)
	})
}

// A restatement removes from the list only what it knew, and only in its time.
func TestLate_RestatedElsewhereOrBefore(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		x, other := rental("x"), rental("other")
		other.ExecutedAt += assay.Hour
		mustPublish(t, db, coverOf(x, assay.Hourly))
		mustPublish(t, db, coverOf(other, assay.Hourly))
		before := ready(t, db, restatementOf(x, assay.Hourly)) // which began before the rows arrived
		mustAppend(t, db, x, other)
		if _, err := db.Publish(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		mustPublish(t, db, restatementOf(other, assay.Hourly))
		wantLate(t, db, "x arrived hourly")
		mustPublish(t, db, restatementOf(x, assay.Hourly))
		wantLate(t, db)
	})
}

// The hour is published and the day has not ended: the row is late for the hour and in time for the day.
func TestLate_ForTheHourOnly(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		x := rental("a")
		mustPublish(t, db, coverOf(x, assay.Hourly))
		mustAppend(t, db, x)
		wantLate(t, db, "a arrived hourly")
		mustPublish(t, db, coverOf(x, assay.Daily))
		wantLate(t, db, "a arrived hourly")
		mustPublish(t, db, restatementOf(x, assay.Hourly))
		wantLate(t, db)
	})
}

// Rows and verifications that arrive while a publisher computes are late, although their time was not determined yet:
// the publisher did not know them.
func TestLate_BetweenReadingAndPublishing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		known, came, other, after := rental("known"), rental("came"), rental("other"), rental("after")
		other.GPU = "B200"
		after.ExecutedAt += assay.Day
		mustAppend(t, db, known)
		hourly, daily := ready(t, db, coverOf(known, assay.Hourly)), ready(t, db, coverOf(known, assay.Daily))
		mustAppend(t, db, came, other, after)
		verify(t, db, known, false)
		verify(t, db, after, false)
		wantLate(t, db)
		for i, p := range []store.Publication{hourly, daily} {
			if _, err := db.Publish(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			grains := []string{" hourly", " hourly daily"}[i]
			wantLate(t, db, "came arrived"+grains, "known withdrawn"+grains)
		}
		mustPublish(t, db, restatementOf(known, assay.Hourly, assay.Daily))
		wantLate(t, db)
	})
}

func TestLate_InTheOrderOfArrival(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPublish(t, db, coverOf(rental(""), assay.Hourly))
		var want []string
		for _, id := range []string{"z", "b", "y", "a"} {
			mustAppend(t, db, rental(id))
			want = append(want, id+" arrived hourly")
		}
		wantLate(t, db, want...)
		stop, calls := errors.New("enough"), 0
		err := db.EachLate(t.Context(), func(*store.Late) error { calls++; return stop })
		if !errors.Is(err, stop) || calls != 1 {
			t.Errorf("got %v after %d calls, want %v after 1", err, calls, stop)
		}
	})
}

// A database error while late events are looked up is reported as such, not as a missing transaction.
func TestPublish_DatabaseErrorIsNotAMissingTransaction(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		x := rental("a")
		x.Verified = false
		mustAppend(t, db, x)
		known, err := db.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		verify(t, db, x, true)
		storetest.Exec(t, db, `UPDATE segments SET checksum = checksum + 1`)
		p := coverOf(x, assay.Hourly)
		p.Receipt = known.Receipt
		_, err = db.Publish(t.Context(), p)
		if !errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrNoTransaction) {
			t.Errorf("the error is %v, want %v and nothing else", err, store.ErrDamaged)
		}
	})
}
