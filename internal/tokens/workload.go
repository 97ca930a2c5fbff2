package tokens

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
)

// AllModels is the family of all models of a lab.
const AllModels = "all"

// Cost is what a request to a lab, or to one family of its models, cost over the seven days that end with a day.
type Cost struct {
	Day       int64
	Lab       string
	Family    string
	Cents     assay.Nanos // per request
	Ktok      assay.Nanos // thousand tokens per request
	Index     assay.Nanos // like-for-like; 100 on the first day
	Price     assay.Nanos // the effects, in cents; they add up to the change of Cents since the previous row
	Intensity assay.Nanos
	Mix       assay.Nanos
	Computed  int64 // when the newest observation it depends on was received, all earlier days included
}

// window is the time over which the cost of a request is averaged: a week, so that weekends do not show.
const window = 7 * assay.Day

// Costs returns the rows of all days, by day, then in the order of the catalog, then AllModels before the families by
// name. A lab or family has a row on each day with an observation.
func Costs(known []assay.Observed[assay.ModelDay], labs []assay.Lab) (costs []Cost) {
	rows := sorted(known, labs)
	var histories [][]Cost
	for _, g := range groups(rows) {
		histories = append(histories, history(g.rows, g.family))
	}
	for i := range rows {
		day := rows[i].Day
		if i > 0 && day == rows[i-1].Day {
			continue
		}
		for k, h := range histories {
			if len(h) > 0 && h[0].Day == day {
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

// history computes the rows of a group, whose observations are ordered by day.
func history(rows []row, family string) (costs []Cost) {
	positions := modelPositions(rows)
	before, now := make([]use, len(positions)), make([]use, len(positions))
	var last Cost
	var logIndex float64
	oldest, computed := 0, int64(0)
	for i := 0; i < len(rows); {
		day := rows[i].Day
		for ; i < len(rows) && rows[i].Day == day; i++ {
			now[positions[rows[i].Model]].add(&rows[i], 1)
			computed = max(computed, rows[i].received)
		}
		for ; rows[oldest].Day <= day-window; oldest++ {
			now[positions[rows[oldest].Model]].add(&rows[oldest], -1)
		}
		cost := Cost{Day: day, Lab: rows[0].Lab, Family: family, Computed: computed}
		cost.Cents, cost.Ktok = average(now)
		if len(costs) > 0 {
			e := decompose(before, now)
			logIndex += e.logPrice
			cost.setEffects(e, cost.Cents-last.Cents)
		}
		cost.Index = indexValue(logIndex)
		costs = append(costs, cost)
		last = cost
		copy(before, now)
	}
	return costs
}

// modelPositions numbers the models of a group by name, so that sums are always taken in the same order.
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
func average(models []use) (cents, ktok assay.Nanos) {
	requests, tokens, dollars := new(big.Int), new(big.Int), new(big.Int)
	for _, u := range models {
		requests.Add(requests, big.NewInt(u.requests))
		tokens.Add(tokens, big.NewInt(u.tokens))
		dollars.Add(dollars, big.NewInt(u.dollars))
	}
	const centsPerDollar, millionth, millionthsPerKtok = 100, 1000, 1000
	cents = assay.Nanos(assay.DivideHalfEven(dollars.Mul(dollars, big.NewInt(centsPerDollar)), new(big.Int).Set(requests)))
	ktok = assay.Nanos(assay.DivideHalfEven(tokens.Mul(tokens, big.NewInt(millionthsPerKtok)), requests)) * millionth
	return cents, ktok
}

// effects are the cents by which prices, the length of requests and the mix of models changed the cost, and the
// logarithm of the price change.
type effects struct{ price, intensity, mix, logPrice float64 }

// decompose splits the change of the cost into its effects. A model without requests, tokens or cost in one of the
// windows has nothing to compare, so its part of the change counts as mix.
func decompose(before, now []use) (e effects) {
	var requests, dollars [2]float64
	for i := range now {
		requests[0], requests[1] = requests[0]+float64(before[i].requests), requests[1]+float64(now[i].requests)
		dollars[0], dollars[1] = dollars[0]+float64(before[i].dollars), dollars[1]+float64(now[i].dollars)
	}
	const cents = 1e-7 // in a billionth of a dollar
	for i := range now {
		a, b := &before[i], &now[i]
		from, to := float64(cents*float64(a.dollars))/requests[0], float64(cents*float64(b.dollars))/requests[1]
		if !a.comparable() || !b.comparable() {
			e.mix += to - from
			continue
		}
		mean := logMean(to, from)
		e.price += float64(mean * index.Log(quotient(b.dollars, b.tokens)/quotient(a.dollars, a.tokens)))
		e.intensity += float64(mean * index.Log(quotient(b.tokens, b.requests)/quotient(a.tokens, a.requests)))
		e.mix += float64(mean * index.Log(float64(b.requests)/requests[1]/(float64(a.requests)/requests[0])))
	}
	if e.price != 0 {
		e.logPrice = e.price / logMean(float64(cents*dollars[1])/requests[1], float64(cents*dollars[0])/requests[0])
	}
	return e
}

// setEffects rounds the effects so that they add up to the change. The rounding difference, a few billionths, goes to
// the largest effect, where it matters least.
func (c *Cost) setEffects(e effects, change assay.Nanos) {
	c.Price, c.Intensity, c.Mix = nanos(e.price), nanos(e.intensity), nanos(e.mix)
	largest := &c.Mix
	for _, effect := range []*assay.Nanos{&c.Intensity, &c.Price} {
		if max(*effect, -*effect) > max(*largest, -*largest) {
			largest = effect
		}
	}
	*largest += change - c.Price - c.Intensity - c.Mix
}

func (u *use) comparable() bool { return u.requests > 0 && u.tokens > 0 && u.dollars > 0 }

func quotient(a, b int64) float64 { return float64(a) / float64(b) }

// logMean returns the logarithmic mean of two positive numbers, (a-b) / ln(a/b), which lies between them.
func logMean(a, b float64) float64 {
	// With u = (a-b)/(a+b), ln(a/b) is 2(u + u³/3 + u⁵/5 + …). Near zero the quotient loses digits, the series does not.
	u := (a - b) / (a + b)
	if math.Abs(u) > 0.05 {
		return (a - b) / index.Log(a/b)
	}
	square, sum := float64(u*u), 0.0
	for n := 13.0; n > 1; n -= 2 {
		sum = float64((sum + 1/n) * square)
	}
	return (a + b) / 2 / (1 + sum)
}

// indexValue returns the index of a sum of logarithms: 100 for zero, rounded half-even to six decimals.
func indexValue(log float64) assay.Nanos {
	const millionth = 1000
	return nanos(float64(100*exp(log))/millionth) * millionth
}

// nanos rounds half-even to billionths. The bounds prevent an overflow; no cost that can be imported, and no index,
// comes near them.
func nanos(x float64) assay.Nanos {
	const most = 1e15 // billionths, so that multiples of them fit too
	return assay.Nanos(math.RoundToEven(max(-most, min(most, float64(x*float64(assay.One))))))
}

// exp returns e to the power of x by the method of math.Exp. That one uses assembly on some machines and fused
// operations on others; here every product is rounded separately, so the digits are the same everywhere.
func exp(x float64) float64 {
	const (
		ln2Hi = 6.93147180369123816490e-01
		ln2Lo = 1.90821492927058770002e-10
		p1    = 1.66666666666666657415e-01
		p2    = -2.77777777770155933842e-03
		p3    = 6.61375632143793436117e-05
		p4    = -1.65339022054652515390e-06
		p5    = 4.13813679705723846039e-08

		farthest = 700 // a float64 overflows not far beyond
	)
	x = max(-farthest, min(farthest, x))
	k := math.RoundToEven(x * math.Log2E)
	high, low := x-float64(k*ln2Hi), float64(k*ln2Lo)
	r := high - low
	square := float64(r * r)
	c := r - float64(square*(p1+float64(square*(p2+float64(square*(p3+float64(square*(p4+float64(square*p5)))))))))
	return math.Ldexp(1-((low-float64(r*c)/(2-c))-high), int(k))
}
