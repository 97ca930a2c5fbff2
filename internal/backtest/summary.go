package backtest

import (
	"math/big"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
)

// Differs tells whether both values exist and differ.
func (d *Day) Differs() bool { return d.HasBase && d.HasCandidate && d.Base != d.Candidate }

// Difference is the candidate minus the base in percent of the base, rounded half-even to nine decimals. ok is false
// if a value is missing or the base is zero.
func (d *Day) Difference() (percent assay.Nanos, ok bool) {
	if !d.HasBase || !d.HasCandidate || d.Base == 0 {
		return 0, false
	}
	change := new(big.Int).Mul(big.NewInt(int64(d.Candidate-d.Base)), big.NewInt(int64(100*assay.One)))
	return assay.Nanos(assay.DivideHalfEven(change, big.NewInt(int64(d.Base)))), true
}

// Summary counts days and averages their differences.
type Summary struct {
	Days      int // published, with a value or without
	Base      int // of those, with a value of the base
	Candidate int // with a value of the candidate
	Moved     int // with values of both that differ
	Compared  int // with a difference in percent

	// Over the compared days, in percent of the base, rounded half-even to four decimals.
	Mean, MeanAbsolute, Largest assay.Nanos
	LargestAt                   int64 // the first day of the largest difference, up or down
}

// Summary summarizes the days of a GPU.
func (g *GPUDays) Summary() Summary { return summarize(*g) }

// Summary summarizes the days of all GPUs.
func (c *Comparison) Summary() Summary { return summarize(c.GPUs...) }

// Stale counts the stale days of all GPUs (see GPUDays).
func (c *Comparison) Stale() (days int) {
	for i := range c.GPUs {
		days += c.GPUs[i].Stale
	}
	return days
}

func summarize(gpus ...GPUDays) (s Summary) {
	var largest assay.Nanos // without its sign
	sum, absolute := new(big.Int), new(big.Int)
	for _, gpu := range gpus {
		for i := range gpu.Days {
			d := &gpu.Days[i]
			s.count(d)
			percent, ok := d.Difference()
			if !ok {
				continue
			}
			s.Compared++
			size := max(percent, -percent)
			sum.Add(sum, big.NewInt(int64(percent)))
			absolute.Add(absolute, big.NewInt(int64(size)))
			if size > largest || size == largest && size > 0 && d.At < s.LargestAt {
				largest, s.Largest, s.LargestAt = size, index.ChangePct(d.Candidate, d.Base), d.At
			}
		}
	}
	s.Mean, s.MeanAbsolute = mean(sum, s.Compared), mean(absolute, s.Compared)
	return s
}

func (s *Summary) count(d *Day) {
	s.Days++
	if d.HasBase {
		s.Base++
	}
	if d.HasCandidate {
		s.Candidate++
	}
	if d.Differs() {
		s.Moved++
	}
}

// mean is the sum of n percentages divided by n, rounded to four decimals; 0 if n is 0.
func mean(sum *big.Int, n int) assay.Nanos {
	unit := assay.Unit(4)
	return assay.Nanos(assay.DivideHalfEven(sum, big.NewInt(int64(unit)*int64(max(n, 1))))) * unit
}
