package events

import (
	"cmp"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/utilization"
)

// keptUtilization is for how long the snapshot remembers what was received of utilization.
const keptUtilization = utilization.ArrivalsKept

// received is what was received of a series at one moment. The values are for the routes to say: they follow from many
// observations, and one may change all of them.
type received struct {
	family   assay.Family
	series   string
	at       int64
	from, to int64 // the instants that it is about
	rows     int
}

// observed makes the events of a family's observations.
func (m *maker) observed(f assay.Family) {
	sequence := observedSeq + int(f)
	from := m.at.marks[sequence]
	first := from.At
	if from.complete() {
		first++
	}
	var list []received
	m.snap.Observations[f].EachArrival(first, func(a family.Arrival) {
		if n := len(list); n > 0 && list[n-1].at == a.Received && list[n-1].series == a.Series {
			last := &list[n-1]
			last.from, last.to, last.rows = min(last.from, a.At), max(last.to, a.At), last.rows+1
			return
		}
		list = append(list, received{f, a.Series, a.Received, a.At, a.At, 1})
	})
	list = merged(list)
	index := 0
	for i := range list {
		r := &list[i]
		if i > 0 && list[i-1].at != r.at {
			index = 0
		}
		last := i == len(list)-1 || list[i+1].at != r.at
		if paid, shown := m.series(f, r.series); shown {
			m.add(
				Event{Family: f.String(), Data: observationData(r)},
				access.Event{Kind: assay.ObservationEvent, Family: f, Paid: paid, At: r.to},
				sequence, Mark{r.at, numbered(index)}, last)
		}
		index++
	}
}

// merged has one entry for each series and moment, in the order of moments and series.
func merged(list []received) []received {
	slices.SortFunc(list, func(a, b received) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.series, b.series))
	})
	var merged []received
	for _, r := range list {
		if n := len(merged); n > 0 && merged[n-1].at == r.at && merged[n-1].series == r.series {
			last := &merged[n-1]
			last.from, last.to, last.rows = min(last.from, r.from), max(last.to, r.to), last.rows+r.rows
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// series says whether the catalog has a series, and its name if it is not free.
func (m *maker) series(f assay.Family, name string) (paid string, shown bool) {
	switch f {
	case assay.FamilyMemory:
		_, shown = m.snap.Catalog.Memory(name)
	case assay.FamilyModels:
		for _, lab := range m.snap.Catalog.Labs {
			if lab.Lab == name {
				shown = true
				if !lab.Free {
					paid = name
				}
			}
		}
	case assay.FamilyCoding:
		shown = slices.Contains(m.snap.Catalog.CodingTools(), name)
	case assay.FamilySites, assay.FamilyUtilization:
		shown = true
	}
	return paid, shown
}

// utilized makes the events of readings of utilization.
func (m *maker) utilized() {
	from := m.at.marks[utilizationSeq]
	first := from.At
	if from.complete() {
		first++
	}
	list := m.snap.Utilization.ArrivalsFrom(first)
	index := 0
	for i := range list {
		a := &list[i]
		if i > 0 && list[i-1].Received != a.Received {
			index = 0
		}
		last := i == len(list)-1 || list[i+1].Received != a.Received
		if m.snap.Line(a.GPU, a.Region) != nil {
			m.add(
				Event{Family: assay.FamilyUtilization.String(), GPU: a.GPU, Region: a.Region, Data: readingsData(a)},
				access.Event{Kind: assay.ObservationEvent, Family: assay.FamilyUtilization, At: a.To},
				utilizationSeq, Mark{a.Received, numbered(index)}, last)
		}
		index++
	}
}
