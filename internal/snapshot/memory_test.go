package snapshot

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/assaydata/assay"
)

// measureMemory builds a snapshot of so many values: ten GPU models in ten regions, hours and days, each publication a
// version of its own.
func measureMemory(b *testing.B, values int) {
	catalog := assay.Catalog{Regions: []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}}
	for _, name := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"} {
		catalog.GPUs = append(catalog.GPUs, assay.GPU{Name: name})
	}
	empty := heap()
	var s *Snapshot
	var building time.Duration
	built := 0
	for b.Loop() {
		s, built, building = New(catalog, 1), 0, 0
		rng := rand.New(rand.NewPCG(1, 1))
		perLine := values / len(s.lines)
		for line := range s.lines {
			for grain, n := range map[assay.Grain]int{assay.Hourly: perLine * 24 / 25, assay.Daily: perLine / 25} {
				u := SeriesUpdate{Line: line, Grain: grain, Version: int64(n)}
				for i, p := range hoursOf(rng, n) {
					u.Revisions = append(u.Revisions, assay.Revision{Point: p, Version: int64(i)})
				}
				begun := time.Now()
				s = s.With(Update{Version: s.Version + 1, Series: []SeriesUpdate{u}})
				building += time.Since(begun)
				built += n
			}
		}
	}
	perValue := func(bytes uint64) float64 { return float64(bytes-empty) / float64(built) }
	b.ReportMetric(perValue(heap()), "B/value")
	b.ReportMetric(float64(built)/building.Seconds()/1e6, "Mvalues/s")
	for _, line := range s.lines {
		for _, series := range line.series {
			gzipOf(series, 0, series.Len())
		}
	}
	b.ReportMetric(perValue(heap()), "B/value-all-requested")
	runtime.KeepAlive(s)
}

// heap is how many bytes are in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the first empties the pools only by half
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
