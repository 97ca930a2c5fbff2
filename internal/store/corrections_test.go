package store_test

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

var because = store.Justification{Actor: "desk", Reason: "the invoice says so"}

func correct(t *testing.T, db *store.DB, batch ...assay.Transaction) store.Corrected {
	t.Helper()
	c, err := db.CorrectTransactions(t.Context(), batch, because)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// priced is a rental with another price.
func priced(id string, price assay.Nanos) assay.Transaction {
	x := rental(id)
	x.Price = price
	return x
}

// What was received first stays; what is found by its id is the last correction.
func TestCorrectTransactions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"), rental("b"))
		if c := correct(t, db, priced("b", 3), priced("a", 4)); c != (store.Corrected{Receipt: 2}) {
			t.Errorf("the result is %+v", c)
		}
		moved := priced("a", 5)
		moved.ExecutedAt += 5 * assay.Hour
		correct(t, db, moved)
		all, err := db.AppendWindow(t.Context(), nil, math.MinInt64, math.MaxInt64)
		if err != nil || len(all) != 5 {
			t.Errorf("%d transactions are stored (%v)", len(all), err)
		}
		got := mustAmendments(t, db).Corrections
		for i := range got {
			got[i].RecordedAt = 0
		}
		// The corrections of one receipt are in the order of their hashes.
		slices.SortFunc(got, func(a, b assay.Correction) int {
			return cmp.Or(cmp.Compare(a.Receipt, b.Receipt), cmp.Compare(a.ID, b.ID))
		})
		want := []assay.Correction{
			{ID: "a", Row: 1, Receipt: 2}, {ID: "b", Row: 1, Receipt: 2}, {ID: "a", Row: 2, Receipt: 3},
		}
		for i := range want {
			want[i].Number, want[i].Source, want[i].ExecutedAt = got[i].Number, "exchange", rental("").ExecutedAt
			want[i].Actor, want[i].Reason = because.Actor, because.Reason
		}
		if !slices.Equal(got, want) {
			t.Errorf("the corrections are %+v, want %+v", got, want)
		}
		// The corrected content is known; the first one is different content.
		if a := mustAppend(t, db, moved, priced("b", 3), rental("b")); a.Duplicates != 2 || !slices.Equal(a.Conflicts, []int{2}) {
			t.Errorf("appended again: %+v", a)
		}
	})
}

func mustAmendments(t *testing.T, db *store.DB) assay.Amendments {
	t.Helper()
	a, err := db.Amendments(t.Context(), math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// One row that cannot be corrected refuses all.
func TestCorrectTransactions_AllOrNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"), rental("b"))
		before := mustCounters(t, db)
		unknownGPU := priced("b", 3)
		unknownGPU.GPU = "H1000"
		f := func(want error, bad ...assay.Transaction) {
			t.Helper()
			_, err := db.CorrectTransactions(t.Context(), append([]assay.Transaction{priced("a", 3)}, bad...), because)
			if err == nil || want != nil && !errors.Is(err, want) {
				t.Errorf("%+v: %v, want %v", bad, err, want)
			}
		}
		f(store.ErrNoTransaction, priced("c", 3))
		f(store.ErrNoChange, rental("b"))
		f(nil, priced("b", 3), priced("b", 4))
		f(nil, unknownGPU)
		if got := mustCounters(t, db); got != before {
			t.Errorf("the counters are %+v, want %+v", got, before)
		}
		if a := mustAppend(t, db, rental("a")); a.Duplicates != 1 {
			t.Errorf("the first content is no longer known: %+v", a)
		}
	})
}

func TestCorrectTransactions_Canceled(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"))
		mustPublish(t, db, coverOf(rental("a"), assay.Hourly))
		for n := int64(1); ; n += storetest.BreakStep(t, db, 1) {
			_, err := db.CorrectTransactions(storetest.BreakAt(t, n), []assay.Transaction{priced("a", 3)}, because)
			corrections, list := mustAmendments(t, db).Corrections, listLate(t, db)
			if err == nil {
				if len(corrections) != 1 || len(list) != 1 {
					t.Errorf("%d corrections and %d late ones, want one each", len(corrections), len(list))
				}
				return
			}
			if len(corrections) != 0 || len(list) != 0 || mustCounters(t, db).Receipt != 1 {
				t.Fatalf("after cancellation at use %d (%v) there are %d corrections", n, err, len(corrections))
			}
		}
	})
}

// A correction is late wherever the replaced transaction or the one that replaces it is about determined time.
func TestCorrectTransactions_Late(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"), rental("b"), rental("c"))
		other := rental("x")
		other.GPU = "H200"
		mustPublish(t, db, coverOf(rental("a"), assay.Hourly))
		mustPublish(t, db, coverOf(other, assay.Hourly))
		wantLate(t, db)
		if c := correct(t, db, priced("a", 3)); c.Late != 1 {
			t.Errorf("%d are late", c.Late)
		}
		wantLate(t, db, "a corrected hourly")
		other.ID = "b" // it was of another model
		if c := correct(t, db, other); c.Late != 1 {
			t.Errorf("%d are late", c.Late)
		}
		wantLate(t, db, "a corrected hourly", "b corrected hourly", "b corrected hourly")
		moved := rental("c")
		moved.ExecutedAt += 10 * assay.Hour
		correct(t, db, moved)
		wantLate(t, db, "a corrected hourly", "b corrected hourly", "b corrected hourly", "c corrected hourly")
		models := map[string]int{}
		for _, l := range listLate(t, db) {
			models[l.GPU]++
			if l.ExecutedAt != rental("").ExecutedAt {
				t.Errorf("%s is late at %d", l.ID, l.ExecutedAt)
			}
		}
		if models["H100 SXM"] != 3 || models["H200"] != 1 {
			t.Errorf("late by model: %v", models)
		}
	})
}

// A verification after a correction is of the correction, also if it has the same instant.
func TestAddVerifications_AfterCorrection(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"))
		verify(t, db, rental("a"), false)
		correct(t, db, priced("a", 3))
		wantRefusedVerification(t, db, verification(rental("a"), true), store.ErrNoChange) // the correction counts
		verify(t, db, rental("a"), false)
		verify(t, db, rental("a"), true)
		list, err := db.Received(t.Context(), 1)
		if err != nil || len(list) != 0 {
			t.Errorf("receipt 1 has %+v (%v), but its transaction was replaced", list, err)
		}
		list, err = db.Received(t.Context(), 3)
		if err != nil || len(list) != 1 || !list[0].Verified || list[0].Price != 3 {
			t.Errorf("receipt 3 has %+v (%v)", list, err)
		}
	})
}

// Ids that share a hash are corrected one by one.
func TestCorrectTransactions_WeakHashes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		store.SetIDHash(db, weakHash(-1))
		mustAppend(t, db, rentals(store.MaxProbe+1)...)
		for i, x := range rentals(store.MaxProbe + 1) {
			x.Price = assay.Nanos(i + 1)
			correct(t, db, x)
			if a := mustAppend(t, db, x); a.Duplicates != 1 {
				t.Errorf("the correction of %s is not found", x.ID)
			}
		}
	})
}

// After a correction, a program that does not know corrections must not open the database.
func TestCorrectTransactions_OlderPrograms(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"))
		raw := storetest.Raw(t, db)
		defer raw.Close()
		f := func(want int) {
			t.Helper()
			var got int
			err := raw.QueryRowContext(t.Context(), `SELECT usable_by FROM migrations WHERE number = 15`).Scan(&got)
			if err != nil || got != want {
				t.Errorf("usable by %d (%v), want %d", got, err, want)
			}
		}
		f(6)
		correct(t, db, priced("a", 3))
		f(15)
	})
}
