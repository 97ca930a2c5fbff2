package index

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/tools/testenv"
)

// The bounds of what ingest accepts.
const (
	lowestPrice  = assay.One / 10_000
	highestPrice = 1_000 * assay.One
	mostGPUs     = 1_000_000
	mostHours    = 100_000 * 1_000_000
)

// randomTransactions draws rentals of one GPU and slot, one in eight unverified; if largest is true, near the upper
// bounds of ingest.
func randomTransactions(rng *rand.Rand, n int, largest bool) []assay.Transaction {
	transactions := make([]assay.Transaction, n)
	for i := range transactions {
		t := &transactions[i]
		*t = assay.Transaction{
			Source: fmt.Sprint("source ", rng.IntN(3)), ID: fmt.Sprint(i),
			GPU: "H100 SXM", Provider: fmt.Sprint("provider ", rng.IntN(5)), Verified: rng.IntN(8) != 0,
			Price:      lowestPrice + assay.Nanos(rng.Int64N(10*int64(assay.One))),
			GPUs:       1 + rng.Int64N(64),
			HourMicros: 1 + rng.Int64N(1e9),
		}
		if largest {
			t.Price = highestPrice - assay.Nanos(rng.Int64N(1000))
			t.GPUs, t.HourMicros = mostGPUs-rng.Int64N(10), mostHours-rng.Int64N(10)
		}
	}
	return transactions
}

// allRows are all rows of a batch.
func allRows(batch []assay.Transaction) []int32 {
	rows := make([]int32, len(batch))
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// compute computes the index over a whole batch with a new calculator.
func compute(batch []assay.Transaction, m Methodology) (assay.Determination, bool) {
	var c Calculator
	c.Load(batch)
	return c.Compute(allRows(batch), m)
}

// slowRound rounds a fraction half-even to whole units, as floor(x + 1/2).
func slowRound(x *big.Rat, unit assay.Nanos) assay.Nanos {
	shifted := new(big.Rat).Quo(x, big.NewRat(int64(unit), 1))
	shifted.Add(shifted, big.NewRat(1, 2))
	units := new(big.Int).Div(shifted.Num(), shifted.Denom()).Int64()
	if shifted.IsInt() && units%2 != 0 {
		units--
	}
	return assay.Nanos(units) * unit
}

func slowWeight(t *assay.Transaction) *big.Rat {
	return new(big.Rat).Mul(big.NewRat(t.GPUs, 1), big.NewRat(t.HourMicros, 1))
}

// slowAverage computes the index as a fraction of big numbers.
func slowAverage(transactions []assay.Transaction, decimals int) assay.Nanos {
	amount, weight := new(big.Rat), new(big.Rat)
	for i := range transactions {
		if t := &transactions[i]; t.Verified {
			w := slowWeight(t)
			weight.Add(weight, w)
			amount.Add(amount, w.Mul(w, big.NewRat(int64(t.Price), 1)))
		}
	}
	return slowRound(amount.Quo(amount, weight), assay.Unit(decimals))
}

func TestCompute_AgainstOracle(t *testing.T) {
	t.Parallel()
	m := Plain()
	var narrow, wide int
	check := func(transactions []assay.Transaction) {
		t.Helper()
		transactions[0].Verified = true
		got, ok := compute(transactions, m)
		want := slowAverage(transactions, m.Decimals)
		if ok != (want > 0) || got.HasValue != ok || got.Value != want {
			t.Fatalf("%d transactions, %d decimals: got %s (%v), want %s", len(transactions), m.Decimals, got.Value, ok, want)
		}
		var s sum
		for i := range transactions {
			if transactions[i].Verified {
				s.add(uint64(transactions[i].GPUs*transactions[i].HourMicros), transactions[i].Price)
			}
		}
		if s.weight.hi == 0 {
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
	// The largest weight is 10^17; 184 of them fill 64 bits, so these sums lie on both sides.
	for i := range 100 {
		m.Decimals = i % 10
		check(randomTransactions(rng, 100+rng.IntN(300), true))
	}
	if narrow < 1000 || wide < 10 {
		t.Errorf("%d sums took the 64-bit division and %d the big one: too few of one", narrow, wide)
	}
}

// TestSum_BothDivisionsAgree gives the big division the fraction of the fast one, with both sides 2^64 times as large.
func TestSum_BothDivisionsAgree(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 2))
	f := func(amount, weight uint64, decimals int) {
		t.Helper()
		fast := sum{amount: uint128{lo: amount}, weight: uint128{lo: weight}}
		large := sum{amount: uint128{hi: amount}, weight: uint128{hi: weight}}
		if got, want := fast.average(decimals), large.average(decimals); got != want {
			t.Fatalf("%d / %d to %d decimals: the 64-bit division gives %s, the big one %s", amount, weight, decimals, got, want)
		}
	}
	for range 20_000 {
		f(rng.Uint64()>>(1+rng.IntN(62)), 1+rng.Uint64()>>rng.IntN(63), rng.IntN(10))
	}
	for range 20_000 { // in the middle of two units, and next to it
		decimals := rng.IntN(9)
		weight := 1 + rng.Uint64N(1000)
		middle := (2*rng.Uint64N(1000) + 1) * uint64(assay.Unit(decimals)) / 2
		f(middle*weight+rng.Uint64N(3), weight, decimals)
		f(middle*weight-1, weight, decimals)
	}
}

// rental is a transaction of one GPU-hour.
func rental(provider string, price assay.Nanos) assay.Transaction {
	return assay.Transaction{Price: price, GPUs: 1, HourMicros: 1e6, Provider: provider, Verified: true}
}

func TestCompute_CountsAndMinimums(t *testing.T) {
	t.Parallel()
	unverified, withdrawn := rental("cord", 9*assay.One), rental("dome", 9*assay.One)
	unverified.Verified = false
	withdrawn.Verified, withdrawn.Withdrawn = false, true
	transactions := []assay.Transaction{
		rental("acme", assay.One), rental("bolt", 2*assay.One), withdrawn, rental("acme", 3*assay.One), unverified, withdrawn,
	}
	f := func(minTransactions, minProviders int, want assay.Determination, wantOK bool) {
		t.Helper()
		m := Plain()
		m.MinTransactions, m.MinProviders = minTransactions, minProviders
		got, ok := compute(transactions, m)
		if diff := cmp.Diff(want, got); diff != "" || ok != wantOK {
			t.Errorf("minimum %d transactions of %d providers: %v (-want +got):\n%s", minTransactions, minProviders, ok, diff)
		}
	}
	excluded := assay.Exclusions{Unverified: 1, Withdrawn: 2}
	all := assay.Determination{
		Methodology: "1.0.0", HasValue: true, Value: 2 * assay.One, Transactions: 3, HourMicros: 3e6, Providers: 2, HHI: 5556,
		Volumes: `{"by_source":[3],"by_evidence":{"unstated":3}}`, Low: assay.One, High: 3 * assay.One, Median: 2 * assay.One, Excluded: excluded,
	}
	f(1, 1, all, true)
	f(3, 2, all, true)
	below := assay.Determination{
		Methodology: "1.0.0", Transactions: 3, Providers: 2, Volumes: noVolumes, Excluded: excluded,
	}
	f(4, 2, below, false)
	f(3, 3, below, false)
	transactions = nil
	f(1, 1, assay.Determination{Methodology: "1.0.0", Volumes: noVolumes}, false)
}

// A calculator reuses its memory from slot to slot; no data of one slot may reach the next.
func TestCalculator_ReusedEqualsNew(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 3))
	var reused Calculator
	for range 300 {
		batch, m := randomTransactions(rng, 1+rng.IntN(40), false), randomRules(rng)
		rows := allRows(batch)
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		rows = rows[:rng.IntN(len(rows)+1)] // a slot is some rows of a batch
		reused.Load(batch)
		got, gotOK := reused.Compute(rows, m)
		var once Calculator
		once.Load(batch)
		want, wantOK := once.Compute(rows, m)
		if diff := cmp.Diff(want, got); diff != "" || gotOK != wantOK {
			t.Fatalf("a reused calculator computes another record (-new +reused):\n%s", diff)
		}
	}
}

func TestCompute_Median(t *testing.T) {
	t.Parallel()
	f := func(want assay.Nanos, prices ...assay.Nanos) {
		t.Helper()
		var batch []assay.Transaction
		for i, price := range prices {
			tr := rental("acme", price)
			tr.GPUs = 1 + int64(i*i) // the median is of transactions, not of GPU-hours
			batch = append(batch, tr)
		}
		got, _ := compute(batch, Plain())
		if got.Median != want || got.Low != slices.Min(prices) || got.High != slices.Max(prices) {
			t.Errorf("%v: the median is %d between %d and %d, want %d", prices, got.Median, got.Low, got.High, want)
		}
	}
	f(5e8, 5e8)
	f(7e8, 9e8, 7e8, 1e8)
	f(6e8, 7e8, 5e8)
	f(6e8, 9e8, 1e8, 7e8, 5e8)
	// The middle of two billionths rounds to the even one.
	f(1_000_000_000, 1_000_000_000, 1_000_000_001)
	f(1_000_000_002, 1_000_000_001, 1_000_000_002)
	f(highestPrice, highestPrice, highestPrice)
}

func TestCompute_HoursAreClamped(t *testing.T) {
	t.Parallel()
	largest := assay.Transaction{
		Price: highestPrice, GPUs: mostGPUs, HourMicros: mostHours, Provider: "acme", Verified: true,
	}
	f := func(n int, want int64) {
		t.Helper()
		got, ok := compute(slices.Repeat([]assay.Transaction{largest}, n), Plain())
		if !ok || got.HourMicros != want || got.Value != highestPrice {
			t.Errorf("%d of the largest: %d GPU-hours in millionths at %s, want %d", n, got.HourMicros, got.Value, want)
		}
	}
	f(1, 1e17)
	f(92, 92e17)
	f(93, math.MaxInt64)  // past 63 bits
	f(185, math.MaxInt64) // past 64
}

func TestHHI(t *testing.T) {
	t.Parallel()
	f := func(want int, weights ...int64) {
		t.Helper()
		var batch []assay.Transaction
		for i, w := range weights {
			tr := rental(fmt.Sprint("provider ", i), assay.One)
			tr.HourMicros = w
			batch = append(batch, tr)
		}
		if got, _ := compute(batch, Plain()); got.HHI != want {
			t.Errorf("%v: HHI %d, want %d", weights, got.HHI, want)
		}
	}
	f(10_000, 7)
	f(5000, 7, 7)
	f(3333, 1, 1, 1)
	f(5200, 60, 40)
	f(3800, 50, 30, 20)
	f(10_000, 1e11, 1)                        // the other's share rounds to zero
	f(100, slices.Repeat([]int64{9}, 100)...) // many small ones
}

// TestHHI_AgainstOracle compares the index with the sum of the squares of exact shares.
func TestHHI_AgainstOracle(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 500 {
		batch := randomTransactions(rng, 1+rng.IntN(300), i%5 == 0)
		batch[0].Verified = true
		weights, total := map[string]*big.Rat{}, new(big.Rat)
		for i := range batch {
			if tr := &batch[i]; tr.Verified {
				if weights[tr.Provider] == nil {
					weights[tr.Provider] = new(big.Rat)
				}
				weights[tr.Provider].Add(weights[tr.Provider], slowWeight(tr))
				total.Add(total, slowWeight(tr))
			}
		}
		exact := new(big.Rat)
		for _, w := range weights {
			share := new(big.Rat).Quo(w, total)
			exact.Add(exact, share.Mul(share, share))
		}
		want, _ := exact.Mul(exact, big.NewRat(Whole, 1)).Float64()
		got, _ := compute(batch, Plain())
		if math.Abs(float64(got.HHI)-want) > 0.51 { // half for its rounding, the rest for that of the shares
			t.Fatalf("HHI %d, want %f", got.HHI, want)
		}
	}
}

// The selected value is where sorting would put it: in random lists, in lists with few values, and in those that are
// worst for a median of three.
func TestSelectAt(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 2026))
	for n := 1; n < 400; n += 1 + n/20 {
		for pattern := range 5 {
			list := make([]assay.Nanos, n)
			for i := range list {
				list[i] = assay.Nanos([]int{random.Int(), random.IntN(3), i, n - i, min(i, n-i)}[pattern])
			}
			sorted := slices.Sorted(slices.Values(list))
			at := random.IntN(n)
			selectAt(list, at)
			if list[at] != sorted[at] || at > 0 && slices.Max(list[:at]) > list[at] {
				t.Fatalf("pattern %d: position %d of %d has %d after %d, want %d",
					pattern, at, n, list[at], slices.Max(list[:at]), sorted[at])
			}
			slices.Sort(list)
			if !slices.Equal(list, sorted) {
				t.Fatalf("pattern %d: the list has other values than before", pattern)
			}
		}
	}
}
