package snapshot

import (
	"sort"
	"sync"

	"github.com/assaydata/assay"
)

// publication is a version and the instant at which it and all before it were known. That instant never goes back, even if
// the writer's clock was set back between two publications.
type publication struct {
	assay.Publication
	knownAt int64
}

func (s *Snapshot) addPublications(publications []assay.Publication) {
	added := make([]publication, 0, len(publications))
	newest, knownAt := int64(0), int64(0)
	if all := s.publications.Items(); len(all) > 0 {
		newest, knownAt = all[len(all)-1].Version, all[len(all)-1].knownAt
	}
	for _, p := range publications {
		if p.Version <= newest {
			continue // known already
		}
		newest, knownAt = p.Version, max(knownAt, p.PublishedAt)
		added = append(added, publication{p, knownAt})
	}
	s.publications = s.publications.With(added)
}

// Publication returns the newest publication; ok is false if nothing has been published.
func (s *Snapshot) Publication() (p assay.Publication, ok bool) {
	all := s.publications.Items()
	if len(all) == 0 {
		return p, false
	}
	return all[len(all)-1].Publication, true
}

// VersionAt returns the newest version published at or before an instant, or 0 if there was none.
func (s *Snapshot) VersionAt(instant int64) int64 {
	all := s.publications.Items()
	i := sort.Search(len(all), func(i int) bool { return all[i].knownAt > instant })
	if i == 0 {
		return 0
	}
	return all[i-1].Version
}

// publication returns a version's publication, or the zero value if there is none.
func (s *Snapshot) publication(version int64) assay.Publication {
	all := s.publications.Items()
	i := sort.Search(len(all), func(i int) bool { return all[i].Version >= version })
	if i == len(all) || all[i].Version != version {
		return assay.Publication{}
	}
	return all[i].Publication
}

// LineAsOf returns the line as it was after a version, or nil if the catalog has no such line. It is the current line if
// nothing newer has changed its series. Real-time prints and utilization have no versions: they are always the current
// ones.
func (s *Snapshot) LineAsOf(gpu, region string, version int64) *Line {
	line := s.Line(gpu, region)
	if line == nil {
		return nil
	}
	var touched int64
	current := true
	for _, series := range line.series {
		current = current && series.version <= version
		touched = max(touched, series.touched(version))
	}
	if current {
		return line
	}
	return s.past.line(pastKey{line.Line, touched}, func() *Line {
		var series [len(grains)]*Series
		for g, now := range line.series {
			then := now.touched(touched)
			series[g] = now.asOf(then, s.publication(then).PublishedAt)
		}
		return line.withSeries(series)
	})
}

// pastKey identifies a line as of a version that changed it.
type pastKey struct {
	assay.Line
	version int64
}

// pastRoom bounds how many old lines a snapshot keeps. A restated line of three years of hours takes about 3 MB, of which
// most share what they can with the line of today.
const pastRoom = 16

// past keeps lines as of versions, the last few that were made.
type past struct {
	mu    sync.Mutex
	lines map[pastKey]*pastLine // guarded by mu
	order []pastKey             // in which they were made; guarded by mu
}

type pastLine struct {
	once sync.Once
	line *Line
}

// line gives the line kept under the key, making it on first demand.
func (p *past) line(key pastKey, make func() *Line) *Line {
	kept := p.room(key)
	kept.once.Do(func() { kept.line = make() }) // outside the lock: who asks for another line need not wait for this one
	return kept.line
}

func (p *past) room(key pastKey) *pastLine {
	p.mu.Lock()
	defer p.mu.Unlock()
	if kept, ok := p.lines[key]; ok {
		return kept
	}
	if p.lines == nil {
		p.lines = map[pastKey]*pastLine{}
	}
	if len(p.order) == pastRoom {
		delete(p.lines, p.order[0])
		p.order = p.order[1:]
	}
	kept := &pastLine{}
	p.lines[key] = kept
	p.order = append(p.order, key)
	return kept
}
