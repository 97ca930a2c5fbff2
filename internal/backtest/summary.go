package backtest

import (
	"math/big"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
)

// Differs tells whether both values exist and differ.
func (d *Day) Differs() bool { return d.HasBase && d.HasCandidate && d.Base != d.Candidate }

// Difference is the candidate minus the base in percent of the base, rounded half-even to nine decimals. ok is false
// if a value is missing, or if the base is zero or so near to it that a percentage says nothing.
func (d *Day) Difference() (percent assay.Nanos, ok bool) {
	if !d.HasBase || !d.HasCandidate || d.Base == 0 {
		return 0, false
	}
	change := new(big.Int).Mul(big.NewInt(int64(d.Candidate-d.Base)), big.NewInt(int64(100*assay.One)))
	base := big.NewInt(int64(d.Base))
	if most := new(big.Int).Mul(base, big.NewInt(int64(largestPercent))); change.Cmp(most) > 0 {
		return 0, false
	}
	return assay.Nanos(assay.DivideHalfEven(change, base)), true
}

// largestPercent is what prices of GPUs can reach, and what charts can draw.
const largestPercent = 1_000_000_000 * assay.One

// Summary counts days and averages their differences.
type Summary struct {
	Days      int // published, or with data of a lab, with a value or without
	Base      int // of those, with a value of the base
	Candidate int // with a value of the candidate
	Moved     int // with values of both that differ
	Compared  int // with a difference in percent

	// Over the compared days, in percent of the base, rounded half-even to four decimals.
	Mean, MeanAbsolute, Largest assay.Nanos
	LargestAt                   int64 // the first day of the largest difference, up or down
}

// Summary summarizes the days of a series.
func (s *Series) Summary() Summary { return summarize(*s) }

// Last is the last day on which one of the methodologies gives a value; nil if there is none.
func (s *Series) Last() *Day {
	for i := len(s.Days) - 1; i >= 0; i-- {
		if d := &s.Days[i]; d.HasBase || d.HasCandidate {
			return d
		}
	}
	return nil
}

// Summary summarizes the days of all series.
func (c *Comparison) Summary() Summary { return summarize(c.Series...) }

// Stale counts the stale days of all series.
func (c *Comparison) Stale() (days int) {
	for i := range c.Series {
		days += c.Series[i].Stale
	}
	return days
}

func summarize(series ...Series) (s Summary) {
	var largest assay.Nanos // without its sign
	sum, absolute := new(big.Int), new(big.Int)
	for _, one := range series {
		for i := range one.Days {
			d := &one.Days[i]
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
