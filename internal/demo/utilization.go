package demo

import (
	"iter"

	"github.com/assaydata/assay"
)

// readingEvery is the time between the demo's utilization readings, in full hours.
const readingEvery = 6 * assay.Hour

// readingSource is the source of the readings.
const readingSource = "demo-capacity"

// firstCount is the first hour of November 2024, when the demo's capacity was first counted.
const firstCount = 1_730_419_200_000 / assay.Hour

// AppendReadings appends how much of each GPU model's capacity is rented in each region at an instant. Where prices are
// high, capacity is scarce: the share follows the factors of the price.
func (m *Market) AppendReadings(dst []assay.UtilizationReading, at int64) []assay.UtilizationReading {
	n := at / assay.Hour
	t := m.path.tide(n)
	for g := range m.models {
		model := &m.models[g]
		if model.launch != nil && at < model.launch.at {
			continue
		}
		tightness := micro(0)
		for _, l := range model.loads {
			tightness += times(t[l.factor], l.beta)
		}
		for r := range m.regions {
			region := &m.regions[r]
			salt := mix(model.salt, uint64(region.factor))
			tracked := 400*model.weight + int64(salt%uint64(200*model.weight))
			tracked += tracked * (n - firstCount) / (8 * 8766) // capacity grows by an eighth a year
			share := 760_000 + 5*(2*unit(salt)-million)/100 + tightness/2 + t[region.factor] +
				noise(salt, n, 18)/50 + 2*week(n)/100
			dst = append(dst, assay.UtilizationReading{
				Source: readingSource, At: at, GPU: model.name, Region: region.name,
				Rented: times(tracked, min(max(share, 350_000), 985_000)), Tracked: tracked,
			})
		}
	}
	return dst
}

// utilization are the readings of (from, until].
func (d *Demo) utilization(from, until int64) iter.Seq[assay.UtilizationReading] {
	return func(yield func(assay.UtilizationReading) bool) {
		var readings []assay.UtilizationReading
		for at := from/readingEvery*readingEvery + readingEvery; at <= until; at += readingEvery {
			readings = d.market.AppendReadings(readings[:0], at)
			for _, r := range readings {
				if !yield(r) {
					return
				}
			}
		}
	}
}
