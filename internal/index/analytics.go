package index

import (
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/assaydata/assay"
)

// Mean is the unweighted average of one or more values, rounded once to the methodology's decimals.
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

// Describe computes the statistics of values; without values, all fields are zero.
func Describe(values []assay.Nanos) Stats {
	if len(values) == 0 {
		return Stats{}
	}
	// Differences from the first value are small integers, so the floating-point sums are exact enough.
	var sum, squares float64
	for _, v := range values {
		d := float64(v - values[0])
		sum += d
		squares += float64(d * d) // the conversion forbids fusing, so every machine gives the same digits
	}
	n := float64(len(values))
	spread := math.Sqrt(max(0, float64(n*squares)-float64(sum*sum))) / n
	const unit = 1000 // a millionth, in billionths
	return Stats{
		Min: slices.Min(values), Max: slices.Max(values),
		StdDev: assay.Nanos(math.RoundToEven(spread/unit)) * unit, Samples: len(values),
	}
}

// ChangePct is the change from before to now in percent, rounded half-even to four decimals.
func ChangePct(now, before assay.Nanos) assay.Nanos {
	unit := assay.Unit(4)
	change := new(big.Int).Mul(big.NewInt(int64(now-before)), big.NewInt(int64(100*assay.One/unit)))
	return assay.Nanos(assay.DivideHalfEven(change, big.NewInt(int64(before)))) * unit
}

// Returns computes the logarithmic returns of prices above zero, one fewer than there are prices.
func Returns(prices []assay.Nanos) []float64 {
	returns := make([]float64, 0, max(0, len(prices)-1))
	for i := 1; i < len(prices); i++ {
		returns = append(returns, logRatio(prices[i], prices[i-1]))
	}
	return returns
}

// PrintsPerYear annualizes the volatility of a grain.
func PrintsPerYear(grain assay.Grain) int {
	if grain == assay.Hourly {
		return 8760
	}
	return 365
}

// Volatility is the sample standard deviation of returns times the square root of the returns per year, rounded
// half-even to six decimals; ok is false below two returns.
func Volatility(returns []float64, perYear int) (v assay.Nanos, ok bool) {
	if len(returns) < 2 {
		return 0, false
	}
	var sum, squares float64
	for _, r := range returns {
		sum += r
	}
	mean := sum / float64(len(returns))
	for _, r := range returns {
		d := r - mean
		squares += float64(d * d) // the conversion forbids fusing, so every machine gives the same digits
	}
	deviation := math.Sqrt(squares / float64(len(returns)-1))
	const millionth, perUnit = 1000, 1e6
	annual := float64(deviation * math.Sqrt(float64(perYear)))
	return assay.Nanos(math.RoundToEven(annual*perUnit)) * millionth, true
}

// logRatio is ln(a/b) of numbers above zero.
func logRatio(a, b assay.Nanos) float64 { return Log(float64(a) / float64(b)) }

// Log is ln(x) for x above zero. It is the algorithm of math.Log, which is assembly on some machines and fused on
// others. Here every product is rounded separately, so the digits are the same everywhere.
func Log(x float64) float64 {
	const (
		ln2Hi = 6.93147180369123816490e-01
		ln2Lo = 1.90821492927058770002e-10
		l1    = 6.666666666666735130e-01
		l2    = 3.999999999940941908e-01
		l3    = 2.857142874366239149e-01
		l4    = 2.222219843214978396e-01
		l5    = 1.818357216161805012e-01
		l6    = 1.531383769920937332e-01
		l7    = 1.479819860511658591e-01
	)
	fraction, exponent := math.Frexp(x)
	if fraction < math.Sqrt2/2 {
		fraction, exponent = fraction*2, exponent-1
	}
	f, k := fraction-1, float64(exponent)
	s := f / (2 + f)
	s2 := float64(s * s)
	s4 := float64(s2 * s2)
	odd := float64(s2 * (l1 + float64(s4*(l3+float64(s4*(l5+float64(s4*l7)))))))
	even := float64(s4 * (l2 + float64(s4*(l4+float64(s4*l6)))))
	half := float64(float64(0.5*f) * f)
	low := float64(s*(half+(odd+even))) + float64(k*ln2Lo)
	return float64(k*ln2Hi) - ((half - low) - f)
}

// RatioMean averages the rented shares of tracked capacity. The zero value is ready to use.
type RatioMean struct {
	hi, lo uint64 // the sum in quintillionths, 128 bits
	n      int64
}

// shareUnit is the resolution of a share: a quintillionth, so that the rounding of shares never shows in the mean.
const shareUnit = 1_000_000_000_000_000_000

// Add adds a share; rented is at most tracked, which is above zero.
func (m *RatioMean) Add(rented, tracked int64) {
	hi, lo := bits.Mul64(uint64(rented), shareUnit)
	share, rest := bits.Div64(hi, lo, uint64(tracked))
	if rest >= uint64(tracked)-rest {
		share++
	}
	var carry uint64
	m.lo, carry = bits.Add64(m.lo, share, 0)
	m.hi += carry
	m.n++
}

// Mean is the average of the shares, rounded half-even to six decimals; ok is false if there are none.
func (m *RatioMean) Mean() (mean assay.Nanos, ok bool) {
	if m.n == 0 {
		return 0, false
	}
	const millionth = 1000
	sum := new(big.Int).SetUint64(m.hi)
	sum.Lsh(sum, 64).Or(sum, new(big.Int).SetUint64(m.lo))
	divisor := new(big.Int).Mul(big.NewInt(m.n), big.NewInt(shareUnit/(int64(assay.One)/millionth)))
	return assay.Nanos(assay.DivideHalfEven(sum, divisor)) * millionth, true
}
