package tokens

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
)

// What an index of prices must not do is tested for the price of the reference mix, and for the price of all tokens
// where it holds for that too: a unit value moves with the share of output, which is why there are both.

// listed are the prices of a model, in dollars per million tokens, and how many millions were used.
type listed struct {
	input, cached, output   int64
	inputs, caches, outputs int64
}

// dayOf is a day of models with list prices.
func dayOf(day int64, models []listed) (known []assay.Observed[assay.ModelDay]) {
	for i, m := range models {
		d := assay.ModelDay{
			Day: day, Lab: "openai", Model: string(rune('a' + i)), Family: "flagship", Requests: 1000, Split: true,
			InputTokens: (m.inputs + m.caches) * million, CachedTokens: m.caches * million, OutputTokens: m.outputs * million,
			InputDollars: assay.Nanos(m.input*m.inputs) * assay.One, CachedDollars: assay.Nanos(m.cached*m.caches) * assay.One,
			OutputDollars: assay.Nanos(m.output*m.outputs) * assay.One,
		}
		d.Dollars = d.InputDollars + d.CachedDollars + d.OutputDollars
		known = append(known, assay.Observed[assay.ModelDay]{Value: d, Key: d.Key()})
	}
	return known
}

func mixSchedule() index.Schedule {
	m := index.Plain()
	m.TokenMix = index.TokenMix{Input: 7000, Cached: 1000, Output: 2000}
	return index.Schedule{m}
}

// priceOf is the price of the reference mix, and of all tokens.
func priceOf(t *testing.T, known []assay.Observed[assay.ModelDay]) (mix, all assay.Nanos) {
	t.Helper()
	prices := Prices(known, labs(), mixSchedule())
	if len(prices) != 1 || !prices[0].Mix.OK {
		t.Fatalf("the prices are %+v", prices)
	}
	return prices[0].Mix.Value, prices[0].Value
}

func randomModels(rng *rand.Rand) (models []listed) {
	for range 1 + rng.IntN(4) {
		models = append(models, listed{
			input: 1 + rng.Int64N(50), cached: 1 + rng.Int64N(9), output: 1 + rng.Int64N(200),
			inputs: 1 + rng.Int64N(999), caches: 1 + rng.Int64N(99), outputs: 1 + rng.Int64N(99),
		})
	}
	return models
}

// about reports whether two prices are the same, but for the rounding of each.
func about(a, b, times assay.Nanos) bool {
	return max(a*times-b, b-a*times) <= times*assay.Unit(4)
}

// All prices times a factor is the index times the factor.
func TestPrices_Proportional(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		models := randomModels(rng)
		mix, all := priceOf(t, dayOf(0, models))
		for i := range models {
			models[i].input, models[i].cached, models[i].output = 7*models[i].input, 7*models[i].cached, 7*models[i].output
		}
		if times7, all7 := priceOf(t, dayOf(0, models)); !about(mix, times7, 7) || !about(all, all7, 7) {
			t.Fatalf("seven times the prices of %+v are %s and %s, after %s and %s", models, times7, all7, mix, all)
		}
	}
}

// At the same list prices, more output is no other price of the mix. Of all tokens it is: here three times as much.
func TestPrices_OutputShare(t *testing.T) {
	t.Parallel()
	before := []listed{{input: 1, cached: 1, output: 8, inputs: 90, caches: 1, outputs: 1}}
	after := []listed{{input: 1, cached: 1, output: 8, inputs: 10, caches: 1, outputs: 6}}
	mix, all := priceOf(t, dayOf(0, before))
	if mixAfter, allAfter := priceOf(t, dayOf(0, after)); mixAfter != mix || allAfter < 3*all {
		t.Errorf("with more output the mix is %s after %s, and all tokens %s after %s", mixAfter, mix, allAfter, all)
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for range 1000 {
		m := randomModels(rng)[:1]
		mix, _ := priceOf(t, dayOf(0, m))
		m[0].outputs += 1 + rng.Int64N(500)
		if got, _ := priceOf(t, dayOf(0, m)); got != mix {
			t.Fatalf("with more output the mix of %+v is %s after %s", m, got, mix)
		}
	}
}

// The same state has the same price, whatever was between, and days in reverse have theirs.
func TestPrices_IdentityAndReversal(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		var forward, backward []assay.Observed[assay.ModelDay]
		var states [][]listed
		for range 5 {
			states = append(states, randomModels(rng))
		}
		states = append(states, states[0])
		for i, s := range states {
			forward = append(forward, dayOf(int64(i)*assay.Day, s)...)
			backward = append(backward, dayOf(int64(len(states)-1-i)*assay.Day, s)...)
		}
		there, back := Prices(forward, labs(), mixSchedule()), Prices(backward, labs(), mixSchedule())
		slices.Reverse(back)
		for i := range there {
			if there[i].Mix != back[i].Mix || there[i].Value != back[i].Value {
				t.Fatalf("day %d is %+v, and in reverse %+v", i, there[i], back[i])
			}
		}
		if first, last := there[0], there[len(there)-1]; first.Mix != last.Mix || first.Value != last.Value {
			t.Fatalf("the same state is %+v and %+v", first, last)
		}
	}
}

// A price that rises lowers no index.
func TestPrices_Monotonic(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 4))
	for range 1000 {
		models := randomModels(rng)
		mix, all := priceOf(t, dayOf(0, models))
		m := &models[rng.IntN(len(models))]
		*[]*int64{&m.input, &m.cached, &m.output}[rng.IntN(3)] += 1 + rng.Int64N(20)
		if dearer, allDearer := priceOf(t, dayOf(0, models)); dearer < mix || allDearer < all {
			t.Fatalf("with a higher price %+v is %s and %s, after %s and %s", models, dearer, allDearer, mix, all)
		}
	}
}

// More of everything, another order and other names change nothing.
func TestPrices_Units(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 5))
	for range 500 {
		models := randomModels(rng)
		known := dayOf(0, models)
		mix, all := priceOf(t, known)
		rng.Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
		for i := range known {
			d := &known[i].Value
			d.Model = string(rune('z'-i)) + d.Model
			for _, n := range []*int64{&d.Requests, &d.InputTokens, &d.CachedTokens, &d.OutputTokens} {
				*n *= 3
			}
			for _, n := range []*assay.Nanos{&d.Dollars, &d.InputDollars, &d.CachedDollars, &d.OutputDollars} {
				*n *= 3
			}
			known[i].Key = d.Key()
		}
		if mixAfter, allAfter := priceOf(t, known); mixAfter != mix || allAfter != all {
			t.Fatalf("three times as much of %+v is %s and %s, after %s and %s", models, mixAfter, allAfter, mix, all)
		}
	}
}
