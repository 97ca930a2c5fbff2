package index

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/assaydata/assay"
)

// randomTransactions draws rentals of one GPU and slot, one in eight unverified. The largest are the largest that ingest
// lets in: a price of 1,000,000, and 1,000,000 GPUs for 100,000 hours.
func randomTransactions(rng *rand.Rand, n int, largest bool) []assay.Transaction {
	transactions := make([]assay.Transaction, n)
	for i := range transactions {
		t := &transactions[i]
		*t = assay.Transaction{
			GPU: "H100 SXM", Provider: fmt.Sprint("provider ", rng.IntN(5)), Verified: rng.IntN(8) != 0,
			Price:      assay.Nanos(1 + rng.Int64N(10*int64(assay.One))),
			GPUs:       1 + rng.Int64N(64),
			HourMicros: 1 + rng.Int64N(1e9),
		}
		if largest {
			t.Price = 1_000_000*assay.One - assay.Nanos(rng.Int64N(1000))
			t.GPUs, t.HourMicros = 1_000_000-rng.Int64N(10), 1e11-rng.Int64N(10)
		}
	}
	return transactions
}

// slowRound rounds a fraction half-even to whole units, by way of floor(x + 1/2).
func slowRound(x *big.Rat, unit assay.Nanos) assay.Nanos {
	shifted := new(big.Rat).Quo(x, big.NewRat(int64(unit), 1))
	shifted.Add(shifted, big.NewRat(1, 2))
	units := new(big.Int).Div(shifted.Num(), shifted.Denom()).Int64()
	if shifted.IsInt() && units%2 != 0 {
		units--
	}
	return assay.Nanos(units) * unit
}

// slowAverage is the index by way of a fraction of big numbers.
func slowAverage(transactions []assay.Transaction, decimals int) assay.Nanos {
	amount, weight := new(big.Int), new(big.Int)
	for _, t := range transactions {
		if t.Verified {
			w := new(big.Int).Mul(big.NewInt(t.GPUs), big.NewInt(t.HourMicros))
			weight.Add(weight, w)
			amount.Add(amount, w.Mul(w, big.NewInt(int64(t.Price))))
		}
	}
	return slowRound(new(big.Rat).SetFrac(amount, weight), assay.Unit(decimals))
}

func TestCompute_AgainstOracle(t *testing.T) {
	m := Plain()
	var narrow, wide int
	check := func(transactions []assay.Transaction) {
		t.Helper()
		transactions[0].Verified = true
		got, ok := Compute(transactions, m)
		if want := slowAverage(transactions, m.Decimals); !ok || got.Value != want {
			t.Fatalf("%d transactions, %d decimals: got %s (%v), want %s", len(transactions), m.Decimals, got.Value, ok, want)
		}
		var s sum
		for i := range transactions {
			if transactions[i].Verified {
				s.add(&transactions[i])
			}
		}
		if s.weightHi == 0 {
			narrow++
		} else {
			wide++
		}
	}
	rng := rand.New(rand.NewPCG(3, 1))
	for i := range 2000 {
		m.Decimals = i % 10
		check(randomTransactions(rng, 1+rng.IntN(20), false))
	}
	// A weight of 10^17 is the largest; 184 of them fill 64 bits, so these lie on both sides.
	for i := range 100 {
		m.Decimals = i % 10
		check(randomTransactions(rng, 100+rng.IntN(300), true))
	}
	if narrow < 1000 || wide < 10 {
		t.Errorf("%d sums took the 64-bit division and %d the big one: the test wants some of each", narrow, wide)
	}
}

// TestSum_BothDivisionsAgree gives the big division the same fraction as the fast one, with both sides 2^64 times as large.
func TestSum_BothDivisionsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	f := func(amount, weight uint64, decimals int) {
		t.Helper()
		fast := sum{amountLo: amount, weightLo: weight}
		large := sum{amountHi: amount, weightHi: weight}
		if got, want := fast.average(decimals), large.average(decimals); got != want {
			t.Fatalf("%d / %d to %d decimals: the 64-bit division gives %s, the big one %s", amount, weight, decimals, got, want)
		}
	}
	for range 20_000 {
		f(rng.Uint64()>>(1+rng.IntN(62)), 1+rng.Uint64()>>rng.IntN(63), rng.IntN(10))
	}
	for range 20_000 { // in the middle of two units, and a little beside
		decimals := rng.IntN(9)
		weight := 1 + rng.Uint64N(1000)
		middle := (2*rng.Uint64N(1000) + 1) * uint64(assay.Unit(decimals)) / 2
		f(middle*weight+rng.Uint64N(3), weight, decimals)
		f(middle*weight-1, weight, decimals)
	}
}

func TestCompute_OrderDoesNotMatter(t *testing.T) {
	m := Plain()
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(4, seed))
		transactions := randomTransactions(rng, 2+rng.IntN(60), seed%10 == 0)
		want, wantOK := Compute(transactions, m)
		rng.Shuffle(len(transactions), func(i, j int) { transactions[i], transactions[j] = transactions[j], transactions[i] })
		if got, ok := Compute(transactions, m); got != want || ok != wantOK {
			t.Fatalf("seed %d: got %+v, %v, in another order %+v, %v", seed, got, ok, want, wantOK)
		}
	}
}

func TestCompute_CountsAndMinimums(t *testing.T) {
	rental := func(provider string, verified bool) assay.Transaction {
		return assay.Transaction{Price: 2 * assay.One, GPUs: 1, HourMicros: 1e6, Provider: provider, Verified: verified}
	}
	transactions := []assay.Transaction{
		rental("acme", true), rental("bolt", true), rental("acme", true), rental("cord", false),
	}
	f := func(minTransactions, minProviders int, want Value, wantOK bool) {
		t.Helper()
		m := Plain()
		m.MinTransactions, m.MinProviders = minTransactions, minProviders
		if got, ok := Compute(transactions, m); got != want || ok != wantOK {
			t.Errorf("at least %d of %d providers: got %+v, %v, want %+v", minTransactions, minProviders, got, ok, want)
		}
	}
	all := Value{Value: 2 * assay.One, Transactions: 3, Providers: 2}
	f(1, 1, all, true)
	f(3, 2, all, true)
	f(4, 2, Value{}, false)
	f(3, 3, Value{}, false)
	transactions = nil
	f(1, 1, Value{}, false)
}
