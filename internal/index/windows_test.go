package index

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
)

// randomStream draws rentals of several GPUs and regions in the order of time, with quiet hours, across the change of
// the clocks in March 2026.
func randomStream(rng *rand.Rand, n int) []assay.Transaction {
	stream := randomTransactions(rng, n, false)
	now := time.Date(2026, 3, 6, 0, 0, 0, 0, time.UTC).UnixMilli()
	for i := range stream {
		stream[i].ExecutedAt = now
		stream[i].GPU = []string{"H100 SXM", "H200", "B200"}[rng.IntN(3)]
		stream[i].Region = []string{"", "us-east", "eu-west"}[rng.IntN(3)]
		now += rng.Int64N(assay.Hour / 2)
		if rng.IntN(20) == 0 {
			now += rng.Int64N(assay.Day)
		}
		if rng.IntN(10) == 0 { // on the hour exactly
			now = now/assay.Hour*assay.Hour + assay.Hour
		}
	}
	return stream
}

// cell names a window.
type cell struct {
	assay.Line
	at int64
}

// collect adds the ids of each window's transactions, in their order, and checks the order of the windows.
func collect(t *testing.T, w *Windows, grain assay.Grain, batch []assay.Transaction, into map[cell][]string) {
	t.Helper()
	last := int64(0)
	err := w.Each(batch, func(window Window) error {
		if window.At < last || window.Grain != grain {
			t.Fatalf("a %s window of %s comes after one of %s", window.Grain, at(window.At), at(last))
		}
		last = window.At
		key := cell{Line: window.Line, at: window.At}
		if into[key] != nil {
			t.Fatalf("the window of %v at %s comes twice", window.Line, at(window.At))
		}
		for _, row := range window.Rows {
			into[key] = append(into[key], batch[row].ID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// cells is what Each should give, computed for each transaction separately.
func cells(m Methodology, grain assay.Grain, batch []assay.Transaction) map[cell][]string {
	want := map[cell][]string{}
	for i := range batch {
		tr := &batch[i]
		for _, region := range []string{assay.Global, tr.Region} {
			if region != "" {
				key := cell{Line: assay.Line{GPU: tr.GPU, Region: region}, at: m.NextSlot(grain, tr.ExecutedAt)}
				want[key] = append(want[key], tr.ID)
			}
		}
	}
	return want
}

func TestWindows_Each(t *testing.T) {
	t.Parallel()
	m := Plain()
	for seed := range uint64(30) {
		stream := randomStream(rand.New(rand.NewPCG(5, seed)), 300)
		for _, grain := range assay.Grains {
			got := map[cell][]string{}
			collect(t, NewWindows(Schedule{m}, grain), grain, stream, got)
			if diff := cmp.Diff(cells(m, grain, stream), got, cmp.AllowUnexported(cell{})); diff != "" {
				t.Fatalf("seed %d, %s:\n%s", seed, grain, diff)
			}
		}
	}
}

// Splitting a batch at the ends of slots changes nothing.
func TestWindows_PiecesEqualTheWhole(t *testing.T) {
	t.Parallel()
	m := Plain()
	pieces := 0
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(5, 1000+seed))
		stream := randomStream(rng, 300)
		for _, grain := range assay.Grains {
			want, got := map[cell][]string{}, map[cell][]string{}
			collect(t, NewWindows(Schedule{m}, grain), grain, stream, want)
			parts, begin := NewWindows(Schedule{m}, grain), 0
			for i := 1; i <= len(stream); i++ {
				newSlot := i == len(stream) || stream[i].ExecutedAt >= m.NextSlot(grain, stream[i-1].ExecutedAt)
				if newSlot && (i == len(stream) || rng.IntN(3) == 0) {
					collect(t, parts, grain, stream[begin:i], got)
					begin = i
					pieces++
				}
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(cell{})); diff != "" {
				t.Fatalf("seed %d, %s: in pieces (-whole +pieces):\n%s", seed, grain, diff)
			}
		}
	}
	if pieces < 1000 {
		t.Errorf("only %d pieces", pieces)
	}
}

// With one rental per hour, the days on which New York changes its clocks have 23 and 25.
func TestWindows_DaylightSaving(t *testing.T) {
	t.Parallel()
	f := func(month time.Month, day int, want map[string]int) {
		t.Helper()
		first := time.Date(2026, month, day-1, 12, 0, 0, 0, time.UTC).UnixMilli()
		var stream []assay.Transaction
		for hour := range int64(72) {
			at := first + hour*assay.Hour
			stream = append(stream, assay.Transaction{ID: fmt.Sprint(hour), GPU: "B200", ExecutedAt: at})
		}
		got := map[string]int{}
		err := NewWindows(Schedule{Plain()}, assay.Daily).Each(stream, func(w Window) error {
			got[at(w.At)] = len(w.Rows)
			return nil
		})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("rentals by day (%v):\n%s", err, diff)
		}
	}
	f(time.March, 8, map[string]int{
		"2026-03-07T21:00:00.000Z": 9, "2026-03-08T20:00:00.000Z": 23,
		"2026-03-09T20:00:00.000Z": 24, "2026-03-10T20:00:00.000Z": 16,
	})
	f(time.November, 1, map[string]int{
		"2026-10-31T20:00:00.000Z": 8, "2026-11-01T21:00:00.000Z": 25,
		"2026-11-02T21:00:00.000Z": 24, "2026-11-03T21:00:00.000Z": 15,
	})
}

func TestWindows_NothingAndErrors(t *testing.T) {
	t.Parallel()
	w := NewWindows(Schedule{Plain()}, assay.Hourly)
	calls := 0
	stop := errors.New("stop")
	f := func(batch []assay.Transaction, wantCalls int, returned error) {
		t.Helper()
		calls = 0
		err := w.Each(batch, func(Window) error {
			calls++
			return returned
		})
		if calls != wantCalls || !errors.Is(err, returned) {
			t.Errorf("%d calls and the error %v, want %d and %v", calls, err, wantCalls, returned)
		}
	}
	f(nil, 0, nil)
	rentals := []assay.Transaction{
		{GPU: "H200", ExecutedAt: 10 * assay.Hour},
		{GPU: "H200", ExecutedAt: 11 * assay.Hour},
	}
	f(rentals, 2, nil)
	f(rentals, 1, stop)
}

func TestOrder(t *testing.T) {
	t.Parallel()
	want := []assay.Transaction{
		{ExecutedAt: 1, Source: "z", ID: "9"},
		{ExecutedAt: 2, Source: "A", ID: "b"}, // bytes, not letters
		{ExecutedAt: 2, Source: "a", ID: "10"},
		{ExecutedAt: 2, Source: "a", ID: "9"},
		{ExecutedAt: 2, Source: "a", ID: "B"},
		{ExecutedAt: 2, Source: "a", ID: "a"},
		{ExecutedAt: 2, Source: "b", ID: "1"},
		{ExecutedAt: 3, Source: "a", ID: "1"},
		{ExecutedAt: assay.Hour + 1, Source: "b", ID: "1"},
		{ExecutedAt: assay.Hour + 2, Source: "a", ID: "1"},
		{ExecutedAt: 5 * assay.Hour, Source: "a", ID: "1"},
	}
	for seed := range uint64(200) {
		got := slices.Clone(want)
		rng := rand.New(rand.NewPCG(5, seed))
		rng.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		if seed < uint64(len(want))-1 { // swap one pair only, so that each comparison decides once
			got = slices.Clone(want)
			got[seed], got[seed+1] = got[seed+1], got[seed]
		}
		digest := func(t *assay.Transaction) assay.Hash {
			return sha256.Sum256(fmt.Append(nil, t.ExecutedAt, t.Source, t.ID))
		}
		digests := make([]assay.Hash, len(got))
		for i := range got {
			digests[i] = digest(&got[i])
		}
		Order(got, digests)
		if !slices.Equal(got, want) {
			t.Fatalf("got %v", got)
		}
		for i := range got {
			if digests[i] != digest(&got[i]) {
				t.Fatalf("the digest of %v was not moved with it", got[i])
			}
		}
	}
	Order(nil, nil)
}

func TestKnown(t *testing.T) {
	t.Parallel()
	batch := []assay.Transaction{
		{Source: "a", ID: "1", Verified: true, Receipt: 1},
		{Source: "a", ID: "2", Verified: false, Receipt: 2},
		{Source: "b", ID: "1", Verified: true, Receipt: 3}, // the same id from another source
		{Source: "a", ID: "3", Verified: true, Receipt: 6},
	}
	events := []assay.Verification{
		{Source: "a", ID: "1", Verified: false, Receipt: 4},
		{Source: "a", ID: "2", Verified: true, Receipt: 5},
		{Source: "a", ID: "1", Verified: true, Receipt: 7},
		{Source: "a", ID: "1", Verified: false, Receipt: 8},
		{Source: "b", ID: "2", Verified: true, Receipt: 8}, // the transaction is not in the batch
	}
	f := func(receipt int64, want ...string) {
		t.Helper()
		var got []string
		for _, tr := range Known(slices.Clone(batch), assay.Amendments{Verifications: events}, receipt) {
			state := map[bool]string{true: "counts", false: "unverified"}[tr.Verified]
			if tr.Withdrawn {
				state = "withdrawn"
			}
			if tr.Withdrawn && tr.Verified {
				state = "both"
			}
			got = append(got, tr.Source+tr.ID+" "+state)
		}
		if !slices.Equal(got, want) {
			t.Errorf("at receipt %d %q is known, want %q", receipt, got, want)
		}
	}
	f(0)
	f(1, "a1 counts")
	f(2, "a1 counts", "a2 unverified")
	f(3, "a1 counts", "a2 unverified", "b1 counts")
	f(4, "a1 withdrawn", "a2 unverified", "b1 counts")
	f(5, "a1 withdrawn", "a2 counts", "b1 counts")
	f(6, "a1 withdrawn", "a2 counts", "b1 counts", "a3 counts")
	f(7, "a1 counts", "a2 counts", "b1 counts", "a3 counts") // verified again
	f(8, "a1 withdrawn", "a2 counts", "b1 counts", "a3 counts")
	events = nil
	f(5, "a1 counts", "a2 unverified", "b1 counts")
}

// A correction replaces what was received before it, and nothing else; a verification is of what counted then.
func TestKnown_Corrections(t *testing.T) {
	t.Parallel()
	batch := []assay.Transaction{
		{Source: "a", ID: "1", ExecutedAt: 5, Price: 1, Verified: true, Receipt: 1},
		{Source: "a", ID: "1", ExecutedAt: 5, Price: 2, Verified: true, Receipt: 3}, // only the price was wrong
		{Source: "a", ID: "1", ExecutedAt: 6, Price: 3, Verified: true, Receipt: 6}, // the time too
		{Source: "b", ID: "1", ExecutedAt: 5, Price: 4, Verified: true, Receipt: 1}, // the same id from another source
	}
	amendments := assay.Amendments{
		Verifications: []assay.Verification{
			{Source: "a", ID: "1", ExecutedAt: 5, Verified: false, Receipt: 2},
			{Source: "a", ID: "1", ExecutedAt: 5, Verified: false, Receipt: 4},
			{Source: "a", ID: "1", ExecutedAt: 5, Verified: true, Receipt: 5},
			{Source: "a", ID: "1", ExecutedAt: 6, Verified: false, Receipt: 7},
		},
		Corrections: []assay.Correction{
			{Source: "a", ID: "1", ExecutedAt: 5, Row: 1, Receipt: 3},
			{Source: "a", ID: "1", ExecutedAt: 5, Row: 3, Receipt: 6},
		},
	}
	f := func(receipt int64, want ...assay.Nanos) {
		t.Helper()
		var got []assay.Nanos // prices that count
		for _, tr := range Known(slices.Clone(batch), amendments, receipt) {
			if tr.Verified == tr.Withdrawn {
				t.Errorf("at receipt %d price %d is verified and withdrawn, or neither", receipt, tr.Price)
			}
			if tr.Verified {
				got = append(got, tr.Price)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("at receipt %d the prices %v count, want %v", receipt, got, want)
		}
	}
	f(1, 1, 4)
	f(2, 4)
	f(3, 2, 4)
	f(4, 4)
	f(5, 2, 4)
	f(6, 3, 4)
	f(7, 4)
}

// slots computes every window of a batch.
func slots(t *testing.T, m Methodology, grain assay.Grain, batch []assay.Transaction) map[cell]assay.Determination {
	t.Helper()
	var calculator Calculator
	calculator.Load(batch)
	made := map[cell]assay.Determination{}
	err := NewWindows(Schedule{m}, grain).Each(batch, func(w Window) error {
		made[cell{Line: w.Line, at: w.At}], _ = calculator.Compute(w.Rows, m)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// The order of a batch changes nothing about any slot.
func TestSlots_OrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(4, seed))
		batch, m := randomStream(rng, 200), randomRules(rng)
		shuffled := slices.Clone(batch)
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		Order(batch, nil)
		Order(shuffled, nil)
		for _, grain := range assay.Grains {
			got, want := slots(t, m, grain, shuffled), slots(t, m, grain, batch)
			if !maps.Equal(got, want) {
				t.Fatalf("seed %d: got %+v, in another order %+v", seed, got, want)
			}
		}
	}
}

// Compute does not depend on the order of rows.
func TestCompute_OrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(4, seed))
		transactions, m := randomTransactions(rng, 2+rng.IntN(60), seed%10 == 0), randomRules(rng)
		if seed%4 == 0 { // with equal prices, sorting by price leaves the order open
			for i := range transactions {
				transactions[i].Price = assay.Nanos(1+rng.IntN(3)) * assay.One
			}
		}
		want, wantOK := compute(transactions, m)
		swap := func(i, j int) { transactions[i], transactions[j] = transactions[j], transactions[i] }
		rng.Shuffle(len(transactions), swap)
		if got, ok := compute(transactions, m); got != want || ok != wantOK {
			t.Fatalf("seed %d: got %+v, %v, in another order %+v, %v", seed, got, ok, want, wantOK)
		}
	}
}

// The value lies between the lowest and the highest counted price, whatever rules apply: exactly with nine decimals,
// and with fewer if the bounds are rounded like the value.
func TestCompute_ValueLiesBetweenPrices(t *testing.T) {
	t.Parallel()
	adjusted := 0
	for seed := range uint64(5000) {
		rng := rand.New(rand.NewPCG(10, seed))
		batch, m := randomTransactions(rng, 1+rng.IntN(30), seed%50 == 0), randomRules(rng)
		if seed%3 == 0 {
			lopsided(rng, batch)
		}
		d, ok := compute(batch, m)
		if !ok {
			continue
		}
		if d.Adjusted != (assay.Adjustments{}) {
			adjusted++
		}
		low, high := roundTo(d.Low, m.Decimals), roundTo(d.High, m.Decimals)
		if d.Value < low || d.Value > high || d.Median < d.Low || d.Median > d.High {
			t.Fatalf("seed %d, %d decimals: the value %s and the median %s of prices from %s to %s",
				seed, m.Decimals, d.Value, d.Median, d.Low, d.High)
		}
	}
	if adjusted < 1000 {
		t.Errorf("the optional rules applied to %d slots: too few", adjusted)
	}
}

func roundTo(price assay.Nanos, decimals int) assay.Nanos {
	m := Plain()
	m.Decimals = decimals
	return m.Mean([]assay.Nanos{price})
}
