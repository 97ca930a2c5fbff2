package store_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// rental returns a verified transaction; tests change the fields they need.
func rental(id string) assay.Transaction {
	return assay.Transaction{
		Source: "exchange", ID: id, ExecutedAt: 1_767_225_600_000, GPU: "H100 SXM", Region: "us-east",
		Price: 2_350_000_000, GPUs: 8, HourMicros: 24_000_000, Provider: "Acme", Verified: true,
	}
}

func rentals(n int) []assay.Transaction {
	batch := make([]assay.Transaction, n)
	for i := range batch {
		batch[i] = rental(fmt.Sprintf("%05d", i))
	}
	return batch
}

func mustAppend(t *testing.T, db *store.DB, batch ...assay.Transaction) store.Appended {
	t.Helper()
	appended, err := db.AppendTransactions(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	if (appended.Receipt > 0) != (appended.Inserted > 0) {
		t.Errorf("%d new rows have the receipt %d", appended.Inserted, appended.Receipt)
	}
	return appended
}

// sameAppended compares results, of which want has no receipt.
func sameAppended(got, want store.Appended) bool {
	want.Receipt = got.Receipt
	return reflect.DeepEqual(got, want)
}

func wantAppended(t *testing.T, got, want store.Appended) {
	t.Helper()
	if !sameAppended(got, want) {
		t.Errorf("appended %+v, want %+v", got, want)
	}
}

func wantCount(t *testing.T, db *store.DB, want int) {
	t.Helper()
	if got, err := db.CountTransactions(t.Context()); err != nil || got != want {
		t.Errorf("%d transactions are stored (%v), want %d", got, err, want)
	}
}

// window reads the transactions in [from, to), in an order that does not depend on the order of arrival.
func window(t *testing.T, db *store.DB, from, to int64) []assay.Transaction {
	t.Helper()
	all, err := db.AppendWindow(t.Context(), nil, from, to)
	if err != nil {
		t.Fatal(err)
	}
	return inOrder(all)
}

func inOrder(all []assay.Transaction) []assay.Transaction {
	return slices.SortedFunc(slices.Values(all), func(a, b assay.Transaction) int {
		return cmp.Or(cmp.Compare(a.ExecutedAt, b.ExecutedAt), cmp.Compare(a.Source, b.Source), cmp.Compare(a.ID, b.ID))
	})
}

// withoutReceipts returns the transactions without their receipts.
func withoutReceipts(all []assay.Transaction) []assay.Transaction {
	all = slices.Clone(all)
	for i := range all {
		all[i].Receipt = 0
	}
	return all
}

func wantStored(t *testing.T, db *store.DB, want ...assay.Transaction) {
	t.Helper()
	got := withoutReceipts(window(t, db, math.MinInt64, math.MaxInt64))
	if want = inOrder(want); !slices.Equal(got, want) {
		t.Errorf("stored are\n%+v, want\n%+v", got, want)
	}
}

func TestAppend_RepeatChangesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		batch := rentals(200) // several statements, the last one not full
		wantAppended(t, mustAppend(t, db, batch...), store.Appended{Inserted: 200})
		wantAppended(t, mustAppend(t, db, batch...), store.Appended{Duplicates: 200})
		wantAppended(t, mustAppend(t, db), store.Appended{})
		wantStored(t, db, batch...)
	})
}

func TestAppend_RepeatsInsideABatch(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		other := rental("a")
		other.Price++
		got := mustAppend(t, db, rental("a"), rental("b"), rental("a"), other)
		wantAppended(t, got, store.Appended{Inserted: 2, Duplicates: 1, Conflicts: []int{3}})
		wantStored(t, db, rental("a"), rental("b"))
	})
}

func TestAppend_ConflictOfEachField(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		batch := rentals(130)
		mustAppend(t, db, batch...)
		f := func(change func(*assay.Transaction)) {
			t.Helper()
			changed := slices.Clone(batch)
			change(&changed[100])
			got := mustAppend(t, db, changed...)
			wantAppended(t, got, store.Appended{Duplicates: 129, Conflicts: []int{100}})
			wantStored(t, db, batch...)
		}
		f(func(x *assay.Transaction) { x.ExecutedAt++ })
		f(func(x *assay.Transaction) { x.ExecutedAt -= assay.Day })
		f(func(x *assay.Transaction) { x.GPU = "H200" })
		f(func(x *assay.Transaction) { x.Region = "us-west" })
		f(func(x *assay.Transaction) { x.Region = "" })
		f(func(x *assay.Transaction) { x.Price++ })
		f(func(x *assay.Transaction) { x.GPUs++ })
		f(func(x *assay.Transaction) { x.HourMicros++ })
		f(func(x *assay.Transaction) { x.Provider = "acme" })
		f(func(x *assay.Transaction) { x.Verified = false })
		wantCount(t, db, 130)
	})
}

// The positions of conflicts are in the order of the batch, with and without new rows.
func TestAppend_ConflictsInOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		batch := rentals(100)
		mustAppend(t, db, batch...)
		var want []int
		for i := range batch {
			batch[i].Price++
			want = append(want, i)
		}
		wantAppended(t, mustAppend(t, db, batch...), store.Appended{Conflicts: want})
		wantAppended(t, mustAppend(t, db, append(batch, rental("new"))...), store.Appended{Inserted: 1, Conflicts: want})
	})
}

func TestAppend_LetterCaseAndRegionMatter(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		upper, lower, source, nowhere := rental("A"), rental("a"), rental("a"), rental("b")
		lower.Provider = "acme"
		source.Source = "Exchange"
		nowhere.Region = ""
		wantAppended(t, mustAppend(t, db, upper, lower, source, nowhere), store.Appended{Inserted: 4})
		wantStored(t, db, upper, lower, nowhere, source)
	})
}

func TestAppend_UnknownNameStoresNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := func(change func(*assay.Transaction), want string) {
			t.Helper()
			batch := rentals(100)
			change(&batch[90])
			_, err := db.AppendTransactions(t.Context(), batch)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got the error %v, want one with %s", err, want)
			}
			wantCount(t, db, 0)
		}
		f(func(x *assay.Transaction) { x.GPU = "h100 sxm" }, `GPU "h100 sxm" is not in the catalog`)
		f(func(x *assay.Transaction) { x.Region = "US-EAST" }, `region "US-EAST" is not in the catalog`)
	})
}

func TestAppend_ExtremesRoundTrip(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		least, most := rental("least"), rental("O'Brien \"quoted\"\n\tΩ 東京 🙂")
		least.ExecutedAt, most.ExecutedAt = assay.Earliest, assay.Latest-1
		least.Price, least.GPUs, least.HourMicros = math.MinInt64, math.MinInt64, math.MinInt64
		most.Price, most.GPUs, most.HourMicros = math.MaxInt64, math.MaxInt64, math.MaxInt64
		most.Provider, most.Source = strings.Repeat("é", 64), " "
		least.Verified = false
		mustAppend(t, db, most, least)
		wantStored(t, db, least, most)
		if first, ok, err := db.FirstTransaction(t.Context()); err != nil || !ok || first != least.ExecutedAt {
			t.Errorf("the first was at %d (%t, %v), want %d", first, ok, err, least.ExecutedAt)
		}
	})
}

// A batch leaves nothing behind, wherever it is canceled.
func TestAppend_AllOrNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		batch, tried := rentals(300), 0
		for n := int64(1); ; n += 3 {
			_, err := db.AppendTransactions(storetest.BreakAt(t, n), batch)
			if err == nil {
				break
			}
			tried++
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("after cancellation at use %d the error is %v", n, err)
			}
			wantCount(t, db, 0)
			wantNoNames(t, db)
			if got := mustCounters(t, db).Receipt; got != 0 {
				t.Fatalf("after cancellation at use %d the receipt is %d", n, got)
			}
		}
		wantCount(t, db, 300)
		if tried < 5 {
			t.Errorf("the batch was canceled in %d places, want several", tried)
		}
	})
}

// wantNoNames checks that no name of a rolled-back batch remains: its id would not be free.
func wantNoNames(t *testing.T, db *store.DB) {
	t.Helper()
	storetest.Exec(t, db, `INSERT INTO sources (source_id, source) VALUES (1, 'exchange')`)
	storetest.Exec(t, db, `DELETE FROM sources`)
}

func TestAppend_TwoWriters(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		all := rentals(1500)
		var wg sync.WaitGroup
		var totals [2]store.Appended
		for i, handle := range []*store.DB{db, storetest.Another(t, db)} {
			wg.Go(func() {
				for batch := range slices.Chunk(all[i*500:i*500+1000], 50) { // the middle third is appended twice
					appended, err := handle.AppendTransactions(t.Context(), batch)
					if err != nil {
						t.Error(err)
						return
					}
					totals[i].Inserted += appended.Inserted
					totals[i].Duplicates += appended.Duplicates
				}
			})
		}
		wg.Wait()
		inserted, duplicates := totals[0].Inserted+totals[1].Inserted, totals[0].Duplicates+totals[1].Duplicates
		if inserted != 1500 || duplicates != 500 {
			t.Errorf("two writers inserted %d and found %d, want 1500 and 500", inserted, duplicates)
		}
		wantCount(t, db, 1500)
	})
}

func TestAppendWindow_HalfOpenAndAsReceived(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		batch := rentals(6)
		for i, at := range []int64{200, 199, 100, 99, 150, 150} {
			batch[i].ExecutedAt = at
		}
		batch[5].Verified = false
		mustAppend(t, db, batch...)
		// A later verification does not change what was received.
		verify(t, db, batch[5], true)
		verify(t, db, batch[1], false)
		got := withoutReceipts(window(t, db, 100, 200))
		if want := []assay.Transaction{batch[2], batch[4], batch[5], batch[1]}; !slices.Equal(got, want) {
			t.Errorf("[100, 200) has\n%+v, want\n%+v", got, want)
		}
		if got := window(t, db, 100, 100); len(got) != 0 {
			t.Errorf("an empty window has %+v", got)
		}
	})
}

// Existing elements stay: a caller reads several windows into one list.
func TestAppendWindow_Appends(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"))
		prefix := rental("prefix")
		got, err := db.AppendWindow(t.Context(), []assay.Transaction{prefix}, math.MinInt64, math.MaxInt64)
		if err != nil || len(got) != 2 || got[0] != prefix || got[1].ID != "a" {
			t.Errorf("got %+v (%v), want the prefix and a", got, err)
		}
	})
}

// Hours are read in order, whatever the order of arrival.
func TestAppendWindow_HourByHour(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		batch := rentals(200)
		for i := range batch {
			batch[i].ExecutedAt += int64(i*7919%200) * assay.Minute
		}
		for part := range slices.Chunk(batch, 30) {
			mustAppend(t, db, part...)
		}
		got, err := db.AppendWindow(t.Context(), nil, math.MinInt64, math.MaxInt64)
		if err != nil || len(got) != 200 {
			t.Fatalf("%d transactions (%v), want 200", len(got), err)
		}
		byHour := func(a, b assay.Transaction) int {
			return cmp.Compare(a.ExecutedAt/assay.Hour, b.ExecutedAt/assay.Hour)
		}
		if !slices.IsSortedFunc(got, byHour) {
			t.Error("the hours are not in order")
		}
	})
}

// Every batch with new rows gets the next receipt, and its rows contain it.
func TestAppend_Receipts(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := func(id string, want int64) {
			t.Helper()
			mustAppend(t, db, rental(id))
			if got := mustCounters(t, db).Receipt; got != want {
				t.Errorf("after %s the receipt is %d, want %d", id, got, want)
			}
		}
		f("a", 1)
		f("b", 2)
		f("a", 2) // nothing new
		f("c", 3)
		mustAppend(t, db, rental("b"), rental("d"))
		var got []int64
		for _, x := range window(t, db, math.MinInt64, math.MaxInt64) {
			got = append(got, x.Receipt)
		}
		if want := []int64{1, 2, 3, 4}; !slices.Equal(got, want) {
			t.Errorf("a, b, c and d have the receipts %v, want %v", got, want)
		}
	})
}

func TestFirstTransaction(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		if first, ok, err := db.FirstTransaction(t.Context()); ok || err != nil {
			t.Errorf("without transactions the first was at %d (%t, %v)", first, ok, err)
		}
		early, later := rental("early"), rental("later") // in one hour, and the later one arrives first
		later.ExecutedAt = early.ExecutedAt + 1
		mustAppend(t, db, later)
		mustAppend(t, db, early)
		if first, ok, err := db.FirstTransaction(t.Context()); first != early.ExecutedAt || !ok || err != nil {
			t.Errorf("the first was at %d (%t, %v), want %d", first, ok, err, early.ExecutedAt)
		}
	})
}

// What was received reaches to the end of the newest hour that has a transaction, but not past the moment at which the
// last batch was received. What is not a transaction does not count.
func TestReach(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		var clock int64
		db.Now = func() time.Time { return time.UnixMilli(clock) }
		want := func(at int64) {
			t.Helper()
			if got, err := db.Reach(t.Context()); got != at || err != nil {
				t.Errorf("at %s the transactions reach to %s (%v), want %s", assay.FormatInstant(clock),
					assay.FormatInstant(got), err, assay.FormatInstant(at))
			}
		}
		want(0)
		first := rental("a")
		hour := first.ExecutedAt/assay.Hour*assay.Hour + assay.Hour
		clock = hour - assay.Minute
		mustAppend(t, db, first)
		want(clock) // the hour has not ended
		clock = hour + assay.Day
		second := rental("b")
		mustAppend(t, db, second)
		want(hour) // the rows of a clock that is wrong, or of history
		if _, err := db.AddVerifications(t.Context(), assay.Verification{Source: first.Source, ID: first.ID}); err != nil {
			t.Fatal(err)
		}
		want(hour)
	})
}
