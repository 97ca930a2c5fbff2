package access

import (
	"cmp"
	"math"
	"slices"
)

// Period is the time [From, Until).
type Period struct{ From, Until int64 }

// Forever is the Until of a span without an end.
const Forever int64 = math.MaxInt64

// CoveredUntil returns until when spans cover time without a gap from an instant on. It returns that instant if no span
// contains it. Spans after a gap do not count: a later grant does not revive access that has ended.
func CoveredUntil(spans []Period, from int64) int64 {
	until := from
	byStart := func(a, b Period) int { return cmp.Compare(a.From, b.From) }
	for _, s := range slices.SortedFunc(slices.Values(spans), byStart) {
		if s.From > until {
			break
		}
		until = max(until, s.Until)
	}
	return until
}

// Overlap is the time that lies in a span of each list.
func Overlap(a, b []Period) (both []Period) {
	for _, x := range a {
		for _, y := range b {
			if s := (Period{max(x.From, y.From), min(x.Until, y.Until)}); s.From < s.Until {
				both = append(both, s)
			}
		}
	}
	return both
}
