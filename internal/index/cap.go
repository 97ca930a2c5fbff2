package index

import (
	"math/big"

	"github.com/assaydata/assay"
)

// capped computes the index with no provider above the share that the methodology allows, and counts the providers that
// were cut; if none was, the value is undefined.
//
// Cutting a provider to the cap raises the shares of the others, so the check repeats until no share exceeds the cap.
// The methodology requires enough providers to share the whole, so some always stay uncut. With k providers cut, and
// U the weight of the others, the whole weighs T = U / (1 - k·cap), and
//
//	value = Σ others' amount / T  +  cap · Σ average prices of the cut providers
//
// The computation is exact, with one rounding at the end.
func capped(providers []provider, total sum, m Methodology) (value assay.Nanos, count int) {
	share := uint64(m.ProviderCap)
	cut := make([]bool, len(providers))
	others := total // of the providers that are not cut
	for again := true; again; {
		again = false
		// A provider's weight w exceeds cap·T when w·(1 - k·cap) > cap·U.
		rest, limit := uint64(Whole-min(Whole, count*m.ProviderCap)), others.weight.times(share)
		for i := range providers {
			if !cut[i] && limit.less(providers[i].sum.weight.times(rest)) {
				cut[i], again = true, true
			}
		}
		others, count = sum{}, 0
		for i := range providers {
			if cut[i] {
				count++
			} else {
				others.amount.add(providers[i].sum.amount)
				others.weight.add(providers[i].sum.weight)
			}
		}
	}
	if count == 0 {
		return 0, 0
	}
	averages := new(big.Rat) // of the cut providers
	for i := range providers {
		if cut[i] {
			s := &providers[i].sum
			averages.Add(averages, new(big.Rat).SetFrac(s.amount.big(), s.weight.big()))
		}
	}
	result := averages.Mul(averages, big.NewRat(int64(m.ProviderCap), Whole))
	rest := new(big.Rat).SetFrac(others.amount.big(), others.weight.big())
	result.Add(result, rest.Mul(rest, big.NewRat(int64(Whole-count*m.ProviderCap), Whole)))
	unit := assay.Unit(m.Decimals)
	divisor := new(big.Int).Mul(result.Denom(), big.NewInt(int64(unit)))
	return assay.Nanos(assay.DivideHalfEven(result.Num(), divisor)) * unit, count
}
