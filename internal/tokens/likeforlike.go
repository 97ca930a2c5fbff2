package tokens

import (
	"math/big"
	"slices"
	"sort"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/ln"
)

// The like-for-like index is what the same requests to the same models would cost. It is 100 on the base day, and each
// later day is compared with days between the base day and it, so that no day that is added later changes it. For the
// same reason the days before the base day do not count from there, but from the first of them, on which the index is
// 100 too. The methods differ in how the prices of two states are compared, and over which days.

// likeForLike is the like-for-like index of a group by one version of the methodology.
type likeForLike struct {
	states []state // in which models that replace others have their names
	logs   []ln.Log

	computed []int64 // when the newest observation that each index depends on was received
}

func (m *Memory) newLikeForLike(
	window int64, family string, rows []row, states []state, by index.Methodology,
) *likeForLike {
	if linked, found := linkedRows(rows, &by); found {
		rows, states = linked, statesOf(window, linked)
	}
	rule := by.LikeForLike
	base := basePosition(states, rule)
	logs := m.logs(remembering{rows[0].Lab, family, window, by.Version}, rows, func() []ln.Log {
		return append(indexLogs(states[:base], rule), indexLogs(states[base:], rule)...)
	})
	computed := append(newestReceived(states, window, 0, base), newestReceived(states, window, base, len(states))...)
	return &likeForLike{states: states, logs: logs, computed: computed}
}

// linkedRows returns rows in which models that replace others, by the methodology, have their names, and as many tokens
// as theirs are worth; found is false if there are none.
func linkedRows(rows []row, m *index.Methodology) (linked []row, found bool) {
	linked = slices.Clone(rows)
	for i := range linked {
		r := &linked[i]
		first, by := m.Linked(r.Lab, r.Model)
		if len(by) == 0 {
			continue
		}
		found = true
		tokens, unit := big.NewInt(r.tokens()), big.NewInt(1)
		for _, l := range by {
			tokens.Mul(tokens, big.NewInt(int64(l.Quality)))
			unit.Mul(unit, big.NewInt(index.QualityUnit))
		}
		r.Model, r.InputTokens, r.OutputTokens = first, assay.DivideHalfEven(tokens, unit), 0
	}
	return linked, found
}

// setIndices sets the index of each row, and what it leaves out, by the methodology in effect when its day ends.
func (m *Memory) setIndices(costs []Cost, rows []row, states []state, window int64, schedule index.Schedule) {
	made := map[string]*likeForLike{} // by version
	for i := range costs {
		by := schedule.At(costs[i].Day + assay.Day)
		l := made[by.Version]
		if l == nil {
			l = m.newLikeForLike(window, costs[0].Family, rows, states, by)
			made[by.Version] = l
		}
		costs[i].Index = indexText(l.logs[i])
		costs[i].Computed = l.computed[i]
		if i > 0 {
			costs[i].Unlinked = Optional{unlinked(&l.states[i-1], &l.states[i]), true}
		}
	}
}

// basePosition is how many states are before the base day.
func basePosition(states []state, rule index.LikeForLike) int {
	return sort.Search(len(states), func(i int) bool { return states[i].day >= rule.Base })
}

// newestReceived returns, for each state of [from, to), when the newest observation was received of the states from the
// first of them up to it, and of those in the window that the first looks back on.
func newestReceived(states []state, window int64, from, to int) (newest []int64) {
	if from == to {
		return nil
	}
	var at int64
	for i := from - 1; i >= 0 && states[i].day > states[from].day-window; i-- {
		at = max(at, states[i].received)
	}
	for i := range states[from:to] {
		at = max(at, states[from+i].received)
		newest = append(newest, at)
	}
	return newest
}

// indexLogs are the logarithms of the index by a rule, relative to the first state.
func indexLogs(states []state, rule index.LikeForLike) []ln.Log {
	logs := make([]ln.Log, len(states))
	if rule.Method == index.GEKS {
		newGEKS(states, rule, logs).fill()
		return logs
	}
	change := lmdiChange
	if rule.Method == index.SatoVartia {
		change = satoVartia
	}
	for i := 1; i < len(states); i++ {
		logs[i] = logs[i-1].Plus(change(&states[i-1], &states[i]))
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
// and a rebound leave nothing behind. Days further from the first than the window continue from the day at its far end
// (a window splice).
type geks struct {
	states []pricedState
	days   int64 // of the window
	logs   []ln.Log
	rows   []comparisons // by state; those that no later window needs are empty
	totals []total       // by state: of the comparisons of it and of each later state with it

	// The comparisons of each state of the window with its first one. They are far apart in rows.
	first int
	since []comparison
}

// comparisons are those of a state with each state of its window, the last of which is the state itself.
type comparisons struct {
	first int // state of the window
	with  []comparison
}

// comparison is twice the logarithm of the change of prices to a state; ok is false if nothing can be compared.
type comparison struct {
	twice ln.Log
	ok    bool
}

// total is a sum of comparisons.
type total struct {
	sum        ln.Sum
	incomplete bool // one of them cannot be compared
}

func (t *total) add(c comparison) {
	t.sum.Add(1, c.twice)
	t.incomplete = t.incomplete || !c.ok
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

// fill computes the logarithms.
func (g *geks) fill() {
	g.rows, g.totals = make([]comparisons, len(g.states)), make([]total, len(g.states))
	first := 0
	for i := range g.states {
		for g.states[i].day-g.states[first].day >= g.days {
			g.rows[first] = comparisons{}
			first++
		}
		row := comparisons{first, make([]comparison, 0, i-first+1)}
		var ofRow total
		for from := first; from <= i; from++ {
			c := g.tornqvist(from, i)
			row.with = append(row.with, c)
			ofRow.add(c)
			g.totals[from].add(c)
		}
		g.rows[i] = row
		if i > 0 {
			g.logs[i] = g.link(first, i, ofRow)
		}
	}
}

// continueSince makes since that of the window that ends with a state.
func (g *geks) continueSince(first, last int) {
	if first != g.first {
		g.first, g.since = first, g.since[:0]
	}
	for via := first + len(g.since); via <= last; via++ {
		g.since = append(g.since, g.compared(first, via))
	}
}

// compared is the comparison of two states of a window, in either order.
func (g *geks) compared(from, to int) comparison {
	if from <= to {
		return g.rows[to].with[from-g.rows[to].first]
	}
	back := g.compared(to, from)
	return comparison{ln.Log{}.Minus(back.twice), back.ok}
}

// link is the logarithm of a state that continues from the far end of its window. If nothing connects the two, it is
// the next state of the window that is connected; without any, nothing has changed since the day before.
//
// If the first and the last state can be compared with every state of the window, which is nearly always so, the
// change is the mean of two totals. That spares a walk over the window for each day.
func (g *geks) link(first, last int, ofLast total) ln.Log {
	if sinceFirst := &g.totals[first]; first < last && !sinceFirst.incomplete && !ofLast.incomplete {
		sum := sinceFirst.sum
		sum.Join(ofLast.sum)
		return g.logs[first].Plus(sum.Over(2 * uint64(last-first+1)))
	}
	g.continueSince(first, last)
	for from := first; from < last; from++ {
		if change, ok := g.change(first, from, last); ok {
			return g.logs[from].Plus(change)
		}
	}
	return g.logs[last-1]
}

// change is the logarithm of the change from one state to another through all of a window; ok is false if no state of
// it connects them.
func (g *geks) change(first, from, to int) (mean ln.Log, ok bool) {
	var sum ln.Sum
	n := uint64(0)
	for via := first; via <= to; via++ {
		a, b := &g.since[via-first], &g.rows[to].with[via-first]
		if from != first {
			other := g.compared(from, via)
			a = &other
		}
		if a.ok && b.ok {
			n++
			sum.Add(1, a.twice)
			sum.Add(1, b.twice)
		}
	}
	if n == 0 {
		return mean, false
	}
	return sum.Over(2 * n), true
}

// tornqvist compares a state with an earlier one, by the models that both have, weighted by the means of their shares
// in the cost of these models.
func (g *geks) tornqvist(from, to int) (c comparison) {
	if from == to {
		return comparison{ok: len(g.states[from].models) > 0}
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
		return c
	}
	return comparison{was.Over(wasTotal).Plus(is.Over(isTotal)), true}
}
