package snapshot

import (
	"sort"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/cache"
)

// publication is a version and the instant at which it and all before it were known. That instant never goes back, even
// if the writer's clock was set back between two publications.
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

// LineAsOf returns the line as it was after a version, or nil if the catalog has no such line. It is the current line
// if nothing newer has changed its series. Real-time prints and utilization have no versions: they are always the
// current ones.
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
	return s.past.Get(pastKey{line.Line, touched}, func() *Line {
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

// maxPastLines bounds how many old lines a snapshot holds. A restated line with three years of hours takes about 3 MB;
// most share what they can with the current line.
const maxPastLines = 16

type pastLines = cache.Cache[pastKey, *Line]

func newPastLines() *pastLines { return cache.New[pastKey](cache.Limits[*Line]{Entries: maxPastLines}) }
