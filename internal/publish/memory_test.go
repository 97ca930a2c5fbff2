package publish_test

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/index/indextest"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// The days of the test hold the change of New York's clocks on 8 March 2026.
var (
	memoryFrom = time.Date(2026, 3, 5, 21, 0, 0, 0, time.UTC).UnixMilli()
	memoryTo   = time.Date(2026, 3, 10, 20, 0, 0, 0, time.UTC).UnixMilli()
)

// randomRentals draws rentals of several GPUs and regions in no order.
func randomRentals(rng *rand.Rand, n int) []assay.Transaction {
	all := make([]assay.Transaction, n)
	for i := range all {
		all[i] = assay.Transaction{
			Source: []string{"desk", "broker", "Exchange"}[rng.IntN(3)], ID: fmt.Sprint(rng.Uint32(), "-", i),
			ExecutedAt: memoryFrom + rng.Int64N(memoryTo-memoryFrom),
			GPU:        []string{"H100 SXM", "H200", "B200"}[rng.IntN(3)], Region: []string{"", "us-east", "eu-west"}[rng.IntN(3)],
			Price: 100_000 + assay.Nanos(rng.Int64N(10*int64(assay.One))), GPUs: 1 + rng.Int64N(1000), HourMicros: 1 + rng.Int64N(1e9),
			Provider: fmt.Sprint("provider ", rng.IntN(6)), Verified: rng.IntN(8) != 0,
		}
		if rng.IntN(4) == 0 { // on the hour, where windows meet and rentals share an instant
			all[i].ExecutedAt = all[i].ExecutedAt / assay.Hour * assay.Hour
		}
	}
	return all
}

// slot names a slot of a series.
type slot struct {
	assay.Line
	Grain assay.Grain
	At    int64
}

// inMemory computes every slot from the rentals themselves, without windows or database.
func inMemory(all []assay.Transaction, m index.Methodology) map[slot]assay.Determination {
	rows := map[slot][]int32{}
	for i := range all {
		for _, grain := range assay.Grains {
			at := m.NextSlot(grain, all[i].ExecutedAt)
			for _, region := range []string{assay.Global, all[i].Region} {
				if region != "" {
					key := slot{assay.Line{GPU: all[i].GPU, Region: region}, grain, at}
					rows[key] = append(rows[key], int32(i))
				}
			}
		}
	}
	digests := make([]assay.Hash, len(all))
	for i := range all {
		digests[i] = proof.Transaction(&all[i])
	}
	made := map[slot]assay.Determination{}
	var calculator index.Calculator
	calculator.Load(all)
	for key, of := range rows {
		if d, ok := calculator.Compute(of, m); ok {
			d.Line, d.Grain, d.At, d.From = key.Line, key.Grain, key.At, m.WindowStart(key.Grain, key.At)
			slices.SortFunc(of, func(a, b int32) int { return strings.Compare(sortKey(&all[a]), sortKey(&all[b])) })
			d.Inputs = proof.Inputs(all, digests, of)
			made[key] = d
		}
	}
	return made
}

// sortKey is a text that puts rentals into the order of their digest: time, source, id.
func sortKey(t *assay.Transaction) string {
	return fmt.Sprint(assay.FormatInstant(t.ExecutedAt), "\x00", t.Source, "\x00", t.ID)
}

// inStore reads the newest record of every slot that has a value, without what only the store and the chain know.
func inStore(t *testing.T, db *store.DB) map[slot]assay.Determination {
	t.Helper()
	records, err := db.AppendRecords(t.Context(), nil, 0, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	made := map[slot]assay.Determination{}
	for _, r := range records {
		key := slot{r.Line, r.Grain, r.At}
		if !r.HasValue {
			delete(made, key)
			continue
		}
		d := r.Determination
		d.Revision, d.Receipt, d.PublishedAt, d.Previous, d.Hash = 0, 0, 0, assay.Hash{}, assay.Hash{}
		made[key] = d
	}
	return made
}

// newWorld makes a database with a publisher whose clock stands at the end of the test's days.
func newWorld(t *testing.T, rules []string) (*store.DB, *publish.Publisher, index.Methodology) {
	t.Helper()
	text, err := indextest.Methodology("test", rules)
	if err != nil {
		t.Fatal(err)
	}
	m, err := index.ParseMethodology(text)
	if err != nil {
		t.Fatal(err)
	}
	db := storetest.Open(t)
	clock := func() time.Time { return time.UnixMilli(memoryTo) }
	db.Now = clock
	if err := db.AdoptMethodology(t.Context(), assay.MethodologyFile{Version: m.Version, Effective: m.Effective, Text: text}); err != nil {
		t.Fatal(err)
	}
	return db, &publish.Publisher{Store: db, Now: clock, Log: slog.New(slog.DiscardHandler)}, m
}

// load appends the rentals in batches of random size.
func load(t *testing.T, rng *rand.Rand, db *store.DB, all []assay.Transaction) {
	t.Helper()
	for len(all) > 0 {
		n := 1 + rng.IntN(len(all))
		appended, err := db.AppendTransactions(t.Context(), all[:n])
		if err != nil || appended.Inserted != n {
			t.Fatalf("%d of %d rows went in: %v", appended.Inserted, n, err)
		}
		all = all[n:]
	}
}

// TestPublished_EqualsMemory: the database, the windows and the order in which rows came in leave no trace in the
// digits.
func TestPublished_EqualsMemory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine and a lot of work: make unit runs it, without the race detector")
	}
	rules := [][]string{
		{"minimum 1 transactions 1 providers"},
		{"minimum 3 transactions 2 providers"},
		{"winsorize 5 95"},
		{"minimum 3 transactions 3 providers", "cap 40"},
		{"minimum 4 transactions 4 providers", "winsorize 10 80", "cap 30"},
	}
	for seed := range uint64(15) {
		rng := rand.New(rand.NewPCG(21, seed))
		db, p, m := newWorld(t, rules[seed%uint64(len(rules))])
		all := randomRentals(rng, 400+rng.IntN(800))
		load(t, rng, db, slices.Clone(all))
		if _, err := p.Backfill(t.Context(), memoryFrom, memoryTo, nil); err != nil {
			t.Fatal(err)
		}
		want := inMemory(all, m)
		if diff := cmp.Diff(want, inStore(t, db)); diff != "" || len(want) < 20 {
			t.Fatalf("seed %d, %d slots: published is other than computed in memory:\n%s", seed, len(want), diff)
		}
		checkChains(t, db)
	}
}

// TestRestated_EqualsMemory: what came late, or was verified or withdrawn later, ends after a restatement in the same
// digits as if it had been known from the start.
func TestRestated_EqualsMemory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine and a lot of work: make unit runs it, without the race detector")
	}
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(22, seed))
		db, p, m := newWorld(t, []string{"minimum 1 transactions 1 providers", "winsorize 5 95"})
		all := randomRentals(rng, 600)
		half := len(all) / 2
		load(t, rng, db, slices.Clone(all[:half]))
		if _, err := p.Backfill(t.Context(), memoryFrom, memoryTo, nil); err != nil {
			t.Fatal(err)
		}
		load(t, rng, db, slices.Clone(all[half:]))
		for range 40 {
			turn(t, db, &all[rng.IntN(len(all))])
		}
		for _, gpu := range []string{"H100 SXM", "H200", "B200"} {
			if _, err := p.Restate(t.Context(), publish.Restatement{GPU: gpu, From: memoryFrom, To: memoryTo, Reason: "test", Actor: "test"}); err != nil {
				t.Fatal(err)
			}
		}
		got, want := inStore(t, db), inMemory(all, m)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: restated is other than computed in memory:\n%s", seed, diff)
		}
		checkChains(t, db)
	}
}

// turn verifies a rental that does not count, and withdraws one that does, in the store and in memory.
func turn(t *testing.T, db *store.DB, tr *assay.Transaction) {
	t.Helper()
	tr.Verified, tr.Withdrawn = !tr.Verified, tr.Verified
	if _, err := db.AddVerification(t.Context(), assay.Verification{Source: tr.Source, ID: tr.ID, Verified: tr.Verified, Actor: "test", Reason: "test"}); err != nil {
		t.Fatal(err)
	}
}
