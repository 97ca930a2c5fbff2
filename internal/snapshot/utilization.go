package snapshot

import (
	"cmp"
	"iter"
	"slices"
	"sort"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/appendonly"
)

// reading is a utilization reading of a line.
type reading struct{ at, rented, tracked, received int64 }

// readings are the utilization readings of a line, ordered by instant, then by receipt.
type readings struct{ appendonly.List[reading] }

// Utilization is the capacity of a line at one instant, summed over sources and regions.
type Utilization struct {
	At              int64
	Rented, Tracked int64
	Received        int64 // when the newest part of it was received
}

// Utilization returns the instants in [from, to] with a reading that was received up to known, oldest first, each with
// the sum of those readings.
func (l *Line) Utilization(from, to, known int64) iter.Seq[Utilization] {
	all := l.utilization.Items()
	first := sort.Search(len(all), func(i int) bool { return all[i].at >= from })
	return func(yield func(Utilization) bool) {
		var u Utilization
		for _, r := range all[first:] {
			if r.at > to {
				break
			}
			if r.received > known {
				continue
			}
			if r.at != u.At && u.Tracked > 0 {
				if !yield(u) {
					return
				}
				u = Utilization{}
			}
			u = Utilization{r.at, u.Rented + r.rented, u.Tracked + r.tracked, max(u.Received, r.received)}
		}
		if u.Tracked > 0 {
			yield(u)
		}
	}
}

// addUtilization adds each new reading to the global line of its GPU model and to the line of its region, if it has
// one.
func (s *Snapshot) addUtilization(added []assay.UtilizationReading) {
	byLine := map[assay.Line][]reading{}
	for _, r := range added {
		added := reading{at: r.At, rented: r.Rented, tracked: r.Tracked, received: r.Received}
		global := assay.Line{GPU: r.GPU, Region: assay.Global}
		byLine[global] = append(byLine[global], added)
		if r.Region != "" && r.Region != assay.Global {
			region := assay.Line{GPU: r.GPU, Region: r.Region}
			byLine[region] = append(byLine[region], added)
		}
	}
	for name, added := range byLine {
		if line, ok := s.lines[name]; ok {
			next := *line
			next.utilization = line.utilization.merged(added)
			s.lines[name] = &next
		}
	}
}

// merged returns the readings with more of them. It shares the array unless a new reading lies before its end.
func (r readings) merged(added []reading) readings {
	slices.SortFunc(added, reading.compare)
	present := r.Items()
	if n := len(present); n == 0 || added[0].compare(present[n-1]) >= 0 {
		return readings{r.With(added)}
	}
	all := slices.Concat(present, added)
	slices.SortFunc(all, reading.compare)
	return readings{appendonly.List[reading]{}.With(all)}
}

// compare is a total order, so that results do not depend on the order of arrival.
func (r reading) compare(o reading) int {
	return cmp.Or(cmp.Compare(r.at, o.at), cmp.Compare(r.received, o.received), cmp.Compare(r.rented, o.rented),
		cmp.Compare(r.tracked, o.tracked))
}
