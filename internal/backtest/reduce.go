package backtest

import "github.com/assaydata/assay"

// maxDays is how many days a panel draws one by one: a little more than two years.
const maxDays = 800

// withGaps inserts an empty day where days are not published, so that no line is drawn across the gap.
func withGaps(days []Day) (all []Day) {
	for _, d := range days {
		if n := len(all); n > 0 && d.At-all[n-1].At > assay.Day+2*assay.Hour { // the clocks may have changed
			all = append(all, Day{At: all[n-1].At + assay.Day})
		}
		all = append(all, d)
	}
	return all
}

// reduce drops days if there are more than can be seen. Of each part it keeps the edges, the lowest and the highest
// value of both methodologies, the largest differences up and down, and a day without a value. So spikes keep their
// height, and gaps stay.
func reduce(days []Day) (kept []Day) {
	if len(days) <= maxDays {
		return days
	}
	const parts = 100
	for i := range parts {
		part := days[i*len(days)/parts : (i+1)*len(days)/parts]
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

// ranks are the reasons to keep a day: each keeps the day with the highest rank among those with ok.
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
