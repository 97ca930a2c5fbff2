package index

import (
	"math"
	"math/big"
	"slices"

	"github.com/assaydata/assay"
)

// Mean is the plain average of values, of which there is at least one, rounded once to the methodology's decimals.
func (m Methodology) Mean(values []assay.Nanos) assay.Nanos {
	total := new(big.Int)
	for _, v := range values {
		total.Add(total, big.NewInt(int64(v)))
	}
	unit := assay.Unit(m.Decimals)
	return assay.Nanos(assay.DivideHalfEven(total, big.NewInt(int64(len(values))*int64(unit)))) * unit
}

// Stats describe the prints of a window.
type Stats struct {
	Min, Max assay.Nanos
	StdDev   assay.Nanos // of the whole population, rounded half-even to six decimals
	Samples  int
}

// Describe gives the statistics of values; without any, all of it is zero.
func Describe(values []assay.Nanos) Stats {
	if len(values) == 0 {
		return Stats{}
	}
	// Differences from the first value are small whole numbers, so the sums below lose nothing that shows.
	var sum, squares float64
	for _, v := range values {
		d := float64(v - values[0])
		sum += d
		squares += float64(d * d) // the conversion forbids fusing, so every machine gives the same digits
	}
	n := float64(len(values))
	spread := math.Sqrt(max(0, float64(n*squares)-float64(sum*sum))) / n
	const unit = 1000 // a millionth, in billionths
	return Stats{slices.Min(values), slices.Max(values), assay.Nanos(math.RoundToEven(spread/unit)) * unit, len(values)}
}

// ChangePct is the change from before to now in percent, rounded half-even to four decimals.
func ChangePct(now, before assay.Nanos) assay.Nanos {
	unit := assay.Unit(4)
	change := new(big.Int).Mul(big.NewInt(int64(now-before)), big.NewInt(int64(100*assay.One/unit)))
	return assay.Nanos(assay.DivideHalfEven(change, big.NewInt(int64(before)))) * unit
}
