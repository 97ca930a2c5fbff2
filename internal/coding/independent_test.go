package coding

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index/indextest"
)

// An independent computation, with rational numbers, agrees with the package in every digit.
func TestBuild_ComputedOtherwise(t *testing.T) {
	t.Parallel()
	values := 100_000
	if testing.Short() {
		values = 10_000
	}
	products := []assay.CodingProduct{
		{ID: "prs", Category: assay.CodingPRs, Tools: []string{"cc"}},
		{ID: "merge", Category: assay.CodingMerge, Tools: []string{"cc"}},
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for compared := 0; compared < values; {
		byDay := map[int64]*big.Rat{} // merge rates
		var days []int64
		var known []assay.Observed[assay.CodingDay]
		for day := range int64(30) {
			if rng.IntN(4) == 0 {
				continue
			}
			d := assay.CodingDay{Day: day * assay.Day, Tool: "cc", PRs: rng.Int64N(1 << rng.IntN(25))}
			if d.PRs > 0 {
				d.Merged = rng.Int64N(d.PRs + 1)
				byDay[d.Day] = big.NewRat(100*d.Merged, d.PRs)
				days = append(days, d.Day)
			}
			known = append(known, assay.Observed[assay.CodingDay]{Value: d})
		}
		series := Build(known, products)
		merge := series["merge"]
		if len(merge) != len(days) || len(series["prs"]) != len(known) {
			t.Fatalf("there are %d rates of %d days, want %d of %d", len(merge), len(series["prs"]), len(days), len(known))
		}
		for i, day := range days {
			// A change is one of the published values, which are rounded.
			rate := func(day int64) *big.Rat { return big.NewRat(int64(indextest.FourDecimals(byDay[day])), 1) }
			against := func(before int64, known bool) (assay.Nanos, bool) {
				if !known || rate(before).Sign() == 0 {
					return 0, false
				}
				change := new(big.Rat).Sub(rate(day), rate(before))
				return indextest.FourDecimals(change.Mul(change.Quo(change, rate(before)), big.NewRat(100, 1))), true
			}
			if got := merge[i].Value; merge[i].Day != day || got != indextest.FourDecimals(byDay[day]) {
				t.Fatalf("the rate is %v, and computed otherwise %v", got, byDay[day])
			}
			wantChange, wantOK := assay.Nanos(0), false
			if i > 0 {
				wantChange, wantOK = against(days[i-1], true)
			}
			if got, ok := merge.ChangePct(i); got != wantChange || ok != wantOK {
				t.Fatalf("the change is %v (%t), and computed otherwise %v (%t)", got, ok, wantChange, wantOK)
			}
			wantChange, wantOK = against(day-7*assay.Day, byDay[day-7*assay.Day] != nil)
			if got, ok := merge.WeekChangePct(i); got != wantChange || ok != wantOK {
				t.Fatalf("the change of a week is %v (%t), and computed otherwise %v (%t)", got, ok, wantChange, wantOK)
			}
			compared += 3
		}
	}
}
