package tokens

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/ln"
)

// AllModels is the family of all models of a lab.
const AllModels = "all"

// Cost is what a request to a lab, or to one family of its models, cost over the days that end with a day.
type Cost struct {
	Day       int64
	Lab       string
	Family    string
	Cents     assay.Nanos // per request
	Ktok      assay.Nanos // thousand tokens per request
	Index     string      // like-for-like, as a decimal with up to six digits behind the point; 100 on the base day
	Price     assay.Nanos // the effects, in cents; they add up to the change of Cents since the previous row
	Intensity assay.Nanos
	Mix       assay.Nanos
	Unlinked  Optional // the share in the cost of models that the previous row cannot be compared with; none in the first
	Computed  int64    // when the newest observation it depends on was received: all days between it and the base day
}

// The time over which the cost of a request is averaged: a week, so that weekends do not show, or a day, which shows a
// change of a list price at once.
const (
	overWeek = 7 * assay.Day
	overDay  = assay.Day
)

// Costs returns the rows of all days, by day, then in the order of the catalog, then AllModels before the families by
// name. A lab or family has a row on each day with an observation. The like-for-like index of a day follows the
// methodology in effect when the day ends.
func Costs(known []assay.Observed[assay.ModelDay], labs []assay.Lab, schedule index.Schedule) []Cost {
	return (*Memory)(nil).Costs(known, labs, schedule)
}

// DailyCosts is Costs over single days instead of weeks.
func DailyCosts(known []assay.Observed[assay.ModelDay], labs []assay.Lab, schedule index.Schedule) []Cost {
	return (*Memory)(nil).DailyCosts(known, labs, schedule)
}

func (m *Memory) costsOver(
	window int64, known []assay.Observed[assay.ModelDay], labs []assay.Lab, schedule index.Schedule,
) (costs []Cost) {
	rows := sorted(known, labs)
	var histories [][]Cost
	for _, g := range groups(rows) {
		histories = append(histories, m.history(window, g.rows, g.family, schedule))
	}
	for i := range rows {
		today := rows[i].Day
		if i > 0 && today == rows[i-1].Day {
			continue
		}
		for k, h := range histories {
			if len(h) > 0 && h[0].Day == today {
				costs, histories[k] = append(costs, h[0]), h[1:]
			}
		}
	}
	return costs
}

// group is a lab, or a family of its models, with its rows.
type group struct {
	lab    int
	family string
	rows   []row
}

// groups returns the labs and their families in the order of the rows.
func groups(rows []row) []*group {
	type name struct {
		lab    int
		family string
	}
	var all []*group
	found := map[name]*group{}
	add := func(n name, r row) {
		g := found[n]
		if g == nil {
			g = &group{lab: n.lab, family: n.family}
			found[n] = g
			all = append(all, g)
		}
		g.rows = append(g.rows, r)
	}
	for _, r := range rows {
		add(name{r.lab, AllModels}, r)
		if r.Family != AllModels {
			add(name{r.lab, r.Family}, r)
		}
	}
	slices.SortFunc(all, func(a, b *group) int {
		if first := cmp.Compare(a.lab, b.lab); first != 0 || a.family == b.family {
			return first
		}
		switch AllModels {
		case a.family:
			return -1
		case b.family:
			return 1
		}
		return cmp.Compare(a.family, b.family)
	})
	return all
}

// use sums up the requests to one model in a window.
type use struct {
	requests, tokens int64
	dollars          int64 // billionths
}

func (u *use) add(r *row, sign int64) {
	u.requests += sign * r.Requests
	u.tokens += sign * r.tokens()
	u.dollars += sign * int64(r.Dollars)
}

// comparable reports whether the use has a price. One without requests, tokens or cost has nothing to compare.
func (u *use) comparable() bool { return u.requests > 0 && u.tokens > 0 && u.dollars > 0 }

// modelUse is the use of a model in a window, and the logarithms of its numbers if it is comparable.
type modelUse struct {
	model int // its position by name
	use
	lnRequests, lnTokens, lnDollars ln.Log
}

// state is the use of all models of a group in the seven days that end with a day.
type state struct {
	day      int64
	models   []modelUse // those with requests, by position
	requests int64
	dollars  *big.Int // billionths
	received int64    // when the newest observation of the day was
}

// statesOf returns the states of the days on which a group has an observation. Its observations are ordered by day.
func statesOf(window int64, rows []row) (states []state) {
	positions := modelPositions(rows)
	now := make([]use, len(positions))
	oldest := 0
	for i := 0; i < len(rows); {
		s := state{day: rows[i].Day, dollars: new(big.Int)}
		for ; i < len(rows) && rows[i].Day == s.day; i++ {
			now[positions[rows[i].Model]].add(&rows[i], 1)
			s.received = max(s.received, rows[i].received)
		}
		for ; rows[oldest].Day <= s.day-window; oldest++ {
			now[positions[rows[oldest].Model]].add(&rows[oldest], -1)
		}
		for model, u := range now {
			if u.requests == 0 {
				continue
			}
			m := modelUse{model: model, use: u}
			if u.comparable() {
				m.lnRequests, m.lnTokens, m.lnDollars = ln.Of(u.requests), ln.Of(u.tokens), ln.Of(u.dollars)
			}
			s.models = append(s.models, m)
			s.requests += u.requests
			s.dollars.Add(s.dollars, big.NewInt(u.dollars))
		}
		states = append(states, s)
	}
	return states
}

// history computes the rows of a group, whose observations are ordered by day.
func (m *Memory) history(window int64, rows []row, family string, schedule index.Schedule) (costs []Cost) {
	states := statesOf(window, rows)
	costs = make([]Cost, len(states))
	for i := range states {
		s, cost := &states[i], &costs[i]
		*cost = Cost{Day: s.day, Lab: rows[0].Lab, Family: family}
		cost.Cents, cost.Ktok = s.average()
		if i > 0 {
			cost.setEffects(decompose(&states[i-1], s), cost.Cents-costs[i-1].Cents)
		}
	}
	m.setIndices(costs, rows, states, window, schedule)
	return costs
}

// modelPositions numbers the models of a group by name.
func modelPositions(rows []row) map[string]int {
	var names []string
	positions := map[string]int{}
	for i := range rows {
		if _, ok := positions[rows[i].Model]; !ok {
			positions[rows[i].Model] = 0
			names = append(names, rows[i].Model)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		positions[name] = i
	}
	return positions
}

// average returns cents and thousand tokens per request, rounded half-even to nine and six decimals.
func (s *state) average() (cents, ktok assay.Nanos) {
	tokens := new(big.Int)
	for i := range s.models {
		tokens.Add(tokens, big.NewInt(s.models[i].tokens))
	}
	const millionth, millionthsPerKtok = 1000, 1000
	dollars := new(big.Int).Mul(s.dollars, big.NewInt(centsPerDollar))
	cents = assay.Nanos(assay.DivideHalfEven(dollars, big.NewInt(s.requests)))
	ktok = assay.Nanos(assay.DivideHalfEven(tokens.Mul(tokens, big.NewInt(millionthsPerKtok)), big.NewInt(s.requests))) *
		millionth
	return cents, ktok
}

const centsPerDollar = 100

// effectBits is how many bits behind the point sums of effects have.
const effectBits = 64

// effects are by how much prices, the length of requests and the mix of models changed the cost of a request. All have
// the same unit, which the numbers of requests of both states give: see Cost.setEffects.
type effects struct {
	price, intensity, mix *big.Int
	unit                  *big.Int // of them are a billionth of a dollar
}

// decompose splits the change of the cost into its effects, by logarithmic means (LMDI-I). A model that is not
// comparable in one of the states counts as mix.
func decompose(before, now *state) effects {
	was, is := big.NewInt(before.requests), big.NewInt(now.requests)
	unit := new(big.Int).Mul(was, is)
	e := effects{price: new(big.Int), intensity: new(big.Int), mix: new(big.Int), unit: unit.Lsh(unit, effectBits)}
	lnWas, lnIs := ln.Of(before.requests), ln.Of(now.requests)
	eachModel(before, now, func(a, b *modelUse) {
		from, to := new(big.Int).Mul(big.NewInt(a.dollars), is), new(big.Int).Mul(big.NewInt(b.dollars), was)
		if !a.comparable() || !b.comparable() {
			change := to.Sub(to, from)
			e.mix.Add(e.mix, change.Lsh(change, effectBits))
			return
		}
		length := b.lnTokens.Minus(b.lnRequests).Minus(a.lnTokens.Minus(a.lnRequests))
		share := b.lnRequests.Minus(lnIs).Minus(a.lnRequests.Minus(lnWas))
		price := priceChange(a, b)
		whole := price.Plus(length).Plus(share)
		e.price.Add(e.price, meanTimes(to, from, whole, price))
		e.intensity.Add(e.intensity, meanTimes(to, from, whole, length))
		e.mix.Add(e.mix, meanTimes(to, from, whole, share))
	})
	return e
}

// unlinked is the share in the cost of models that cannot be compared with the state before, rounded half-even to six
// decimals. What they cost is mix: their prices are not in the like-for-like index.
func unlinked(before, now *state) assay.Nanos {
	if now.dollars.Sign() == 0 {
		return 0
	}
	sum := new(big.Int)
	eachModel(before, now, func(a, b *modelUse) {
		if !a.comparable() || !b.comparable() {
			sum.Add(sum, big.NewInt(b.dollars))
		}
	})
	const millionths = 1000 // billionths
	return millionths * assay.Nanos(assay.DivideHalfEven(sum.Mul(sum, big.NewInt(million)), new(big.Int).Set(now.dollars)))
}

// priceChange is the logarithm of the change of a model's price for a token.
func priceChange(before, now *modelUse) ln.Log {
	return now.lnDollars.Minus(now.lnTokens).Minus(before.lnDollars.Minus(before.lnTokens))
}

// eachModel calls f for each model of one of the states. In the other it may have no requests.
func eachModel(before, now *state, f func(a, b *modelUse)) {
	var none modelUse
	a, b := before.models, now.models
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].model < b[0].model:
			f(&a[0], &none)
			a = a[1:]
		case len(a) == 0 || b[0].model < a[0].model:
			f(&none, &b[0])
			b = b[1:]
		default:
			f(&a[0], &b[0])
			a, b = a[1:], b[1:]
		}
	}
}

// meanTimes is the logarithmic mean of two numbers times a logarithm, with effectBits behind the point. It needs the
// logarithm of their quotient.
func meanTimes(a, b *big.Int, quotient, times ln.Log) *big.Int {
	divisor, product := quotient.Big(), times.Big()
	// The mean is (a-b)/ln(a/b). For numbers that are nearly equal, the quotient of these loses digits.
	const nearlyEqual = ln.Bits - 20
	if divisor.BitLen() <= nearlyEqual {
		product.Mul(product, new(big.Int).Add(a, b))
		return product.Quo(product.Lsh(product, seriesBits+effectBits), divisor.Lsh(averageOverMean(a, b), ln.Bits+1))
	}
	product.Mul(product, new(big.Int).Sub(a, b))
	return product.Quo(product.Lsh(product, effectBits), divisor)
}

// seriesBits is how many bits averageOverMean has behind the point.
const seriesBits = 128

// averageOverMean is how many times the logarithmic mean of two numbers, which are nearly equal, their average is: with
// u = (a-b)/(a+b), ln(a/b) is 2(u + u³/3 + u⁵/5 + …).
func averageOverMean(a, b *big.Int) *big.Int {
	u := new(big.Int).Sub(a, b)
	u.Quo(u.Lsh(u, seriesBits), new(big.Int).Add(a, b))
	square := u.Rsh(u.Mul(u, u), seriesBits)
	sum := new(big.Int).Lsh(big.NewInt(1), seriesBits)
	power := new(big.Int).Set(square)
	for n := int64(3); n <= 7; n += 2 { // the next one is below the last bit
		sum.Add(sum, new(big.Int).Quo(power, big.NewInt(n)))
		power.Rsh(power.Mul(power, square), seriesBits)
	}
	return sum
}

// setEffects rounds the effects so that they add up to the change. The rounding difference, a few billionths, goes to
// the largest effect, where it matters least.
func (c *Cost) setEffects(e effects, change assay.Nanos) {
	round := func(effect *big.Int) assay.Nanos {
		return assay.Nanos(assay.DivideHalfEven(effect.Mul(effect, big.NewInt(centsPerDollar)), new(big.Int).Set(e.unit)))
	}
	c.Price, c.Intensity, c.Mix = round(e.price), round(e.intensity), round(e.mix)
	largest := &c.Mix
	for _, effect := range []*assay.Nanos{&c.Intensity, &c.Price} {
		if max(*effect, -*effect) > max(*largest, -*largest) {
			largest = effect
		}
	}
	*largest += change - c.Price - c.Intensity - c.Mix
}
