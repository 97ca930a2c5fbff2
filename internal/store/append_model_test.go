package store_test

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/tools/testenv"
)

// model is a simple implementation of AppendTransactions.
type model struct {
	stored  map[[2]string]assay.Transaction // by source and id
	aside   map[assay.Transaction]bool
	receipt int64
}

func newModel() *model {
	return &model{stored: map[[2]string]assay.Transaction{}, aside: map[assay.Transaction]bool{}}
}

func (m *model) append(batch []assay.Transaction) (a store.Appended) {
	for i, x := range batch {
		key := [2]string{x.Source, x.ID}
		stored, known := m.stored[key]
		stored.Receipt = 0
		switch {
		case !known:
			a.Inserted++
			x.Receipt = m.receipt + 1
			m.stored[key] = x
		case stored == x:
			a.Duplicates++
		default:
			a.Conflicts = append(a.Conflicts, i)
			m.aside[x] = true
		}
	}
	if a.Inserted > 0 {
		m.receipt++
	}
	return a
}

// state is everything that appending can change, in an order that does not depend on the order of arrival.
type state struct {
	stored, aside []assay.Transaction
}

func (m *model) state() (s state) {
	for _, x := range m.stored {
		s.stored = append(s.stored, x)
	}
	for x := range m.aside {
		s.aside = append(s.aside, x)
	}
	return state{inOrder(s.stored), inFullOrder(s.aside)}
}

func readState(t *testing.T, db *store.DB) (s state) {
	t.Helper()
	err := db.EachConflict(t.Context(), func(x *assay.Transaction, _ int64) error {
		s.aside = append(s.aside, *x)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return state{window(t, db, math.MinInt64, math.MaxInt64), inFullOrder(s.aside)}
}

func inFullOrder(all []assay.Transaction) []assay.Transaction {
	byText := func(a, b assay.Transaction) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
	return slices.SortedFunc(slices.Values(all), byText)
}

func wantState(t *testing.T, db *store.DB, want state) {
	t.Helper()
	got := readState(t, db)
	if !slices.Equal(got.stored, want.stored) {
		t.Errorf("stored are\n%+v, want\n%+v", got.stored, want.stored)
	}
	if !slices.Equal(got.aside, want.aside) {
		t.Errorf("set aside are\n%+v, want\n%+v", got.aside, want.aside)
	}
}

// pick returns a random transaction. There are so few ids and contents that both repeat often, inside a batch and
// between batches.
func pick(r *rand.Rand) assay.Transaction {
	x := rental(fmt.Sprint(r.IntN(20)))
	x.Source = []string{"a", "b", "ab"}[r.IntN(3)]
	x.ExecutedAt += int64(x.ID[0]) * assay.Minute
	if r.IntN(6) == 0 {
		x.ExecutedAt += int64(r.IntN(2))
		x.Price += assay.Nanos(r.IntN(2))
		x.Provider = []string{"Acme", "Bolt"}[r.IntN(2)]
		x.Verified = r.IntN(2) == 0
	}
	return x
}

func pickMany(r *rand.Rand, n int) (batch []assay.Transaction) {
	for range n {
		batch = append(batch, pick(r))
	}
	return batch
}

// hashes are the real hash function and some that are so weak that ids collide.
var hashes = []struct {
	name string
	mask int64 // of a good hash; 0 for the real one
}{{"real", 0}, {"7", 7}, {"63", 63}}

// eachHash runs a test with every hash function on every engine. The function open creates a database.
func eachHash(t *testing.T, f func(t *testing.T, open func() *store.DB)) {
	t.Helper()
	for _, h := range hashes {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			storetest.EachEngine(t, func(t *testing.T, address func(testing.TB) string) {
				f(t, func() *store.DB {
					db := storetest.OpenIn(t, address(t))
					if h.mask != 0 {
						store.SetIDHash(db, weakHash(h.mask))
					}
					return db
				})
			})
		})
	}
}

// weakHash returns a hash function with few values; with the mask -1 it has one.
func weakHash(mask int64) func(source, id string) int64 {
	return func(source, id string) int64 {
		if mask < 0 {
			return 5
		}
		h := fnv.New64a()
		fmt.Fprintf(h, "%s/%s", source, id)
		return int64(h.Sum64()) & mask
	}
}

func TestAppend_EqualsTheModel(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	eachHash(t, func(t *testing.T, open func() *store.DB) {
		for seed := range uint64(2) {
			r, db, m := rand.New(rand.NewPCG(seed, 0)), open(), newModel()
			for range 10 {
				batch := pickMany(r, r.IntN(80))
				want := m.append(batch)
				if got := mustAppend(t, db, batch...); !sameAppended(got, want) {
					t.Fatalf("seed %d: appended %+v, want %+v", seed, got, want)
				}
				wantState(t, db, m.state())
			}
			if t.Failed() || len(m.aside) == 0 {
				t.Fatalf("seed %d failed or had no conflicts: there are %d", seed, len(m.aside))
			}
		}
	})
}

// The same rows in the same order result in the same tables and totals, however they are split into batches.
func TestAppend_SplitDoesNotMatter(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	eachHash(t, func(t *testing.T, open func() *store.DB) {
		for seed := range uint64(2) {
			r := rand.New(rand.NewPCG(seed, 1))
			rows := pickMany(r, 200)
			m := newModel()
			all := m.append(rows)
			want := m.state()
			db, inserted, duplicates, conflicts, start := open(), 0, 0, []int(nil), 0
			for start < len(rows) {
				end := min(len(rows), start+1+r.IntN(100))
				a := mustAppend(t, db, rows[start:end]...)
				inserted, duplicates = inserted+a.Inserted, duplicates+a.Duplicates
				for _, i := range a.Conflicts {
					conflicts = append(conflicts, start+i)
				}
				start = end
			}
			got := readState(t, db)
			sameStored := slices.Equal(withoutReceipts(got.stored), withoutReceipts(want.stored))
			if !sameStored || !slices.Equal(got.aside, want.aside) {
				t.Errorf("seed %d: split rows result in\n%+v, want\n%+v", seed, got, want)
			}
			if inserted != all.Inserted || duplicates != all.Duplicates || !slices.Equal(conflicts, all.Conflicts) {
				t.Errorf("seed %d: %d inserted, %d duplicates, conflicts %v; want %+v",
					seed, inserted, duplicates, conflicts, all)
			}
		}
	})
}

// Rows that do not contradict each other may arrive in any order.
func TestAppend_OrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	eachHash(t, func(t *testing.T, open func() *store.DB) {
		r := rand.New(rand.NewPCG(7, 7))
		m := newModel()
		m.append(pickMany(r, 100))
		rows := withoutReceipts(m.state().stored)
		want := slices.Clone(rows)
		rows = append(rows, rows[:len(rows)/2]...) // some of them twice
		for range 3 {
			r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			db, inserted := open(), 0
			for part := range slices.Chunk(rows, 1+r.IntN(70)) {
				a := mustAppend(t, db, part...)
				inserted += a.Inserted
				if len(a.Conflicts) > 0 {
					t.Errorf("rows without contradictions have the conflicts %v", a.Conflicts)
				}
			}
			if inserted != len(want) {
				t.Errorf("%d rows were inserted, want %d", inserted, len(want))
			}
			wantStored(t, db, want...)
		}
	})
}

// A conflict is set aside once for each content, however often it arrives.
func TestAppend_ConflictsSetAsideOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		one, two := rental("a"), rental("a")
		one.Price++
		two.Region, two.Provider = "", "Bolt"
		mustAppend(t, db, rental("a"))
		for range 3 {
			got := mustAppend(t, db, one, rental("a"), two, one)
			wantAppended(t, got, store.Appended{Duplicates: 1, Conflicts: []int{0, 2, 3}})
		}
		want := state{stored: []assay.Transaction{rental("a")}, aside: inFullOrder([]assay.Transaction{one, two})}
		want.stored[0].Receipt = 1
		wantState(t, db, want)
	})
}

// A verification finds its transaction, however far its number is from its hash.
func TestAddVerification_WeakHashes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		store.SetIDHash(db, weakHash(-1))
		batch := rentals(store.MaxProbe + 1) // all have one hash
		for i := range batch {
			batch[i].ExecutedAt += int64(i % 3)
		}
		mustAppend(t, db, batch...)
		for i, x := range batch {
			verify(t, db, x, false)
			wantRefusedVerification(t, db, verification(x, false), store.ErrNoChange)
			events, err := listVerifications(t, db, math.MinInt64, math.MaxInt64)
			if err != nil || len(events) != i+1 || events[i].ID != x.ID || events[i].ExecutedAt != x.ExecutedAt {
				t.Fatalf("after the verification of %s the events are %+v (%v)", x.ID, events, err)
			}
		}
		wantRefusedVerification(t, db, verification(rental("none"), false), store.ErrNoTransaction)
	})
}

// A batch with new and known rows and conflicts changes nothing, wherever it is canceled.
func TestAppend_AllOrNothingWithKnownRows(t *testing.T) {
	t.Parallel()
	eachHash(t, func(t *testing.T, open func() *store.DB) {
		r, db, m := rand.New(rand.NewPCG(3, 3)), open(), newModel()
		first, second := pickMany(r, 20), pickMany(r, 40)
		m.append(first)
		mustAppend(t, db, first...)
		mustPublish(t, db, coverOf(first[0], assay.Hourly))
		before, tried := readState(t, db), 0
		for n := int64(1); ; n += 1 + n/8 { // at every use first, then at fewer
			a, err := db.AppendTransactions(storetest.BreakAt(t, n), second)
			if err == nil {
				want := m.append(second)
				if a.Inserted != want.Inserted || !slices.Equal(a.Conflicts, want.Conflicts) || a.Late == 0 {
					t.Errorf("appended %+v, want %+v and some of them late", a, want)
				}
				break
			}
			tried++
			wantState(t, db, before)
			if late := listLate(t, db); len(late) != 0 || t.Failed() {
				t.Fatalf("after cancellation at use %d, %d transactions are late", n, len(late))
			}
		}
		wantState(t, db, m.state())
		if tried < 10 {
			t.Errorf("the batch was canceled in %d places, want many", tried)
		}
	})
}
