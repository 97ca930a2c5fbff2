package index

import (
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/tools/testenv"
)

// slowSlot computes a slot rule by rule, as a person would, with fractions of big numbers.
type slowSlot struct {
	transactions []assay.Transaction // those that count; winsorize changes their prices
	winsorized   int
	weights      map[string]*big.Rat // by provider
	averages     map[string]*big.Rat // their average prices
	shares       map[string]*big.Rat // final ones
	cut          map[string]bool
}

func newSlowSlot(transactions []assay.Transaction, m Methodology) *slowSlot {
	s := &slowSlot{
		weights: map[string]*big.Rat{}, averages: map[string]*big.Rat{}, shares: map[string]*big.Rat{},
		cut: map[string]bool{},
	}
	for _, t := range transactions {
		if t.Verified {
			s.transactions = append(s.transactions, t)
		}
	}
	if m.WinsorizeUpper > 0 {
		s.winsorize(s.percentile(m.WinsorizeLower), s.percentile(m.WinsorizeUpper))
	}
	s.byProvider()
	s.share(nil)
	if m.ProviderCap > 0 {
		s.limit(big.NewRat(int64(m.ProviderCap), Whole))
	}
	return s
}

// percentile tries every price from the lowest: is enough of the weight at or below it?
func (s *slowSlot) percentile(hundredths int) assay.Nanos {
	total := new(big.Rat)
	prices := map[assay.Nanos]bool{}
	for i := range s.transactions {
		total.Add(total, slowWeight(&s.transactions[i]))
		prices[s.transactions[i].Price] = true
	}
	wanted := total.Mul(total, big.NewRat(int64(hundredths), Whole))
	for _, price := range slices.Sorted(maps.Keys(prices)) {
		below := new(big.Rat)
		for i := range s.transactions {
			if s.transactions[i].Price <= price {
				below.Add(below, slowWeight(&s.transactions[i]))
			}
		}
		if below.Cmp(wanted) >= 0 {
			return price
		}
	}
	panic("no price has all of the weight at or below it")
}

func (s *slowSlot) winsorize(lower, upper assay.Nanos) {
	for i := range s.transactions {
		switch t := &s.transactions[i]; {
		case t.Price < lower:
			t.Price = lower
			s.winsorized++
		case t.Price > upper:
			t.Price = upper
			s.winsorized++
		}
	}
}

func (s *slowSlot) byProvider() {
	for i := range s.transactions {
		t := &s.transactions[i]
		if s.weights[t.Provider] == nil {
			s.weights[t.Provider], s.averages[t.Provider] = new(big.Rat), new(big.Rat)
		}
		w := slowWeight(t)
		s.weights[t.Provider].Add(s.weights[t.Provider], w)
		s.averages[t.Provider].Add(s.averages[t.Provider], w.Mul(w, big.NewRat(int64(t.Price), 1)))
	}
	for name, average := range s.averages {
		average.Quo(average, s.weights[name])
	}
}

// limit cuts one provider at a time, the largest first, and distributes its loss over the others in proportion to their
// weights, until no share exceeds the cap.
func (s *slowSlot) limit(most *big.Rat) {
	for {
		largest := ""
		for name, share := range s.shares {
			if !s.cut[name] && share.Cmp(most) > 0 && (largest == "" || share.Cmp(s.shares[largest]) > 0) {
				largest = name
			}
		}
		if largest == "" {
			return
		}
		s.cut[largest] = true
		s.share(most)
	}
}

// share gives the cap to the cut providers, and the rest to the others by weight.
func (s *slowSlot) share(most *big.Rat) {
	rest, weight := big.NewRat(1, 1), new(big.Rat)
	for name, w := range s.weights {
		if s.cut[name] {
			s.shares[name] = most
			rest.Sub(rest, most)
		} else {
			weight.Add(weight, w)
		}
	}
	for name, w := range s.weights {
		if !s.cut[name] {
			part := new(big.Rat).Quo(w, weight)
			s.shares[name] = part.Mul(part, rest)
		}
	}
}

func (s *slowSlot) value(decimals int) assay.Nanos {
	value := new(big.Rat)
	for name, share := range s.shares {
		value.Add(value, new(big.Rat).Mul(share, s.averages[name]))
	}
	return slowRound(value, assay.Unit(decimals))
}

// randomRules draws a methodology with any of the optional rules. A cap requires enough providers to share the whole.
func randomRules(rng *rand.Rand) Methodology {
	m := Plain()
	m.Decimals = rng.IntN(10)
	if rng.IntN(2) == 0 {
		m.WinsorizeLower = 1 + rng.IntN(Whole-2)
		m.WinsorizeUpper = m.WinsorizeLower + 1 + rng.IntN(Whole-m.WinsorizeLower-1)
	}
	if rng.IntN(2) == 0 {
		m.ProviderCap = 2000 + rng.IntN(7999) // five providers can share it
		m.MinProviders = (Whole + m.ProviderCap - 1) / m.ProviderCap
	}
	return m
}

// lopsided makes some providers much larger than others, so that the cap needs several rounds.
func lopsided(rng *rand.Rand, batch []assay.Transaction) {
	sizes := map[string]int64{}
	for i := range batch {
		name := batch[i].Provider
		if sizes[name] == 0 {
			sizes[name] = 1 << (2 * len(sizes))
		}
		batch[i].GPUs = sizes[name] * (1 + rng.Int64N(2))
		batch[i].HourMicros = 1e6 + rng.Int64N(1e5)
	}
}

func TestCompute_OutlierRulesAgainstOracle(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	var winsorized, capped, several int
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(8, seed))
		batch, m := randomTransactions(rng, 1+rng.IntN(50), seed%20 == 0), randomRules(rng)
		if seed%3 == 0 {
			lopsided(rng, batch)
		}
		if seed%7 == 0 { // few prices, so that percentiles fall among equal ones
			for i := range batch {
				batch[i].Price = assay.Nanos(1+rng.IntN(4)) * assay.One
			}
		}
		got, ok := compute(batch, m)
		if !ok {
			continue
		}
		want := newSlowSlot(batch, m)
		adjusted := assay.Adjustments{Winsorized: want.winsorized, Capped: len(want.cut)}
		if got.Value != want.value(m.Decimals) || got.Adjusted != adjusted {
			t.Fatalf("seed %d, %+v: got %s %+v, want %s %+v",
				seed, m, got.Value, got.Adjusted, want.value(m.Decimals), adjusted)
		}
		if adjusted.Winsorized > 0 {
			winsorized++
		}
		if adjusted.Capped > 0 {
			capped++
		}
		if adjusted.Capped > 1 {
			several++
		}
	}
	if winsorized < 500 || capped < 300 || several < 100 {
		t.Errorf("%d slots were winsorized, %d capped, %d with several cut: too few", winsorized, capped, several)
	}
}

// TestCapped_NoShareExceedsTheCap derives the final shares only from how many of the largest providers were cut.
func TestCapped_NoShareExceedsTheCap(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	rounds := 0
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(9, seed))
		batch, m := randomTransactions(rng, 5+rng.IntN(40), false), randomRules(rng)
		m.WinsorizeLower, m.WinsorizeUpper, m.Decimals = 0, 0, 9
		m.ProviderCap, m.MinProviders = 2000+rng.IntN(3000), 5
		lopsided(rng, batch)
		d, ok := compute(batch, m)
		if !ok {
			continue
		}
		if d.Adjusted.Capped > 1 {
			rounds++
		}
		checkShares(t, newSlowSlot(batch, Plain()), d, big.NewRat(int64(m.ProviderCap), Whole))
	}
	if rounds < 300 {
		t.Errorf("several providers were cut in %d slots: too few", rounds)
	}
}

// checkShares takes the slot before the cap.
func checkShares(t *testing.T, slot *slowSlot, d assay.Determination, most *big.Rat) {
	t.Helper()
	larger := func(a, b string) int { return slot.weights[b].Cmp(slot.weights[a]) }
	bySize := slices.SortedFunc(maps.Keys(slot.weights), larger)
	for _, name := range bySize[:d.Adjusted.Capped] {
		slot.cut[name] = true
	}
	slot.share(most)
	last := bySize[len(bySize)-1] // never cut, so that its weight and share give the total
	total := new(big.Rat).Quo(slot.weights[last], slot.shares[last])
	sum := new(big.Rat)
	for name, share := range slot.shares {
		sum.Add(sum, share)
		if share.Cmp(most) > 0 {
			t.Fatalf("%s has %s of %v, more than the cap of %s", name, share, bySize, most)
		}
		before := new(big.Rat).Quo(slot.weights[name], total)
		if slot.cut[name] && before.Cmp(most) <= 0 {
			t.Fatalf("%s was cut to %s although it had only %s", name, most, before)
		}
	}
	if sum.Cmp(big.NewRat(1, 1)) != 0 {
		t.Fatalf("the shares add up to %s", sum)
	}
	if value := slot.value(9); value != d.Value {
		t.Fatalf("with %d cut the shares %v give %s, not %s", d.Adjusted.Capped, slot.shares, value, d.Value)
	}
}

func TestCapped(t *testing.T) {
	t.Parallel()
	f := func(share int, wantCut int, want string, weights ...int64) {
		t.Helper()
		m := Plain()
		m.ProviderCap, m.MinProviders = share*100, len(weights)
		var batch []assay.Transaction
		for i, w := range weights { // the first asks 1 USD, the second 2 and so on
			tr := rental(fmt.Sprint("provider ", i), assay.Nanos(i+1)*assay.One)
			tr.GPUs = w
			batch = append(batch, tr)
		}
		d, ok := compute(batch, m)
		if !ok || d.Adjusted.Capped != wantCut || d.Value.String() != want {
			t.Errorf("cap %d %%, weights %v: %s with %d cut, want %s with %d",
				share, weights, d.Value, d.Adjusted.Capped, want, wantCut)
		}
		if d.HourMicros != 1e6*sumOf(weights) {
			t.Errorf("cap %d %%, weights %v: the cap changed the GPU-hours to %d", share, weights, d.HourMicros)
		}
	}
	f(40, 0, "1.9", 40, 30, 30)       // exactly at the cap is not above it
	f(40, 1, "1.9051", 41, 29, 30)    // 40 % of 1 USD, and 60 % of the others' average, 148/59
	f(50, 1, "1.5", 99, 1)            // the Whole is two halves
	f(34, 2, "1.98", 90, 9, 1)        // cutting the first lifts the second above the cap
	f(30, 3, "2.2", 1000, 100, 10, 1) // and cutting the second lifts the third
	f(40, 1, "1.9", 80, 10, 10)       // the others share what the cut one loses: 30 % each
	f(40, 2, "2", 80, 5, 15)          // in proportion that is 15 and 45 %: so one of them is cut too
	f(25, 0, "2.5", 5, 5, 5, 5)       // all have exactly the cap
}

func sumOf(numbers []int64) (sum int64) {
	for _, n := range numbers {
		sum += n
	}
	return sum
}

func TestWinsorize(t *testing.T) {
	t.Parallel()
	f := func(lower, upper int, wantMoved int, want string, weights ...int64) {
		t.Helper()
		m := Plain()
		m.WinsorizeLower, m.WinsorizeUpper = lower*100, upper*100
		var batch []assay.Transaction
		for i, w := range weights { // at 1 USD, 2 USD and so on
			tr := rental("acme", assay.Nanos(i+1)*assay.One)
			tr.GPUs = w
			batch = append(batch, tr)
		}
		d, ok := compute(batch, m)
		if !ok || d.Adjusted.Winsorized != wantMoved || d.Value.String() != want {
			t.Errorf("%d to %d %%, weights %v: %s with %d moved, want %s with %d",
				lower, upper, weights, d.Value, d.Adjusted.Winsorized, want, wantMoved)
		}
		if d.Low != assay.One || d.High != assay.Nanos(len(weights))*assay.One {
			t.Errorf("lowest %s and highest %s, want those of the original prices", d.Low, d.High)
		}
	}
	tenEqual := []int64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	f(10, 90, 1, "5.4", tenEqual...) // a tenth of the weight is at 1 USD, nine tenths are up to 9
	f(11, 90, 2, "5.5", tenEqual...)
	f(5, 95, 1, "1", 100, 1) // nearly all of the weight is at 1 USD
	f(5, 95, 0, "1", 1)
	f(49, 51, 0, "1.5", 50, 50)
	f(49, 50, 1, "1", 50, 50) // exactly half is reached at the lower price
	f(51, 99, 1, "2", 50, 50)
}
