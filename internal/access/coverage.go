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

// CoveredUntil tells how long spans cover time without a gap from an instant on; it is that instant when none holds it.
// What comes behind a gap does not count: access that has ended is not revived by a later one.
func CoveredUntil(spans []Period, from int64) int64 {
	until := from
	for _, s := range slices.SortedFunc(slices.Values(spans), func(a, b Period) int { return cmp.Compare(a.From, b.From) }) {
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
