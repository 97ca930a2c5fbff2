package demo

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/assaydata/assay"
)

// micro is a number in millionths: a share, a factor or a natural logarithm.
//
// The generators compute with whole numbers only, and every division truncates. The result therefore has the same
// digits on every processor and with every version of Go. Floating-point numbers would not: a compiler may fuse a
// multiplication with an addition, math.Exp may differ in its last bit, and one such bit moves a price across the edge
// of its rounding. The single exception is root, which argues for itself.
type micro = int64

const million = 1_000_000

// times multiplies a whole number by a factor.
func times(n int64, factor micro) int64 { return n * factor / million }

// root is the integer square root of a number from 0 to 2^52. IEEE 754 requires the nearest double of a square root,
// the argument is exact, and the root of a perfect square is exact too, so the whole part is the same everywhere.
func root(n int64) int64 { return int64(math.Sqrt(float64(n))) }

// exp is nearly the exponential function, by its Padé approximant of degree 2: it rises, stays above 0, and is right to
// 0.2 % from -1 to 1, which is farther than the market goes. Beyond 2 it stays at its value there.
func exp(x micro) micro {
	x = min(max(x, -2*million), 2*million)
	below := 12*million*million - 6*million*x + x*x
	return million + 12_000*million*x/(below/1_000)
}

// wave is a curve of the given period in hours, between -1 and 1, at hour n. The phase is a share of the period. Two
// parabolas stand in for a sine.
func wave(n, period int64, phase micro) micro {
	x := (n%period*million/period + phase) % million
	if x < million/2 {
		return 16 * x * (million/2 - x) / million
	}
	return -16 * (x - million/2) * (million - x) / million
}

// noise is a smooth random curve between -1 and 1 with a new value every so many hours.
func noise(salt uint64, n, hours int64) micro {
	cell, x := n/hours, n%hours*million/hours
	from, to := unit(mix(salt, uint64(cell))), unit(mix(salt, uint64(cell+1)))
	smooth := x * x / million * (3*million - 2*x) / million
	return 2*from - million + 2*times(to-from, smooth)
}

// yearsFrom2026 is how many years after the start of 2026 hour n lies. Farther away it flattens: it stays between -2
// and 2, so that no date takes a trend to extremes.
func yearsFrom2026(n int64) micro {
	const start2026, hoursPerYear = 490_896, 8766
	years := min(max((n-start2026)*million/hoursPerYear, -50*million), 50*million)
	return years * million / root(million*million+years*years/4)
}

// weekend tells whether hour n is on a Saturday or a Sunday, in UTC. 1 January 1970 was a Thursday.
func weekend(n int64) bool {
	day := n / 24 % 7
	return day == 2 || day == 3
}

// week is 1 on Wednesday noon and -1 as Sunday begins.
func week(n int64) micro {
	const wednesdayNoon = 6*24 + 12
	return wave(n+7*24-wednesdayNoon, 7*24, million/4)
}

// mix hashes two numbers into one, by two rounds of the finalizer of SplitMix64.
func mix(a, b uint64) uint64 { return scramble(scramble(a) + b) }

func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit turns random bits into a number from 0 up to 1.
func unit(x uint64) micro { return below(x, million) }

// below turns random bits into a whole number from 0 to n-1.
func below(x uint64, n int64) int64 {
	high, _ := bits.Mul64(x, uint64(n))
	return int64(high)
}

// dice are the draws of one hour, day or site. Only the bits come from the library: how rand.Rand turns them into
// numbers is not guaranteed to stay.
type dice struct{ rand.PCG }

// below is a whole number from 0 to n-1.
func (d *dice) below(n int64) int64 { return below(d.Uint64(), n) }

// spread is a number between -1 and 1.
func (d *dice) spread() micro { return d.below(2*million+1) - million }

// bell is nearly normal, with standard deviation 1, and never beyond 3.5: the sum of four spreads.
func (d *dice) bell() micro {
	const halfRootOf3 = 866_025
	return times(d.spread()+d.spread()+d.spread()+d.spread(), halfRootOf3)
}

// weights are running sums, to draw an index in proportion to its weight.
type weights []int64

func newWeights(each ...int64) weights {
	var w weights
	for _, weight := range each {
		w = w.with(weight)
	}
	return w
}

// with returns w and one more weight.
func (w weights) with(weight int64) weights {
	if len(w) > 0 {
		weight += w[len(w)-1]
	}
	return append(w, weight)
}

func (w weights) draw(d *dice) int {
	r, i := d.below(w[len(w)-1]), 0
	for r >= w[i] {
		i++
	}
	return i
}

// decimals rounds an amount in nanodollars to a number of decimals, and to at least one unit of the last.
func decimals(usd int64, n int) assay.Nanos {
	step := int64(assay.Unit(n))
	return assay.Nanos(max((usd+step/2)/step, 1) * step)
}
