package audit

import "github.com/assaydata/assay"

// maxDays is how many days a panel draws one by one: two years and a little.
const maxDays = 800

// withGaps puts an empty day where days are not published, so that no line is drawn across.
func withGaps(days []Day) (all []Day) {
	for _, d := range days {
		if n := len(all); n > 0 && d.At-all[n-1].At > assay.Day+2*assay.Hour { // clocks may have changed
			all = append(all, Day{At: all[n-1].At + assay.Day})
		}
		all = append(all, d)
	}
	return all
}

// reduce leaves out days where there are more than can be seen. Of each stretch it keeps the edges, the lowest and the
// highest value of both, the largest differences up and down, and a day without a value, where there are such: so a spike
// stays as high as it was, and a gap a gap.
func reduce(days []Day) (kept []Day) {
	if len(days) <= maxDays {
		return days
	}
	const stretches = 100
	for i := range stretches {
		part := days[i*len(days)/stretches : (i+1)*len(days)/stretches]
		keep := make([]bool, len(part))
		keep[0], keep[len(part)-1] = true, true
		for _, rank := range ranks {
			if best := highest(part, rank); best >= 0 {
				keep[best] = true
			}
		}
		for j := range part {
			if keep[j] {
				kept = append(kept, part[j])
			}
		}
	}
	return kept
}

// ranks are the reasons to keep a day: of those for which ok is true, the one with the highest rank.
var ranks = []func(*Day) (rank assay.Nanos, ok bool){
	func(d *Day) (assay.Nanos, bool) { return d.Base, d.HasBase },
	func(d *Day) (assay.Nanos, bool) { return -d.Base, d.HasBase },
	func(d *Day) (assay.Nanos, bool) { return d.Candidate, d.HasCandidate },
	func(d *Day) (assay.Nanos, bool) { return -d.Candidate, d.HasCandidate },
	func(d *Day) (assay.Nanos, bool) { return d.Difference() },
	func(d *Day) (assay.Nanos, bool) { percent, ok := d.Difference(); return -percent, ok },
	func(d *Day) (assay.Nanos, bool) { return 0, !d.HasBase },
	func(d *Day) (assay.Nanos, bool) { return 0, !d.HasCandidate },
}

func highest(days []Day, rank func(*Day) (assay.Nanos, bool)) (best int) {
	best = -1
	var top assay.Nanos
	for i := range days {
		if value, ok := rank(&days[i]); ok && (best < 0 || value > top) {
			best, top = i, value
		}
	}
	return best
}
