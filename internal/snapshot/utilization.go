package snapshot

import (
	"cmp"
	"iter"
	"slices"
	"sort"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/appendonly"
)

// reading is a utilization reading as a line keeps it.
type reading struct{ at, rented, tracked, received int64 }

// readings are the utilization readings of a line in the order of time, those of one instant in the order of receipt.
type readings struct{ appendonly.List[reading] }

// Utilization is the capacity of a line at one instant, summed over sources and regions.
type Utilization struct {
	At              int64
	Rented, Tracked int64
	Received        int64 // when the newest part of it was
}

// Utilization gives the instants in [from, to] of which something was known at an instant, oldest first, each with what
// was known of it.
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

// addUtilization gives each new reading to the global line of its GPU and, where it has a region, to that region's.
func (s *Snapshot) addUtilization(added []assay.UtilizationReading) {
	byLine := map[assay.Line][]reading{}
	for _, r := range added {
		kept := reading{r.At, r.Rented, r.Tracked, r.Received}
		global := assay.Line{GPU: r.GPU, Region: assay.Global}
		byLine[global] = append(byLine[global], kept)
		if r.Region != "" && r.Region != assay.Global {
			region := assay.Line{GPU: r.GPU, Region: r.Region}
			byLine[region] = append(byLine[region], kept)
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

// merged is the readings with more of them. It shares what is there unless one of the new lies before its end.
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

// compare orders readings completely, so that sums and what they are made of do not depend on how they came.
func (r reading) compare(o reading) int {
	return cmp.Or(cmp.Compare(r.at, o.at), cmp.Compare(r.received, o.received), cmp.Compare(r.rented, o.rented), cmp.Compare(r.tracked, o.tracked))
}
