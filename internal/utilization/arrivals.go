package utilization

import (
	"cmp"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/appendonly"
)

// Arrival is what was received for a line at one moment: readings of the instants from From to To. Readings that a
// restatement lets count are not among them.
type Arrival struct {
	assay.Line
	Received int64
	From, To int64
}

// ArrivalsKept is for how long arrivals are kept, up to the newest. Of readings there are millions.
const ArrivalsKept = 2 * assay.Day

// withArrivals returns the last arrivals together with those of more readings.
func (l Lines) withArrivals(added []assay.UtilizationReading) appendonly.List[Arrival] {
	newest := int64(0)
	for i := range added {
		if added[i].Restated == 0 {
			newest = max(newest, added[i].Received)
		}
	}
	if newest == 0 {
		return l.arrivals
	}
	type key struct {
		assay.Line
		received int64
	}
	merged := map[key]*Arrival{}
	for i := range added {
		r := &added[i]
		if r.Restated != 0 || r.Received <= newest-ArrivalsKept {
			continue
		}
		for _, region := range lineRegions(r.Region) {
			k := key{assay.Line{GPU: r.GPU, Region: region}, r.Received}
			if merged[k] == nil {
				merged[k] = &Arrival{k.Line, r.Received, r.At, r.At}
			}
			merged[k].From, merged[k].To = min(merged[k].From, r.At), max(merged[k].To, r.At)
		}
	}
	list := make([]Arrival, 0, len(merged))
	for _, a := range merged {
		list = append(list, *a)
	}
	slices.SortFunc(list, func(a, b Arrival) int {
		return cmp.Or(cmp.Compare(a.Received, b.Received), cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Region, b.Region))
	})
	return keptArrivals(l.arrivals, newest).With(list)
}

// keptArrivals drops the old ones, not each time but once they are half of all.
func keptArrivals(all appendonly.List[Arrival], newest int64) appendonly.List[Arrival] {
	items := all.Items()
	old, _ := slices.BinarySearchFunc(items, newest-ArrivalsKept+1, func(a Arrival, at int64) int {
		return cmp.Compare(a.Received, at)
	})
	if 2*old < len(items) {
		return all
	}
	return appendonly.List[Arrival]{}.With(items[old:])
}

// lineRegions are the regions whose lines a reading counts in.
func lineRegions(region string) []string {
	if region == "" || region == assay.Global {
		return []string{assay.Global}
	}
	return []string{assay.Global, region}
}

// ArrivalsFrom lists what was received at an instant or after it, in the order of receipt, GPU model and
// region. What is
// older than ArrivalsKept may be missing.
func (l Lines) ArrivalsFrom(received int64) []Arrival {
	items := l.arrivals.Items()
	i, _ := slices.BinarySearchFunc(items, received, func(a Arrival, at int64) int { return cmp.Compare(a.Received, at) })
	return items[i:]
}

// NewestArrival is when the newest readings were received, or 0 without any.
func (l Lines) NewestArrival() int64 {
	items := l.arrivals.Items()
	if len(items) == 0 {
		return 0
	}
	return items[len(items)-1].Received
}
