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
	"github.com/assaydata/assay/tools/testenv"
)

// New York changes its clocks within these days, on 8 March 2026.
var (
	memoryFrom = time.Date(2026, 3, 5, 21, 0, 0, 0, time.UTC).UnixMilli()
	memoryTo   = time.Date(2026, 3, 10, 20, 0, 0, 0, time.UTC).UnixMilli()
)

// randomRentals draws rentals of several GPUs and regions, in random order.
func randomRentals(rng *rand.Rand, n int) []assay.Transaction {
	all := make([]assay.Transaction, n)
	for i := range all {
		all[i] = assay.Transaction{
			Source: []string{"desk", "broker", "Exchange"}[rng.IntN(3)], ID: fmt.Sprint(rng.Uint32(), "-", i),
			ExecutedAt: memoryFrom + rng.Int64N(memoryTo-memoryFrom),
			GPU:        []string{"H100 SXM", "H200", "B200"}[rng.IntN(3)],
			Region:     []string{"", "us-east", "eu-west"}[rng.IntN(3)],
			Price:      100_000 + assay.Nanos(rng.Int64N(10*int64(assay.One))),
			GPUs:       1 + rng.Int64N(1000), HourMicros: 1 + rng.Int64N(1e9),
			Provider: fmt.Sprint("provider ", rng.IntN(6)), Verified: rng.IntN(8) != 0,
		}
		if rng.IntN(4) == 0 { // on the hour, where windows meet and several rentals have the same instant
			all[i].ExecutedAt = all[i].ExecutedAt / assay.Hour * assay.Hour
		}
	}
	return all
}

func slotOf(line assay.Line, grain assay.Grain, at int64) publish.Slot {
	return publish.Slot{SeriesKey: store.SeriesKey{Line: line, Grain: grain}, At: at}
}

// inMemory computes every slot directly from the rentals, without windows or database.
func inMemory(all []assay.Transaction, m index.Methodology) map[publish.Slot]assay.Determination {
	rows := map[publish.Slot][]int32{}
	for i := range all {
		for _, grain := range assay.Grains {
			at := m.NextSlot(grain, all[i].ExecutedAt)
			for _, region := range []string{assay.Global, all[i].Region} {
				if region != "" {
					key := slotOf(assay.Line{GPU: all[i].GPU, Region: region}, grain, at)
					rows[key] = append(rows[key], int32(i))
				}
			}
		}
	}
	digests := make([]assay.Hash, len(all))
	for i := range all {
		digests[i] = proof.Transaction(&all[i])
	}
	made := map[publish.Slot]assay.Determination{}
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

// sortKey sorts rentals into the order of their digest: time, source, id.
func sortKey(t *assay.Transaction) string {
	return fmt.Sprint(assay.FormatInstant(t.ExecutedAt), "\x00", t.Source, "\x00", t.ID)
}

// inStore reads the newest record of every slot with a value, without the fields of publication and chain.
func inStore(t *testing.T, db *store.DB) map[publish.Slot]assay.Determination {
	t.Helper()
	records, err := db.AppendRecords(t.Context(), nil, 0, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	made := map[publish.Slot]assay.Determination{}
	for _, r := range records {
		key := publish.SlotOf(&r.Determination)
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

// newWorld makes a database and a publisher whose clock stands at the end of the days.
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
	file := assay.MethodologyFile{Version: m.Version, Effective: m.Effective, Text: text}
	if err := db.AdoptMethodology(t.Context(), file, 0); err != nil {
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

// TestPublished_EqualsMemory checks that the database, the windows and the order of arrival do not affect the digits.
func TestPublished_EqualsMemory(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	rules := [][]string{
		{"minimum 1 transactions 1 providers"},
		{"minimum 3 transactions 2 providers"},
		{"winsorize 5 95"},
		{"minimum 3 transactions 3 providers", "cap 40"},
		{"minimum 4 transactions 4 providers", "winsorize 10 80", "cap 30"},
	}
	for seed := range uint64(15) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(21, seed))
			db, p, m := newWorld(t, rules[seed%uint64(len(rules))])
			all := randomRentals(rng, 400+rng.IntN(800))
			load(t, rng, db, slices.Clone(all))
			if _, err := p.Backfill(t.Context(), memoryFrom, memoryTo, nil); err != nil {
				t.Fatal(err)
			}
			want := inMemory(all, m)
			if diff := cmp.Diff(want, inStore(t, db)); diff != "" || len(want) < 20 {
				t.Fatalf("%d slots (-computed in memory +published):\n%s", len(want), diff)
			}
			checkChains(t, db)
		})
	}
}

// TestRestated_EqualsMemory checks that after a restatement, late rows and verifications give the same digits as if
// they had been known from the start.
func TestRestated_EqualsMemory(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
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
				toggle(t, db, &all[rng.IntN(len(all))])
			}
			for _, gpu := range []string{"H100 SXM", "H200", "B200"} {
				r := publish.Restatement{GPU: gpu, From: memoryFrom, To: memoryTo, Reason: "test", Actor: "test"}
				if _, err := p.Restate(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(inMemory(all, m), inStore(t, db)); diff != "" {
				t.Fatalf("(-computed in memory +restated):\n%s", diff)
			}
			checkChains(t, db)
		})
	}
}

// toggle withdraws a rental that counts, or verifies one that does not, in the store and in memory.
func toggle(t *testing.T, db *store.DB, tr *assay.Transaction) {
	t.Helper()
	tr.Verified, tr.Withdrawn = !tr.Verified, tr.Verified
	v := assay.Verification{Source: tr.Source, ID: tr.ID, Verified: tr.Verified, Actor: "test", Reason: "test"}
	if _, err := db.AddVerifications(t.Context(), v); err != nil {
		t.Fatal(err)
	}
}
