package tokens

import (
	"math/big"
	"slices"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/ln"
)

// The like-for-like index is what the same requests to the same models would cost. It is 100 on the base day, and each
// other day is compared with days between it and the base day, so that a day that is added beyond it changes nothing.
// The methods differ in how the prices of two states are compared, and over which days.

// setIndices sets the index of each row by the methodology in effect when its day ends.
func setIndices(costs []Cost, states []state, window int64, schedule index.Schedule) {
	made := map[index.LikeForLike][]ln.Log{}
	for i := range costs {
		rule := schedule.At(costs[i].Day + assay.Day).LikeForLike
		base := basePosition(states, rule)
		logs, ok := made[rule]
		if !ok {
			logs = indexLogs(states, rule, base)
			made[rule] = logs
		}
		costs[i].Index = indexText(logs[i])
		costs[i].Computed = newestReceived(states, window, min(i, base), max(i, base))
	}
}

// basePosition is the first state on or after the base day, or else the first of all.
func basePosition(states []state, rule index.LikeForLike) int {
	return max(0, slices.IndexFunc(states, func(s state) bool { return s.day >= rule.Base }))
}

// newestReceived is when the newest observation of the states from one to another, and of the windows they look back
// on, was received.
func newestReceived(states []state, window int64, from, to int) (at int64) {
	first := states[from].day - window
	for from > 0 && states[from-1].day > first {
		from--
	}
	for _, s := range states[from : to+1] {
		at = max(at, s.received)
	}
	return at
}

// indexLogs are the logarithms of the index by a rule, relative to the base day.
func indexLogs(states []state, rule index.LikeForLike, base int) []ln.Log {
	logs := make([]ln.Log, len(states))
	if rule.Method == index.GEKS {
		newGEKS(states, rule, logs).fill(base)
		return logs
	}
	change := lmdiChange
	if rule.Method == index.SatoVartia {
		change = satoVartia
	}
	for i := base + 1; i < len(states); i++ {
		logs[i] = logs[i-1].Plus(change(&states[i-1], &states[i]))
	}
	for i := base - 1; i >= 0; i-- {
		logs[i] = logs[i+1].Minus(change(&states[i], &states[i+1]))
	}
	return logs
}

// indexText is the index of a logarithm: 100 for zero, rounded half-even to six decimals.
func indexText(log ln.Log) string {
	const decimals, hundred = 6, 100_000_000 // millionths
	digits := log.Exp(hundred).String()
	if missing := decimals + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) - decimals
	return strings.TrimSuffix(strings.TrimRight(digits[:point]+"."+digits[point:], "0"), ".")
}

// lmdiChange is the price effect as a share of the cost (LMDI-I): methodology 1.0.0 has it. It is not proportional: if
// all prices halve while shares move, it is not one half.
func lmdiChange(before, now *state) (change ln.Log) {
	e := decompose(before, now)
	if e.price.Sign() == 0 {
		return change
	}
	// The effect is divided by the logarithmic mean of the costs of a request.
	from := new(big.Int).Mul(before.dollars, big.NewInt(now.requests))
	to := new(big.Int).Mul(now.dollars, big.NewInt(before.requests))
	whole := ln.OfBig(now.dollars).Minus(ln.Of(now.requests)).Minus(ln.OfBig(before.dollars).Minus(ln.Of(before.requests)))
	mean := meanTimes(to, from, whole, ln.FromBig(new(big.Int).Lsh(big.NewInt(1), ln.Bits)))
	return ln.FromBig(e.price.Quo(e.price.Lsh(e.price, ln.Bits), mean))
}

// satoVartia is the change of the prices of the models that both states have, weighted by the logarithmic means of
// their shares in the cost of these models (Sato-Vartia, LMDI-II). If all prices change by the same factor, it is that
// factor.
func satoVartia(before, now *state) ln.Log {
	type pair struct{ a, b *modelUse }
	var matched []pair
	was, is := new(big.Int), new(big.Int)
	eachModel(before, now, func(a, b *modelUse) {
		if a.comparable() && b.comparable() {
			matched = append(matched, pair{a, b})
			was.Add(was, big.NewInt(a.dollars))
			is.Add(is, big.NewInt(b.dollars))
		}
	})
	if len(matched) == 0 {
		return ln.Log{}
	}
	lnWas, lnIs := ln.OfBig(was), ln.OfBig(is)
	one := ln.FromBig(new(big.Int).Lsh(big.NewInt(1), ln.Bits))
	sum, weights := new(big.Int), new(big.Int)
	for _, m := range matched {
		from, to := new(big.Int).Mul(big.NewInt(m.a.dollars), is), new(big.Int).Mul(big.NewInt(m.b.dollars), was)
		share := m.b.lnDollars.Minus(lnIs).Minus(m.a.lnDollars.Minus(lnWas))
		weight := meanTimes(to, from, share, one)
		weights.Add(weights, weight)
		sum.Add(sum, weight.Mul(weight, priceChange(m.a, m.b).Big()))
	}
	return ln.FromBig(sum.Quo(sum, weights))
}

// geks computes the index of a rolling window (GEKS-Törnqvist). Two states are compared through all states of the
// window: the mean, over these, of the Törnqvist index from the one to the state and from it to the other. So a sale
// and a rebound leave nothing behind. Days further from the base day than the window continue from the day at its far
// end (a window splice).
type geks struct {
	states []pricedState
	days   int64 // of the window
	logs   []ln.Log
}

// pricedState has what a comparison needs: of each comparable model the logarithm of the price of a token and its
// dollars, in billionths of a dollar shifted so that their sum fits 62 bits.
type pricedState struct {
	day    int64
	models []pricedModel
}

type pricedModel struct {
	model   int
	price   ln.Log
	dollars uint64
}

func newGEKS(states []state, rule index.LikeForLike, logs []ln.Log) *geks {
	g := &geks{states: make([]pricedState, len(states)), days: int64(rule.WindowDays) * assay.Day, logs: logs}
	const most = 62
	for i := range states {
		s := &states[i]
		shift := max(0, s.dollars.BitLen()-most)
		g.states[i].day = s.day
		for _, m := range s.models {
			if m.comparable() {
				price := m.lnDollars.Minus(m.lnTokens)
				g.states[i].models = append(g.states[i].models, pricedModel{m.model, price, uint64(m.dollars) >> shift})
			}
		}
	}
	return g
}

// fill computes the logarithms from the base on, in both directions.
func (g *geks) fill(base int) {
	for i := base + 1; i < len(g.states); i++ {
		first := base
		for g.states[i].day-g.states[first].day >= g.days {
			first++
		}
		g.logs[i] = g.link(first, i, 1)
	}
	for i := base - 1; i >= 0; i-- {
		first := base
		for g.states[first].day-g.states[i].day >= g.days {
			first--
		}
		g.logs[i] = g.link(first, i, -1)
	}
}

// link is the logarithm of a state that continues from the far end of its window, which is in the given direction
// before it. If nothing connects the two, it is the next state of the window that is connected; without any, nothing
// has changed since the day before.
func (g *geks) link(first, last, direction int) ln.Log {
	for from := first; from != last; from += direction {
		if change, ok := g.change(first, from, last, direction); ok {
			return g.logs[from].Plus(change)
		}
	}
	return g.logs[last-direction]
}

// change is the logarithm of the change from one state to another through all of a window; ok is false if no state of
// it connects them.
func (g *geks) change(first, from, to, direction int) (mean ln.Log, ok bool) {
	var sum ln.Sum
	n := uint64(0)
	for via := first; via != to+direction; via += direction {
		a, okA := g.tornqvist(from, via)
		b, okB := g.tornqvist(via, to)
		if okA && okB {
			n++
			sum.Add(1, a)
			sum.Add(1, b)
		}
	}
	if n == 0 {
		return mean, false
	}
	return sum.Over(2 * n), true
}

// tornqvist is twice the logarithm of the change of prices from one state to another: of the models that both have,
// weighted by the means of their shares in the cost of these models. ok is false if they have none in common. The
// change in the other direction is its negative, to the last bit.
func (g *geks) tornqvist(from, to int) (twice ln.Log, ok bool) {
	if from == to {
		return twice, len(g.states[from].models) > 0
	}
	a, b := g.states[from].models, g.states[to].models
	var was, is ln.Sum
	var wasTotal, isTotal uint64
	for i, k := 0, 0; i < len(a) && k < len(b); {
		switch {
		case a[i].model < b[k].model:
			i++
		case a[i].model > b[k].model:
			k++
		default:
			change := b[k].price.Minus(a[i].price)
			was.Add(a[i].dollars, change)
			is.Add(b[k].dollars, change)
			wasTotal += a[i].dollars
			isTotal += b[k].dollars
			i++
			k++
		}
	}
	if wasTotal == 0 || isTotal == 0 {
		return twice, false
	}
	return was.Over(wasTotal).Plus(is.Over(isTotal)), true
}
