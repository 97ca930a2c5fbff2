package store_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// reading returns a reading for tests to change.
func reading(gpu, region string, at int64) assay.UtilizationReading {
	return assay.UtilizationReading{Source: "desk", At: at, GPU: gpu, Region: region, Rented: 60, Tracked: 80}
}

func mustAppendReadings(t *testing.T, db *store.DB, batch ...assay.UtilizationReading) store.Appended {
	t.Helper()
	a, err := db.AppendUtilization(t.Context(), batch, false)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func readUtilization(t *testing.T, db *store.DB, after int64) (all []assay.UtilizationReading) {
	t.Helper()
	if err := db.EachUtilization(t.Context(), after, math.MaxInt64, func(r *assay.UtilizationReading) error {
		all = append(all, *r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// at sets the clock of a database to a fixed time.
func at(db *store.DB, ms int64) { db.Now = func() time.Time { return time.UnixMilli(ms) } }

func TestUtilization_KnownByItsKey(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		first := reading("H200", "us-east", 1000)
		other, elsewhere, later, otherSource := first, first, first, first
		other.Rented = 61
		elsewhere.Region = ""
		later.At++
		otherSource.Source = "Desk"
		more := first
		more.Tracked = 81
		got := mustAppendReadings(t, db, first, first, other, elsewhere, later, otherSource)
		wantAppended(t, got, store.Appended{Inserted: 4, Duplicates: 1, Conflicts: []int{2}})
		got = mustAppendReadings(t, db, more, first, elsewhere, later, otherSource)
		wantAppended(t, got, store.Appended{Duplicates: 4, Conflicts: []int{0}})
		if got := readUtilization(t, db, 0); len(got) != 4 {
			t.Errorf("stored are %+v, want four readings", got)
		}
	})
}

// With revise, other numbers under a known key are a new revision: in a batch, after another one, or back to the first.
func TestUtilization_Revised(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		first := reading("H200", "us-east", 1000)
		second, third := first, first
		second.Rented, third.Rented = 61, 62
		revise := func(want store.Appended, batch ...assay.UtilizationReading) {
			t.Helper()
			got, err := db.AppendUtilization(t.Context(), batch, true)
			if err != nil {
				t.Fatal(err)
			}
			wantAppended(t, got, want)
		}
		revise(store.Appended{Inserted: 2, Duplicates: 1}, first, second, second)
		revise(store.Appended{Duplicates: 1}, second)
		revise(store.Appended{Inserted: 2}, third, first)
		wantAppended(t, mustAppendReadings(t, db, second), store.Appended{Conflicts: []int{0}})
		var rented []int64
		for i, r := range readUtilization(t, db, 0) {
			if r.Revision != i {
				t.Errorf("revision %d has the number %d", i, r.Revision)
			}
			rented = append(rented, r.Rented)
		}
		if !slices.Equal(rented, []int64{60, 61, 62, 60}) {
			t.Errorf("the revisions have %v rented GPUs", rented)
		}
	})
}

func TestUtilization_InOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		at(db, 5000)
		batch := []assay.UtilizationReading{
			reading("B200", "", 1), reading("H100 SXM", "us-west", 2), reading("H100 SXM", "us-east", 9),
			reading("H100 SXM", "", 3), reading("H100 SXM", "us-east", 4),
		}
		mustAppendReadings(t, db, batch...)
		var want []assay.UtilizationReading
		for _, i := range []int{3, 4, 2, 1, 0} { // the registry order of names, no region first
			r := batch[i]
			r.Received = 5000
			want = append(want, r)
		}
		if got := readUtilization(t, db, 0); !slices.Equal(got, want) {
			t.Errorf("read\n%+v, want\n%+v", got, want)
		}
	})
}

// A reader that continues from its last counter misses nothing, whatever the clock does.
func TestUtilization_ReadFromCounter(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		seen := mustCounters(t, db).Utilization
		for i, clock := range []int64{5000, 5000, 4000, 6000} {
			at(db, clock)
			mustAppendReadings(t, db, reading("H200", "", int64(i)))
			counter := mustCounters(t, db).Utilization
			got := readUtilization(t, db, seen)
			if len(got) != 1 || got[0].At != int64(i) || got[0].Received != counter || counter <= seen {
				t.Errorf("batch %d: after %d a reader reads %+v and the counter %d", i, seen, got, counter)
			}
			seen = counter
		}
		mustAppendReadings(t, db, reading("H200", "", 0))
		if got := mustCounters(t, db).Utilization; got != seen || got != 6000 {
			t.Errorf("a batch of known readings sets the counter to %d, want 6000 as before", got)
		}
	})
}

func TestUtilization_AllOrNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		want := mustCounters(t, db)
		for _, bad := range []assay.UtilizationReading{reading("H99", "", 1), reading("H200", "mars", 1)} {
			batch := []assay.UtilizationReading{reading("H200", "", 1), bad}
			if _, err := db.AppendUtilization(t.Context(), batch, false); err == nil {
				t.Errorf("%+v was accepted", bad)
			}
		}
		if got := readUtilization(t, db, 0); len(got) != 0 {
			t.Errorf("stored are %+v, want nothing", got)
		}
		if got := mustCounters(t, db); got != want {
			t.Errorf("the counters are %+v, want %+v", got, want)
		}
	})
}

func TestUtilization_ReaderStops(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppendReadings(t, db, reading("H200", "", 1), reading("H200", "", 2))
		enough, calls := errors.New("enough"), 0
		err := db.EachUtilization(t.Context(), 0, math.MaxInt64, func(*assay.UtilizationReading) error {
			calls++
			return enough
		})
		if !errors.Is(err, enough) || calls != 1 {
			t.Errorf("after %d calls the error is %v, want the callback's after one", calls, err)
		}
	})
}
