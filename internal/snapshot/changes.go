package snapshot

import (
	"iter"
	"sort"

	"github.com/assaydata/assay"
)

// LineRevision is a revision of a series.
type LineRevision struct {
	assay.Line
	Grain    assay.Grain
	Revision assay.Revision // of one that is shown, the number is not known
}

// Position is where the revision stands among those of all series: in the order of corrections.
func (r *LineRevision) Position() Position {
	return Position{Version: r.Revision.Version, Line: r.Line, Grain: r.Grain, At: r.Revision.At}
}

// RevisionsAfter lists the revisions that publications after a version have made, in no particular order.
func (s *Snapshot) RevisionsAfter(version int64) iter.Seq[LineRevision] {
	return func(yield func(LineRevision) bool) {
		for _, line := range s.lines {
			for grain, series := range line.series {
				for r := range series.revisionsAfter(version) {
					if !yield(LineRevision{line.Line, assay.Grain(grain), r}) {
						return
					}
				}
			}
		}
	}
}

// revisionsAfter lists the revisions that publications after a version have made.
func (s *Series) revisionsAfter(version int64) iter.Seq[assay.Revision] {
	return func(yield func(assay.Revision) bool) {
		if s.version <= version {
			return
		}
		var p points
		for _, b := range s.blocks {
			if b.newest <= version {
				continue
			}
			b.decode(&p)
			b.decodeVersions(&p)
			for k := range p.count {
				r := assay.Revision{Point: assay.Point{At: p.times[k], Value: p.values[k]}, Version: p.versions[k]}
				if r.Version > version && !yield(r) {
					return
				}
			}
		}
		for _, r := range s.hidden.Items() {
			if r.Version > version && !yield(r) {
				return
			}
		}
	}
}

// PublicationsAfter lists the publications after a version, oldest first.
func (s *Snapshot) PublicationsAfter(version int64) iter.Seq[assay.Publication] {
	all := s.publications.Items()
	first := sort.Search(len(all), func(i int) bool { return all[i].Version > version })
	return func(yield func(assay.Publication) bool) {
		for i := first; i < len(all); i++ {
			if !yield(all[i].Publication) {
				return
			}
		}
	}
}

// LinePrint is a real-time print of a line.
type LinePrint struct {
	assay.Line
	assay.RealtimePrint
}

// PrintsAfter lists the prints after an instant that the snapshot still has, in no particular order.
func (s *Snapshot) PrintsAfter(at int64) iter.Seq[LinePrint] {
	return func(yield func(LinePrint) bool) {
		for _, line := range s.lines {
			prints := line.realtime
			first := sort.Search(len(prints), func(i int) bool { return prints[i].At > at })
			for _, p := range prints[first:] {
				if !yield(LinePrint{line.Line, p}) {
					return
				}
			}
		}
	}
}

// NewestPrint is the instant of the newest real-time print of any line, or 0 without any.
func (s *Snapshot) NewestPrint() (at int64) {
	for _, line := range s.lines {
		if n := len(line.realtime); n > 0 {
			at = max(at, line.realtime[n-1].At)
		}
	}
	return at
}

// PublicationOf returns a version's publication, or the zero value if there is none.
func (s *Snapshot) PublicationOf(version int64) assay.Publication { return s.publication(version) }

// VersionOf returns the publication that made point i.
func (s *Series) VersionOf(i int) int64 {
	var p points
	b := s.blocks[i/blockRows]
	b.decodeVersions(&p)
	return p.versions[i%blockRows]
}
