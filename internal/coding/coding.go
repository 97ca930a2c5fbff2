// Package coding turns what coding tools did on a day into the values of products. It is pure: the same days, in any
// order, give the same values.
//
// A product shows one metric of one tool: pull requests, commits, or the merge rate, which is the share of a day's pull
// requests that were merged, in percent, rounded half-even to four decimals. A day without pull requests has no merge
// rate. A product that compares two tools shows the metric of both, on the days on which both have a value.
package coding

import (
	"cmp"
	"math/big"
	"slices"
	"sort"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
)

// Value is the value of a product on a day.
type Value struct {
	Day      int64 // midnight UTC
	Value    assay.Nanos
	Second   assay.Nanos // the other tool's value, in a comparison
	Received int64       // when we learned of it
}

// Series is the values of a product, oldest first.
type Series []Value

// Build computes the series of every product, by id.
func Build(days []assay.Observed[assay.CodingDay], products []assay.CodingProduct) map[string]Series {
	type metric struct{ tool, category string }
	byTool := map[string][]assay.Observed[assay.CodingDay]{}
	for _, d := range days {
		byTool[d.Value.Tool] = append(byTool[d.Value.Tool], d)
	}
	for _, list := range byTool {
		slices.SortFunc(list, func(a, b assay.Observed[assay.CodingDay]) int { return cmp.Compare(a.Value.Day, b.Value.Day) })
	}
	made := map[metric]Series{}
	all := make(map[string]Series, len(products))
	for _, p := range products {
		for _, tool := range p.Tools {
			if m := (metric{tool, p.Category}); made[m] == nil {
				made[m] = series(byTool[tool], p.Category)
			}
		}
		all[p.ID] = made[metric{p.Tools[0], p.Category}]
		if p.Compare {
			all[p.ID] = compared(all[p.ID], made[metric{p.Tools[1], p.Category}])
		}
	}
	return all
}

// series computes the values of one tool.
func series(days []assay.Observed[assay.CodingDay], category string) (values Series) {
	for i := range days {
		if v, ok := value(&days[i].Value, category); ok {
			values = append(values, Value{Day: days[i].Value.Day, Value: v, Received: days[i].Received})
		}
	}
	return values
}

// value returns the metric of a tool's day, if it has one.
func value(d *assay.CodingDay, category string) (v assay.Nanos, ok bool) {
	switch category {
	case assay.CodingPRs:
		return assay.Nanos(d.PRs) * assay.One, true
	case assay.CodingCommits:
		return assay.Nanos(d.Commits) * assay.One, true
	case assay.CodingMerge:
		return mergeRate(d.Merged, d.PRs)
	}
	return 0, false
}

// mergeRate returns the share of pull requests that were merged, in percent.
func mergeRate(merged, prs int64) (rate assay.Nanos, ok bool) {
	if prs == 0 {
		return 0, false
	}
	unit := assay.Unit(4)
	parts := new(big.Int).Mul(big.NewInt(merged), big.NewInt(int64(100*assay.One/unit)))
	return assay.Nanos(assay.DivideHalfEven(parts, big.NewInt(prs))) * unit, true
}

// compared joins two series on the days that both have a value.
func compared(a, b Series) (joined Series) {
	for _, v := range a {
		for len(b) > 0 && b[0].Day < v.Day {
			b = b[1:]
		}
		if len(b) > 0 && b[0].Day == v.Day {
			v.Second, v.Received = b[0].Value, max(v.Received, b[0].Received)
			joined = append(joined, v)
		}
	}
	return joined
}

// ChangePct returns the change of value i since the previous one, in percent. There is none without a previous value,
// or if that is zero.
func (s Series) ChangePct(i int) (change assay.Nanos, ok bool) { return s.change(i, i-1) }

// WeekChangePct returns the change of value i since the same day of the week before, so that weekends do not show.
func (s Series) WeekChangePct(i int) (change assay.Nanos, ok bool) {
	day := s[i].Day - 7*assay.Day
	before := s.before(day)
	if s[before].Day != day {
		return 0, false
	}
	return s.change(i, before)
}

func (s Series) change(i, before int) (change assay.Nanos, ok bool) {
	if before < 0 || s[before].Value == 0 {
		return 0, false
	}
	return index.ChangePct(s[i].Value, s[before].Value), true
}

// Partial reports whether the day of a value has not ended at a moment.
func (v *Value) Partial(moment int64) bool { return moment < v.Day+assay.Day }

// Range returns the positions [i, j) of the values whose days begin in [from, to].
func (s Series) Range(from, to int64) (i, j int) {
	i = s.before(from)
	return i, max(i, s.before(to+1))
}

// before returns how many days begin before an instant.
func (s Series) before(at int64) int {
	return sort.Search(len(s), func(i int) bool { return s[i].Day >= at })
}
