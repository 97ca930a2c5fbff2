// Package snapshot is the read model: everything a request can ask for, in memory, immutable, behind one atomic pointer.
//
// A request loads the pointer once and reads that snapshot to its end, so it never sees half a publication. A new version
// is built aside, sharing every series that did not change, and swapped in; the garbage collector retires the old one
// when its last reader is done. Nothing here knows the database, the clock or HTTP.
package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/assaydata/assay"
)

// Holder holds the current snapshot.
type Holder struct{ current atomic.Pointer[Snapshot] }

// Load gives the current snapshot.
func (h *Holder) Load() *Snapshot { return h.current.Load() }

// Store makes a snapshot the current one.
func (h *Holder) Store(s *Snapshot) { h.current.Store(s) }

// Snapshot is one version of all published data.
type Snapshot struct {
	Version        int64
	CatalogVersion int64
	Catalog        assay.Catalog
	GPUsByName     []assay.GPU // the catalog's GPUs in ascending order of name
	Latest         int64       // the newest instant of any series; 0 without data
	Covered        int64       // hourly slots up to here have been determined
	Synthetic      bool

	gpus  map[string]assay.GPU
	lines map[assay.Line]*Line
}

// Line is one index line with its series, one a grain; a series without points is empty, never nil.
type Line struct {
	assay.Line
	series      [len(grains)]*Series
	derivedOnce sync.Once
	derived     *Series
}

var grains = [...]assay.Grain{assay.Daily, assay.Hourly}

// Series gives the line's series of a grain.
func (l *Line) Series(grain assay.Grain) *Series { return l.series[grain] }

// Derived gives the series that compute makes of the line's series, making it on first demand. A line has one such series,
// so compute is always the same.
func (l *Line) Derived(compute func(*Line) []assay.Point) *Series {
	l.derivedOnce.Do(func() {
		newest := l.series[assay.Daily]
		if hourly := l.series[assay.Hourly]; hourly.version > newest.version {
			newest = hourly
		}
		l.derived = newSeries(compute(l), newest.version, newest.modified)
	})
	return l.derived
}

// Update is what changes from one snapshot to the next.
type Update struct {
	Version   int64
	Covered   int64
	Series    []SeriesUpdate
	Synthetic bool
}

// SeriesUpdate is new points of a series, in the order of time.
type SeriesUpdate struct {
	assay.Line
	Grain              assay.Grain
	Points             []assay.Point
	Version, Published int64
}

// New is a snapshot of a catalog, without data.
func New(catalog assay.Catalog, catalogVersion int64) *Snapshot {
	s := &Snapshot{
		Catalog: catalog, CatalogVersion: catalogVersion,
		gpus: map[string]assay.GPU{}, lines: map[assay.Line]*Line{},
	}
	for _, gpu := range catalog.GPUs {
		s.gpus[gpu.Name] = gpu
		for _, region := range append([]string{assay.Global}, catalog.Regions...) {
			line := &Line{Line: assay.Line{GPU: gpu.Name, Region: region}}
			for _, g := range grains {
				line.series[g] = &Series{}
			}
			s.lines[line.Line] = line
		}
	}
	s.GPUsByName = slices.SortedFunc(slices.Values(catalog.GPUs), func(a, b assay.GPU) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// With is the snapshot after an update. It shares every line that the update does not touch.
func (s *Snapshot) With(u Update) *Snapshot {
	next := *s
	next.Version, next.Covered, next.Synthetic = u.Version, u.Covered, u.Synthetic
	next.lines = maps.Clone(s.lines)
	for _, change := range u.Series {
		old, ok := next.lines[change.Line]
		if !ok {
			continue // a GPU or region that has left the catalog
		}
		line := &Line{Line: old.Line, series: old.series}
		line.series[change.Grain] = old.series[change.Grain].merged(change.Points, change.Version, change.Published)
		next.lines[change.Line] = line
		if n := len(change.Points); n > 0 {
			next.Latest = max(next.Latest, change.Points[n-1].At)
		}
	}
	return &next
}

// GPU finds a model by its exact name.
func (s *Snapshot) GPU(name string) (gpu assay.GPU, ok bool) {
	gpu, ok = s.gpus[name]
	return gpu, ok
}

// Line finds the line of a GPU in a region; nil when the catalog has no such region.
func (s *Snapshot) Line(gpu, region string) *Line {
	return s.lines[assay.Line{GPU: gpu, Region: region}]
}
