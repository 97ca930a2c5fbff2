package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"sort"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/cache"
)

// publication is a version and the instant at which it and all before it were known. That instant never goes back, even
// if the writer's clock was set back between two publications.
type publication struct {
	assay.Publication
	knownAt int64
	history uint64 // a digest of this and all publications before it
}

// manifest is a manifest and the instant at which it and all before it were known.
type manifest struct {
	assay.Manifest
	knownAt int64
}

func (s *Snapshot) addPublications(publications []assay.Publication) {
	added := make([]publication, 0, len(publications))
	var restating []assay.Publication
	var last publication
	if all := s.publications.Items(); len(all) > 0 {
		last = all[len(all)-1]
	}
	for _, p := range publications {
		if p.Version <= last.Version {
			continue // known already
		}
		last = publication{p, max(last.knownAt, p.PublishedAt), historyAfter(last.history, p)}
		added = append(added, last)
		if p.Reason != "" {
			restating = append(restating, p)
		}
	}
	s.publications, s.restating = s.publications.With(added), s.restating.With(restating)
}

// historyAfter is the digest of a history that a publication extends. After a restore, a version has another date.
func historyAfter(before uint64, p assay.Publication) uint64 {
	text := binary.BigEndian.AppendUint64(nil, before)
	text = binary.BigEndian.AppendUint64(text, uint64(p.Version))
	text = binary.BigEndian.AppendUint64(text, uint64(p.PublishedAt))
	sum := sha256.Sum256(append(text, p.Reason...))
	return binary.BigEndian.Uint64(sum[:])
}

func (s *Snapshot) addManifests(manifests []assay.Manifest) {
	added := make([]manifest, 0, len(manifests))
	knownAt := int64(math.MinInt64)
	if all := s.manifests.Items(); len(all) > 0 {
		knownAt = all[len(all)-1].knownAt
	}
	for _, m := range manifests {
		knownAt = max(knownAt, m.SignedAt)
		added = append(added, manifest{m, knownAt})
	}
	s.manifests = s.manifests.With(added)
}

// Publication returns the newest publication; ok is false if nothing has been published.
func (s *Snapshot) Publication() (p assay.Publication, ok bool) {
	all := s.publications.Items()
	if len(all) == 0 {
		return p, false
	}
	return all[len(all)-1].Publication, true
}

// PublicationAt returns the newest publication at or before an instant; ok is false if there was none.
func (s *Snapshot) PublicationAt(instant int64) (p assay.Publication, ok bool) {
	version := s.VersionAt(instant)
	return s.publication(version), version != 0
}

// HistoryAt returns a digest of all publications up to a version; ok is false if the version does not exist. Another
// history, such as that of a restored database, has another digest.
func (s *Snapshot) HistoryAt(version int64) (digest uint64, ok bool) {
	p := s.find(version)
	if p == nil {
		return 0, false
	}
	return p.history, true
}

// ManifestAt returns the newest manifest that was signed at or before an instant, or nil if there was none.
func (s *Snapshot) ManifestAt(instant int64) *assay.Manifest {
	all := s.manifests.Items()
	i := sort.Search(len(all), func(i int) bool { return all[i].knownAt > instant })
	if i == 0 {
		return nil
	}
	return &all[i-1].Manifest
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
	if p := s.find(version); p != nil {
		return p.Publication
	}
	return assay.Publication{}
}

// find returns a version, or nil if there is none.
func (s *Snapshot) find(version int64) *publication {
	all := s.publications.Items()
	i := sort.Search(len(all), func(i int) bool { return all[i].Version >= version })
	if i == len(all) || all[i].Version != version {
		return nil
	}
	return &all[i]
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

// maxPastLines bounds how many old lines a snapshot holds. A restated line with three years of hours takes about
// 200 KB; most share what they can with the current line.
const maxPastLines = 16

type pastLines = cache.Cache[pastKey, *Line]

func newPastLines() *pastLines { return cache.New[pastKey](cache.Limits[*Line]{Entries: maxPastLines}) }
