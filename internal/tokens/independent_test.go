package tokens

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/index/indextest"
)

// This file computes the workload's numbers again, from their definitions and with floats of 200 bits. It shares no
// code with the package.

const floatBits = 200

func number(n int64) *big.Float { return new(big.Float).SetPrec(floatBits).SetInt64(n) }

func plus(a, b *big.Float) *big.Float  { return new(big.Float).SetPrec(floatBits).Add(a, b) }
func minus(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(floatBits).Sub(a, b) }
func times(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(floatBits).Mul(a, b) }
func over(a, b *big.Float) *big.Float  { return new(big.Float).SetPrec(floatBits).Quo(a, b) }

// agm is the arithmetic-geometric mean.
func agm(a, b *big.Float) *big.Float {
	for {
		difference := minus(a, b)
		if difference.Sign() == 0 || difference.MantExp(nil)-a.MantExp(nil) < 8-floatBits {
			return a
		}
		a, b = over(plus(a, b), number(2)), new(big.Float).SetPrec(floatBits).Sqrt(times(a, b))
	}
}

// reference computes logarithms by the arithmetic-geometric mean, and remembers them.
type reference struct {
	pi, ln2 *big.Float
	logs    map[string]*big.Float
}

func newReference() *reference {
	r := &reference{logs: map[string]*big.Float{}}
	// π by Gauss and Legendre.
	a, b := number(1), over(number(1), new(big.Float).SetPrec(floatBits).Sqrt(number(2)))
	t, p := over(number(1), number(4)), number(1)
	for range 9 {
		next := over(plus(a, b), number(2))
		b = new(big.Float).SetPrec(floatBits).Sqrt(times(a, b))
		d := minus(a, next)
		t = minus(t, times(p, times(d, d)))
		a, p = next, times(p, number(2))
	}
	r.pi = over(times(plus(a, b), plus(a, b)), times(number(4), t))
	// ln 2 as the difference of two large ones: ln 2ᵏ⁺¹ - ln 2ᵏ needs none.
	const large = floatBits
	r.ln2 = over(r.lnOfLarge(new(big.Float).SetMantExp(number(1), large)), number(large))
	return r
}

// lnOfLarge is π/(2·agm(1, 4/x)), which holds for numbers above 2¹⁰⁰.
func (r *reference) lnOfLarge(x *big.Float) *big.Float {
	return over(r.pi, times(number(2), agm(number(1), over(number(4), x))))
}

func (r *reference) ln(x *big.Float) *big.Float {
	key := x.Text('p', 0)
	if known, ok := r.logs[key]; ok {
		return known
	}
	const shift = floatBits
	log := minus(r.lnOfLarge(new(big.Float).SetMantExp(x, shift)), times(r.ln2, number(shift)))
	r.logs[key] = log
	return log
}

// exp is the power of e by its series, after halving.
func (r *reference) exp(x *big.Float) *big.Float {
	const halvings = 40
	x = new(big.Float).SetMantExp(x, -halvings)
	sum, term := number(1), number(1)
	for n := int64(1); n < 12; n++ {
		term = over(times(term, x), number(n))
		sum = plus(sum, term)
	}
	for range halvings {
		sum = times(sum, sum)
	}
	return sum
}

// week is what each model did, by name.
type week map[string]used

type used struct{ requests, tokens, dollars int64 }

func (u used) priced() bool { return u.requests > 0 && u.tokens > 0 && u.dollars > 0 }

// total is the sum over models.
func (w week) total(of func(used) int64) *big.Float {
	sum := number(0)
	for _, u := range w {
		sum = plus(sum, number(of(u)))
	}
	return sum
}

func (w week) requests() *big.Float { return w.total(func(u used) int64 { return u.requests }) }
func (w week) dollars() *big.Float  { return w.total(func(u used) int64 { return u.dollars }) }

// both are the models that have a price in both weeks, by name.
func both(a, b week) (names []string) {
	for name, u := range a {
		if u.priced() && b[name].priced() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// mean is the logarithmic mean.
func (r *reference) mean(a, b *big.Float) *big.Float {
	if a.Cmp(b) == 0 {
		return a
	}
	return over(minus(a, b), r.ln(over(a, b)))
}

func unitPrice(u used) *big.Float { return over(number(u.dollars), number(u.tokens)) }

func (r *reference) moved(a, b used) *big.Float { return minus(r.ln(unitPrice(b)), r.ln(unitPrice(a))) }

// effects are the cents of LMDI-I.
func (r *reference) effects(a, b week) (priceEffect, intensity, mix *big.Float) {
	priceEffect, intensity, mix = number(0), number(0), number(0)
	const centsOfNanos = 10_000_000
	was, is := a.requests(), b.requests()
	names := map[string]bool{}
	for name := range a {
		names[name] = true
	}
	for name := range b {
		names[name] = true
	}
	for name := range names {
		x, y := a[name], b[name]
		from := over(number(x.dollars), times(was, number(centsOfNanos)))
		to := over(number(y.dollars), times(is, number(centsOfNanos)))
		if !x.priced() || !y.priced() {
			mix = plus(mix, minus(to, from))
			continue
		}
		m := r.mean(to, from)
		length := minus(r.ln(over(number(y.tokens), number(y.requests))), r.ln(over(number(x.tokens), number(x.requests))))
		share := minus(r.ln(over(number(y.requests), is)), r.ln(over(number(x.requests), was)))
		priceEffect = plus(priceEffect, times(m, r.moved(x, y)))
		intensity = plus(intensity, times(m, length))
		mix = plus(mix, times(m, share))
	}
	return priceEffect, intensity, mix
}

func (r *reference) lmdi(a, b week) *big.Float {
	names := both(a, b)
	if len(names) == 0 {
		return number(0)
	}
	const centsOfNanos = 10_000_000
	effect, _, _ := r.effects(a, b)
	from := over(a.dollars(), times(a.requests(), number(centsOfNanos)))
	to := over(b.dollars(), times(b.requests(), number(centsOfNanos)))
	return over(effect, r.mean(to, from))
}

func (r *reference) satoVartia(a, b week) *big.Float {
	was, is := number(0), number(0)
	for _, name := range both(a, b) {
		was, is = plus(was, number(a[name].dollars)), plus(is, number(b[name].dollars))
	}
	sum, weights := number(0), number(0)
	for _, name := range both(a, b) {
		weight := r.mean(over(number(b[name].dollars), is), over(number(a[name].dollars), was))
		weights = plus(weights, weight)
		sum = plus(sum, times(weight, r.moved(a[name], b[name])))
	}
	if weights.Sign() == 0 {
		return sum
	}
	return over(sum, weights)
}

func (r *reference) tornqvist(a, b week) (*big.Float, bool) {
	names := both(a, b)
	was, is := number(0), number(0)
	for _, name := range names {
		was, is = plus(was, number(a[name].dollars)), plus(is, number(b[name].dollars))
	}
	sum := number(0)
	for _, name := range names {
		shares := plus(over(number(a[name].dollars), was), over(number(b[name].dollars), is))
		sum = plus(sum, times(over(shares, number(2)), r.moved(a[name], b[name])))
	}
	return sum, len(names) > 0
}

// geks is the mean over all weeks of a window of the change through each of them, from its first week to its last.
func (r *reference) geks(weeks []week) *big.Float {
	first, last := weeks[0], weeks[len(weeks)-1]
	sum, n := number(0), int64(0)
	for _, via := range weeks {
		a, okA := r.tornqvist(first, via)
		b, okB := r.tornqvist(via, last)
		if okA && okB {
			sum, n = plus(sum, plus(a, b)), n+1
		}
	}
	return over(sum, number(n))
}

// digits is a number times a scale, rounded to the nearest integer; tied is true for one in the middle of two.
func digits(x *big.Float, scale int64) (n *big.Int, tied bool) {
	scaled := times(x, number(scale))
	half := number(1)
	half.SetMantExp(half, -1)
	if scaled.Sign() < 0 {
		half.Neg(half)
	}
	n, _ = plus(scaled, half).Int(nil)
	rest := minus(scaled, new(big.Float).SetInt(n))
	rest = minus(rest.Abs(rest), half.Abs(half))
	return n, rest.Sign() == 0 || rest.MantExp(nil) < -80
}

// same compares a published number of millionths or billionths with a computed one.
func same(t *testing.T, what, got string, want *big.Float, scale int64) {
	t.Helper()
	n, tied := digits(want, scale)
	published, ok := new(big.Rat).SetString(got)
	if !ok {
		t.Fatalf("%s: %q is no number", what, got)
	}
	published.Mul(published, big.NewRat(scale, 1))
	if !tied && (!published.IsInt() || published.Num().Cmp(n) != 0) {
		t.Fatalf("%s is %s, and computed otherwise %s", what, got, want.Text('f', 12))
	}
}

// An independent computation agrees with the package in every digit, on random markets whose models come and go.
func TestCosts_ComputedOtherwise(t *testing.T) {
	t.Parallel()
	values := 100_000
	if testing.Short() {
		values = 10_000
	}
	rng := rand.New(rand.NewPCG(21, 22))
	r := newReference()
	for checked := 0; checked < values; {
		const weeks = 12
		history := make([]week, weeks)
		var known []assay.Observed[assay.ModelDay]
		for i := range history {
			history[i] = week{}
			for model := range 3 {
				if model > 0 && rng.IntN(5) == 0 {
					continue
				}
				u := used{1 + scaled(rng, 6), 1 + scaled(rng, 9), 1 + scaled(rng, 13)}
				d := assay.ModelDay{
					Day: assay.Day + int64(i)*overWeek, Lab: "openai", Model: fmt.Sprint(model), Family: "flagship",
					Requests: u.requests, InputTokens: u.tokens, Dollars: assay.Nanos(u.dollars),
				}
				history[i][d.Model] = u
				known = append(known, assay.Observed[assay.ModelDay]{Value: d, Key: d.Key()})
			}
		}
		checked += compareWithReference(t, r, history, known, rng.IntN(weeks))
	}
}

// compareWithReference compares the rows of all methods, and returns how many numbers it has compared.
func compareWithReference(
	t *testing.T, r *reference, history []week, known []assay.Observed[assay.ModelDay], base int,
) (compared int) {
	t.Helper()
	for _, method := range []string{index.LMDI, index.SatoVartia, index.GEKS} {
		rule := by(method)
		rule.Base = assay.Day + int64(base)*overWeek
		costs := Costs(known, labs(), scheduleBy(rule))
		logs := append(r.logsBy(method, history[:base]), r.logsBy(method, history[base:])...)
		for i := range history {
			c := costs[2*i]
			if len(c.Index) < 20 { // of larger ones, which no market has, the last digits may differ
				same(t, method, c.Index, times(number(100), r.exp(logs[i])), 1_000_000)
				compared++
			}
			if method != index.LMDI || i == 0 {
				continue
			}
			// The rest of rounding goes to the largest effect, so that one is compared through the sum.
			p, q, m := r.effects(history[i-1], history[i])
			effects := []struct {
				got  assay.Nanos
				want *big.Float
			}{{c.Mix, m}, {c.Intensity, q}, {c.Price, p}}
			largest, most := 0, new(big.Int)
			for k := range effects {
				if n, _ := digits(effects[k].want, 1_000_000_000); n.CmpAbs(most) > 0 {
					largest, most = k, n
				}
			}
			for k := range effects {
				if k != largest {
					same(t, "an effect", effects[k].got.String(), effects[k].want, 1_000_000_000)
					compared++
				}
			}
			cents := over(times(history[i].dollars(), number(100)), times(history[i].requests(), number(1_000_000_000)))
			same(t, "the cost", c.Cents.String(), cents, 1_000_000_000)
			compared++
		}
	}
	return compared
}

// logsBy are the logarithms of the index of all weeks, from the first on.
func (r *reference) logsBy(method string, history []week) (logs []*big.Float) {
	change := r.lmdi
	if method == index.SatoVartia {
		change = r.satoVartia
	}
	for i := range history {
		switch {
		case i == 0:
			logs = append(logs, number(0))
		case method == index.GEKS: // all weeks are within a year
			logs = append(logs, r.geks(history[:i+1]))
		default:
			logs = append(logs, plus(logs[i-1], change(history[i-1], history[i])))
		}
	}
	return logs
}

// Token prices, computed with rational numbers, are the same in every digit, and so are their parts.
func TestPrices_ComputedOtherwise(t *testing.T) {
	t.Parallel()
	values := 100_000
	if testing.Short() {
		values = 10_000
	}
	m := index.Plain()
	m.TokenMix = index.TokenMix{Input: 6550, Cached: 1425, Output: 2025}
	rng := rand.New(rand.NewPCG(31, 32))
	for compared := 0; compared < values; {
		var known []assay.Observed[assay.ModelDay]
		type sums struct{ dollars, tokens int64 }
		var all, input, cached, output sums
		add := func(s *sums, dollars assay.Nanos, tokens int64) {
			s.dollars, s.tokens = s.dollars+int64(dollars), s.tokens+tokens
		}
		for model := range 1 + rng.IntN(4) {
			d := assay.ModelDay{
				Day: assay.Day, Lab: "openai", Model: fmt.Sprint(model), Family: "flagship", Requests: 1,
				InputTokens: 1 + scaled(rng, 9), OutputTokens: scaled(rng, 9), Dollars: assay.Nanos(scaled(rng, 13)),
			}
			d.Free = d.Dollars == 0
			if d.Split = rng.IntN(3) > 0 && !d.Free; d.Split {
				d.CachedTokens = rng.Int64N(d.InputTokens)
				if d.OutputTokens > 0 {
					d.OutputDollars = assay.Nanos(rng.Int64N(int64(d.Dollars) + 1))
				}
				if d.CachedTokens > 0 {
					d.CachedDollars = assay.Nanos(rng.Int64N(int64(d.Dollars-d.OutputDollars) + 1))
				}
				d.InputDollars = d.Dollars - d.OutputDollars - d.CachedDollars
				add(&input, d.InputDollars, d.InputTokens-d.CachedTokens)
				add(&cached, d.CachedDollars, d.CachedTokens)
				add(&output, d.OutputDollars, d.OutputTokens)
			}
			if !d.Free {
				add(&all, d.Dollars, d.InputTokens+d.OutputTokens)
			}
			known = append(known, assay.Observed[assay.ModelDay]{Value: d, Key: d.Key()})
		}
		prices := Prices(known, labs(), index.Schedule{m})
		if len(prices) == 0 {
			if all.tokens > 0 {
				t.Fatal("there is no price")
			}
			continue
		}
		perMillion := func(s sums) *big.Rat {
			return new(big.Rat).Mul(big.NewRat(s.dollars, s.tokens), big.NewRat(1, 1000)) // of billionths
		}
		same := func(what string, got assay.Nanos, want *big.Rat) {
			t.Helper()
			if got != indextest.FourDecimals(want) {
				t.Fatalf("%s is %v, and computed otherwise %s", what, got, want.FloatString(12))
			}
			compared++
		}
		p := prices[0]
		same("the price", p.Value, perMillion(all))
		for _, part := range []struct {
			name string
			got  Optional
			of   sums
		}{{"input", p.Input, input}, {"cached", p.Cached, cached}, {"output", p.Output, output}} {
			if part.got.OK != (part.of.tokens > 0 && input.dollars+cached.dollars+output.dollars > 0) {
				t.Fatalf("%s has a price: %t", part.name, part.got.OK)
			}
			if part.got.OK {
				same(part.name, part.got.Value, perMillion(part.of))
			}
		}
		if p.Mix.OK {
			if cached.tokens == 0 {
				cached = input
			}
			mix := new(big.Rat).Mul(perMillion(input), big.NewRat(6550, 10_000))
			mix.Add(mix, new(big.Rat).Mul(perMillion(cached), big.NewRat(1425, 10_000)))
			mix.Add(mix, new(big.Rat).Mul(perMillion(output), big.NewRat(2025, 10_000)))
			same("the mix", p.Mix.Value, mix)
		}
	}
}
