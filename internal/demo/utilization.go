package demo

import (
	"context"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/ingest"
)

// readingEvery is how far apart the demo's utilization readings stand, in full hours.
const readingEvery = 6 * assay.Hour

// source of the readings.
const readingSource = "demo-capacity"

// AppendReadings appends how much of each GPU's capacity is rented in each region at an instant.
func (m *Market) AppendReadings(dst []assay.UtilizationReading, at int64) []assay.UtilizationReading {
	n := at / assay.Hour
	for g := range m.models {
		for r := range m.regions {
			model, region := &m.models[g], &m.regions[r]
			salt := mix(model.salt, region.salt)
			tracked := 400*model.weight + int64(salt%uint64(200*model.weight))
			tracked += tracked * (n - bornHour) / (8 * 8766) // capacity grows by an eighth a year
			share := 0.74 + 0.08*(2*unit(salt)-1) + 0.06*noise(salt, n, 21*24) + 0.03*noise(salt+1, n, 18) + 0.03*week(n)
			rented := int64(share * float64(tracked))
			dst = append(dst, assay.UtilizationReading{
				Source: readingSource, At: at, GPU: model.name, Region: region.name, Rented: min(max(rented, 0), tracked), Tracked: tracked,
			})
		}
	}
	return dst
}

// bornHour is the first hour of November 2024, when the demo's capacity was counted first.
const bornHour = 1_730_419_200_000 / assay.Hour

// read imports the readings of (from, until].
func (d *Demo) read(ctx context.Context, from, until int64) error {
	importer := ingest.Utilization(ingest.Options{
		Store: d.Store, Catalog: d.catalog, NotAfter: func() int64 { return until },
		Rejected: func(r ingest.Reject) { d.Log.Error("demo reading rejected", "source", r.File, "reason", r.Reason) },
	})
	var readings []assay.UtilizationReading
	for at := from/readingEvery*readingEvery + readingEvery; at <= until; at += readingEvery {
		readings = d.market.AppendReadings(readings[:0], at)
		for _, r := range readings {
			if err := importer.Add(ctx, r); err != nil {
				return err
			}
		}
	}
	return importer.Flush(ctx)
}
