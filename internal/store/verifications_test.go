package store_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// verification returns an event that verifies a transaction or withdraws it.
func verification(x assay.Transaction, verified bool) assay.Verification {
	return assay.Verification{Source: x.Source, ID: x.ID, Verified: verified, Actor: "desk", Reason: "checked"}
}

func verify(t *testing.T, db *store.DB, x assay.Transaction, verified bool) (late bool) {
	t.Helper()
	all, err := db.AddVerifications(t.Context(), verification(x, verified))
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

func wantRefusedVerification(t *testing.T, db *store.DB, v assay.Verification, want error) {
	t.Helper()
	before := mustCounters(t, db)
	if _, err := db.AddVerifications(t.Context(), v); !errors.Is(err, want) {
		t.Errorf("a verification of %s of %s returns the error %v, want %v", v.ID, v.Source, err, want)
	}
	if got := mustCounters(t, db); got != before {
		t.Errorf("a refused verification set the counters to %+v, want %+v", got, before)
	}
}

func TestAddVerifications_Unknown(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := func(source, id string) {
			t.Helper()
			wantRefusedVerification(t, db, assay.Verification{Source: source, ID: id}, store.ErrNoTransaction)
		}
		f("exchange", "a") // an empty database
		mustAppend(t, db, rental("a"))
		f("exchange", "A")
		f("Exchange", "a")
		f("exchange", "")
		f("", "a")
		f("exchangea", "")
	})
}

func TestAddVerifications_NoChange(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		yes, no := rental("yes"), rental("no")
		no.Verified = false
		mustAppend(t, db, yes, no)
		wantRefusedVerification(t, db, verification(yes, true), store.ErrNoChange)
		wantRefusedVerification(t, db, verification(no, false), store.ErrNoChange)
		for range 3 { // a transaction can be withdrawn and verified repeatedly, but not twice in a row
			verify(t, db, yes, false)
			wantRefusedVerification(t, db, verification(yes, false), store.ErrNoChange)
			verify(t, db, yes, true)
			wantRefusedVerification(t, db, verification(yes, true), store.ErrNoChange)
		}
	})
}

func TestVerifications_InTheirOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		var clock int64
		db.Now = func() time.Time { return time.UnixMilli(clock) }
		early, late := rental("z"), rental("a")
		early.ExecutedAt = 1000
		late.ExecutedAt = 2000
		mustAppend(t, db, late, early)
		var all []assay.Verification
		for i, x := range []assay.Transaction{late, early, late} {
			clock = int64(100 - i) // a clock set back does not change the order
			v := verification(x, i == 2)
			if _, err := db.AddVerifications(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			v.Event, v.ExecutedAt, v.Receipt, v.RecordedAt = int64(i+1), x.ExecutedAt, int64(i+2), clock
			all = append(all, v)
		}
		f := func(from, to int64, want ...assay.Verification) {
			t.Helper()
			got, err := listVerifications(t, db, from, to)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("[%d, %d): got %+v (%v), want %+v", from, to, got, err, want)
			}
		}
		f(math.MinInt64, math.MaxInt64, all...)
		f(1000, 2000, all[1])
		f(1001, 2001, all[0], all[2])
		f(1001, 2000)
	})
}

func TestAddVerifications_Canceled(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"))
		mustPublish(t, db, coverOf(rental("a"), assay.Hourly))
		for n := int64(1); ; n += storetest.BreakStep(t, db, 1) {
			late, err := db.AddVerifications(storetest.BreakAt(t, n), verification(rental("a"), false))
			events, listErr := listVerifications(t, db, math.MinInt64, math.MaxInt64)
			if listErr != nil {
				t.Fatal(listErr)
			}
			list := listLate(t, db)
			if err == nil {
				if !late[0] || len(events) != 1 || len(list) != 1 {
					t.Errorf("late %v, with %d events and %d late ones, want one each", late, len(events), len(list))
				}
				return
			}
			if len(events) != 0 || len(list) != 0 || mustCounters(t, db).Receipt != 1 {
				t.Fatalf("after cancellation at use %d (%v) there are %d events and %d late ones", n, err, len(events), len(list))
			}
		}
	})
}

// Several events are recorded together, or not at all.
func TestAddVerifications_AllOrNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a, b := rental("a"), rental("b")
		mustAppend(t, db, a, b)
		mustPublish(t, db, coverOf(a, assay.Hourly))
		before := mustCounters(t, db)
		for _, bad := range []assay.Verification{verification(rental("c"), false), verification(a, false)} {
			if _, err := db.AddVerifications(t.Context(), verification(a, false), verification(b, false), bad); err == nil {
				t.Errorf("%+v is accepted", bad)
			}
		}
		if events, err := listVerifications(t, db, math.MinInt64, math.MaxInt64); len(events) > 0 || err != nil {
			t.Errorf("recorded are %+v (%v)", events, err)
		}
		if got := mustCounters(t, db); got != before {
			t.Errorf("the counters are %+v, want %+v", got, before)
		}
		late, err := db.AddVerifications(t.Context(), verification(a, false), verification(b, false))
		if err != nil || !slices.Equal(late, []bool{true, true}) {
			t.Errorf("late are %v (%v)", late, err)
		}
		events, err := listVerifications(t, db, math.MinInt64, math.MaxInt64)
		if err != nil || len(events) != 2 || events[0].Receipt+1 != events[1].Receipt {
			t.Errorf("recorded are %+v (%v)", events, err)
		}
	})
}

func TestReceived(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"), rental("b"))
		mustAppend(t, db, rental("c"))
		verify(t, db, rental("b"), false)
		f := func(receipt int64, want ...string) {
			t.Helper()
			list, err := db.Received(t.Context(), receipt)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, x := range list {
				got = append(got, fmt.Sprintf("%s %t", x.ID, x.Verified))
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("receipt %d has %v, want %v", receipt, got, want)
			}
		}
		f(1, "a true", "b false")
		f(2, "c true")
		f(3) // the withdrawal
		f(4)
	})
}

// listVerifications lists the verifications of transactions executed in [from, to).
func listVerifications(t *testing.T, db *store.DB, from, to int64) ([]assay.Verification, error) {
	t.Helper()
	a, err := db.Amendments(t.Context(), from, to)
	return a.Verifications, err
}
