package api

import (
	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/bulk"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/table"
)

// bulkGPUColumns are those of the series of all GPU models and regions.
var bulkGPUColumns = table.MustSchema("gpu_type text*", "region text*", "timestamp instant", "index_value decimal")

// The positions of these columns.
const (
	bulkGPUType = iota
	bulkRegion
	bulkTimestamp
	bulkValue
)

// bulkGPU is the published series of a grain. Their revisions have versions, so what was known at an instant costs no
// more to read than what is known now.
type bulkGPU struct{ grain assay.Grain }

// gpuDelay is how long after its end a month is complete at the earliest: a publisher that was down has caught up.
const gpuDelay = assay.Day

// key identifies all that the rows follow from.
func (g *bulkGPU) key(_ *API, snap *snapshot.Snapshot) bulkKey {
	history, _ := snap.HistoryAt(snap.Version)
	return bulkKey{version: snap.Version, history: history, catalog: snap.CatalogVersion}
}

// basis identifies what the rows as of an instant follow from.
func (g *bulkGPU) basis(_ *API, snap *snapshot.Snapshot, knownAt int64) bulkKey {
	version := snap.VersionAt(knownAt)
	history, _ := snap.HistoryAt(version)
	return bulkKey{version: version, history: history, catalog: snap.CatalogVersion}
}

func (g *bulkGPU) history(_ *API, snap *snapshot.Snapshot) *bulk.History {
	h := &bulk.History{Delay: gpuDelay, Follows: true}
	var last snapshot.PublishedVersion // of many revisions in a row
	for r := range snap.Revised(g.grain) {
		if r.Version != last.Version {
			last = snap.PublishedVersion(r.Version)
		}
		h.Add(r.First, r.Last, last.KnownAt, last.Restates)
	}
	return h
}

// complete reports whether all that is due of the time before an instant was published.
func (g *bulkGPU) complete(snap *snapshot.Snapshot, end int64) bool { return snap.Covered >= end }

// write writes the rows of a month by GPU model, region and instant.
func (g *bulkGPU) write(_ *API, snap *snapshot.Snapshot, moment int64, w *bulkWriter) error {
	version := snap.VersionAt(moment)
	from, to := w.month.Begins(), w.month.Ends()
	for _, gpu := range snap.GPUsByName {
		name := []byte(gpu.Name)
		for _, region := range snap.Regions() {
			series := snap.Line(gpu.Name, region).Series(g.grain)
			if err := w.writeSeries(name, []byte(region), series, version, from, to); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *bulkWriter) writeSeries(gpu, region []byte, series *snapshot.Series, version, from, to int64) error {
	gpuType, inRegion := w.file.Word(bulkGPUType, gpu), w.file.Word(bulkRegion, region)
	for p := range series.PointsAsOf(version, from, to) {
		w.file.PutWord(gpuType)
		w.file.PutWord(inRegion)
		w.file.PutInteger(bulkTimestamp, p.At)
		w.file.PutInteger(bulkValue, int64(p.Value))
		if err := w.file.EndRow(); err != nil {
			return err
		}
		w.count(p.At)
	}
	return nil
}
