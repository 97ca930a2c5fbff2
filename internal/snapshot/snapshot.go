// Package snapshot is the read model: all published data, in memory, immutable, behind one atomic pointer.
//
// A request loads the pointer once and uses that snapshot throughout, so it never sees half a publication. A new
// version is built separately, sharing every series that did not change, and swapped in. The garbage collector retires
// the old one when its last reader is done. This package does not depend on the database, the clock or HTTP.
package snapshot

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/appendonly"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/registry"
	"github.com/assaydata/assay/internal/utilization"
)

// Holder holds the current snapshot.
type Holder struct {
	current   atomic.Pointer[Snapshot]
	announced atomic.Pointer[announcement]

	mu      sync.Mutex
	changed chan struct{} // closed when another snapshot becomes current; nil if no one waits for that; guarded by mu
}

// announcement is a snapshot that becomes current at an instant.
type announcement struct {
	at   int64
	snap *Snapshot
}

// Load returns the current snapshot.
func (h *Holder) Load() *Snapshot { return h.current.Load() }

// At returns the snapshot for a request of an instant: the current one, or the announced one if its instant has come.
func (h *Holder) At(instant int64) *Snapshot {
	if next := h.announced.Load(); next != nil && instant >= next.at {
		return next.snap
	}
	return h.current.Load()
}

// Store makes s the current snapshot.
func (h *Holder) Store(s *Snapshot) {
	h.current.Store(s)
	h.announced.Store(nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// Changed returns a channel that is closed when another snapshot becomes current. Call it before Load, so that none in
// between is missed.
func (h *Holder) Changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return h.changed
}

// Announce makes s the snapshot of requests from an instant on. Store must follow.
func (h *Holder) Announce(s *Snapshot, at int64) { h.announced.Store(&announcement{at, s}) }

// Snapshot is one version of all published data.
type Snapshot struct {
	Version        int64
	CatalogVersion int64
	Catalog        assay.Catalog
	GPUsByName     []assay.GPU // the catalog's GPUs in ascending order of name
	Latest         int64       // the newest instant of any series, or 0 without data
	Covered        int64       // hourly slots up to this instant have been computed
	CoveredDays    int64       // likewise daily ones
	Synthetic      bool
	Methodologies  []assay.MethodologyFile // oldest first
	Notices        []assay.Notice          // likewise
	Restatements   []assay.Restatement     // likewise
	Checkpoint     string                  // the newest of the log, or empty if there is none

	Observations family.Set
	Utilization  utilization.Lines

	gpus         map[string]assay.GPU
	lines        map[assay.Line]*Line
	publications appendonly.List[publication]
	restating    appendonly.List[assay.Publication] // those of the publications that have a reason
	corrections  appendonly.List[Correction]
	manifests    appendonly.List[manifest]
	past         *pastLines
}

// Line is one index line with one series per grain. A series without points is empty, never nil.
type Line struct {
	assay.Line
	series   [len(grains)]*Series
	derived  *derived
	realtime []assay.RealtimePrint
}

// derived is the series that is computed from a line's series when it is first needed.
type derived struct {
	once   sync.Once
	series *Series
}

var grains = [...]assay.Grain{assay.Daily, assay.Hourly}

// Series returns the line's series of a grain.
func (l *Line) Series(grain assay.Grain) *Series { return l.series[grain] }

// Derived returns the series that compute makes from the line's series, and computes it once. A line has one such
// series, so compute is always the same function.
func (l *Line) Derived(compute func(*Line) []assay.Point) *Series {
	l.derived.once.Do(func() {
		newest := l.series[assay.Daily]
		if hourly := l.series[assay.Hourly]; hourly.version > newest.version {
			newest = hourly
		}
		points := compute(l)
		revisions := make([]assay.Revision, len(points))
		for i, p := range points {
			revisions[i] = assay.Revision{Point: p, Version: newest.version}
		}
		l.derived.series = newSeries(revisions, newest.version, newest.modified)
	})
	return l.derived.series
}

// withSeries returns the line with other series and nothing derived yet.
func (l *Line) withSeries(series [len(grains)]*Series) *Line {
	next := *l
	next.series, next.derived = series, &derived{}
	return &next
}

// Update is what changes from one snapshot to the next.
type Update struct {
	Version      int64
	Covered      int64
	CoveredDays  int64
	Synthetic    bool
	Publications []assay.Publication // the new ones, oldest first; includes all versions in Series
	Series       []SeriesUpdate
	Realtime     []RealtimeUpdate

	// Utilization are the readings that count now, in any order: with AllUtilization all of them, else the new ones.
	Utilization    []assay.UtilizationReading
	AllUtilization bool

	// Observations are the new ones of each family, or nil for none.
	Observations family.Batches

	Methodologies []assay.MethodologyFile // all of them, in any order, or nil if nothing changed
	Manifests     []assay.Manifest        // new ones, in the order in which they were signed
	Notices       []assay.Notice          // new ones, in their order
	Restatements  []assay.Restatement     // likewise
	Checkpoint    string                  // of the log, or empty if nothing changed
}

// SeriesUpdate holds new revisions of a series, ordered by slot and number. A slot may occur several times. Revisions
// that the snapshot already has are ignored. An update has one for each series at most.
type SeriesUpdate struct {
	assay.Line
	Grain              assay.Grain
	Revisions          []assay.Revision
	Version, Published int64 // of the newest publication that touched the series
}

// New returns a snapshot of a catalog, without data.
func New(catalog assay.Catalog, catalogVersion int64) *Snapshot {
	s := &Snapshot{Observations: registry.NoObservations(), past: newPastLines()}
	s.setCatalog(catalog, catalogVersion)
	return s
}

// WithCatalog returns the snapshot under another catalog. It shares every line; new entries of the catalog have no data
// yet. Lines of a GPU model or region that was removed are dropped. Models are built again, because they may depend on
// the catalog.
func (s *Snapshot) WithCatalog(catalog assay.Catalog, catalogVersion int64) *Snapshot {
	next := *s
	next.past = newPastLines()
	next.dropModels()
	next.setCatalog(catalog, catalogVersion)
	return &next
}

// setCatalog adds an empty line for everything new in the catalog.
func (s *Snapshot) setCatalog(catalog assay.Catalog, version int64) {
	lines := s.lines
	s.Catalog, s.CatalogVersion = catalog, version
	s.gpus, s.lines = map[string]assay.GPU{}, map[assay.Line]*Line{}
	for _, gpu := range catalog.GPUs {
		s.gpus[gpu.Name] = gpu
		for _, region := range append([]string{assay.Global}, catalog.Regions...) {
			key := assay.Line{GPU: gpu.Name, Region: region}
			s.lines[key] = cmp.Or(lines[key], newLine(key))
		}
	}
	byName := func(a, b assay.GPU) int { return cmp.Compare(a.Name, b.Name) }
	s.GPUsByName = slices.SortedFunc(slices.Values(catalog.GPUs), byName)
}

// newLine returns a line without data.
func newLine(key assay.Line) *Line {
	line := &Line{Line: key, derived: &derived{}}
	for _, g := range grains {
		line.series[g] = emptySeries()
	}
	return line
}

// With returns the snapshot after an update. It shares every line that the update does not touch. Data of a GPU model
// or region that is no longer in the catalog is ignored.
func (s *Snapshot) With(u Update) *Snapshot {
	next := *s
	next.Version, next.Synthetic = u.Version, u.Synthetic
	next.Covered, next.CoveredDays = u.Covered, u.CoveredDays
	next.lines, next.past = maps.Clone(s.lines), newPastLines()
	next.addPublications(u.Publications)
	next.addSeries(u.Series)
	for _, change := range u.Realtime {
		if line, ok := next.lines[change.Line]; ok {
			next.lines[change.Line] = line.withRealtime(change.Prints)
		}
	}
	if u.AllUtilization {
		next.Utilization = utilization.Lines{}
	}
	next.Utilization = next.Utilization.With(u.Utilization)
	for i, added := range u.Observations {
		if added != nil {
			next.Observations[i] = next.Observations[i].With(added)
		}
	}
	if u.Methodologies != nil {
		next.dropModels() // models may follow the rules of the methodology
		next.Methodologies = slices.SortedStableFunc(slices.Values(u.Methodologies), func(a, b assay.MethodologyFile) int {
			return cmp.Or(cmp.Compare(a.Effective, b.Effective), cmp.Compare(a.Adopted, b.Adopted))
		})
	}
	next.addManifests(u.Manifests)
	next.Checkpoint = cmp.Or(u.Checkpoint, s.Checkpoint)
	if len(u.Notices) > 0 {
		next.Notices = slices.Concat(s.Notices, u.Notices)
	}
	if len(u.Restatements) > 0 {
		next.dropModels() // other observations count
		next.Restatements = slices.Concat(s.Restatements, u.Restatements)
	}
	return &next
}

// dropModels lets every family build its models again when they are requested.
func (s *Snapshot) dropModels() {
	for i, o := range s.Observations {
		s.Observations[i] = o.WithoutModels()
	}
}

// addSeries adds new revisions to series. At the start of a node that is nearly all there is to do, so all processors
// take part.
func (s *Snapshot) addSeries(changes []SeriesUpdate) {
	changed := make([]changedSeries, len(changes))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(changes)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(changes)); i = next.Add(1) - 1 {
				changed[i] = s.change(changes[i])
			}
		})
	}
	workers.Wait()
	var corrections []Correction
	for i, c := range changed {
		line := s.lines[changes[i].Line]
		if line == nil {
			continue
		}
		series := line.series
		series[changes[i].Grain] = c.series
		s.lines[line.Line] = line.withSeries(series)
		if blocks := c.series.blocks; len(blocks) > 0 {
			s.Latest = max(s.Latest, blocks[len(blocks)-1].last)
		}
		corrections = append(corrections, c.corrections...)
	}
	s.addCorrections(corrections)
}

// changedSeries is a series with new revisions, and those of them that are corrections.
type changedSeries struct {
	series      *Series
	corrections []Correction
}

// change adds new revisions to a series. It changes nothing in the snapshot.
func (s *Snapshot) change(change SeriesUpdate) changedSeries {
	line := s.lines[change.Line]
	if line == nil {
		return changedSeries{}
	}
	old, revisions := line.series[change.Grain], change.Revisions
	known := func(r assay.Revision) bool { return r.Version <= old.version }
	if slices.ContainsFunc(revisions, known) {
		revisions = slices.DeleteFunc(slices.Clone(revisions), known)
	}
	return changedSeries{
		old.merged(revisions, change.Version, change.Published),
		s.correctionsIn(old, change.Line, change.Grain, revisions),
	}
}

// DropMemos drops what was made from the snapshot for requests. It is made again when it is requested.
func (s *Snapshot) DropMemos() {
	for _, line := range s.lines {
		for _, series := range line.series {
			series.memos.Clear()
			series.whole.Store(nil)
			for _, b := range series.blocks {
				b.piece.Store(nil)
			}
		}
	}
	s.past.Clear()
}

// GPU returns the GPU model with exactly this name.
func (s *Snapshot) GPU(name string) (gpu assay.GPU, ok bool) {
	gpu, ok = s.gpus[name]
	return gpu, ok
}

// Line returns the line of a GPU model in a region, or nil if the catalog has no such region.
func (s *Snapshot) Line(gpu, region string) *Line {
	return s.lines[assay.Line{GPU: gpu, Region: region}]
}

// Size is how many daily and hourly series have values, and how many values they have.
func (s *Snapshot) Size() (series, values int) {
	for _, line := range s.lines {
		for _, one := range line.series {
			if n := one.Len(); n > 0 {
				series, values = series+1, values+n
			}
		}
	}
	return series, values
}
