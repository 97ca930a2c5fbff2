package snapshot

import (
	"iter"
	"math"
	"slices"
	"sort"

	"github.com/assaydata/assay"
)

// PointsAsOf lists the points in [from, to) that the series showed after a version. It costs as much as there are in
// that range, however long the series is.
func (s *Series) PointsAsOf(version, from, to int64) iter.Seq[assay.Point] {
	return func(yield func(assay.Point) bool) {
		for p := range s.shownAt(version, from, to) {
			if !yield(p) {
				return
			}
		}
	}
}

// shownAt lists the points in [from, to) that the series showed after a version, with the versions that made them.
func (s *Series) shownAt(version, from, to int64) iter.Seq2[assay.Point, int64] {
	return func(yield func(assay.Point, int64) bool) {
		hidden := hiddenIn(s.hidden.Items(), from, to)
		for point, v := range s.from(s.search(from)) {
			if point.At >= to {
				break
			}
			for len(hidden) > 0 && hidden[0].At < point.At { // slots that show nothing now
				then := newestKnown(&hidden, version)
				if then != nil && !yield(then.Point, then.Version) {
					return
				}
			}
			var then *assay.Revision
			if len(hidden) > 0 && hidden[0].At == point.At {
				then = newestKnown(&hidden, version)
			}
			switch {
			case v <= version:
				if !yield(point, v) {
					return
				}
			case then != nil:
				if !yield(then.Point, then.Version) {
					return
				}
			}
		}
		for len(hidden) > 0 {
			if then := newestKnown(&hidden, version); then != nil && !yield(then.Point, then.Version) {
				return
			}
		}
	}
}

// hiddenIn are those of some revisions, which are ordered by slot, whose slots are in [from, to).
func hiddenIn(all []assay.Revision, from, to int64) []assay.Revision {
	position := func(at int64) int { return sort.Search(len(all), func(i int) bool { return all[i].At >= at }) }
	return all[position(from):position(to)]
}

// newestKnown takes the revisions of the first slot from a list, and returns the newest of them up to a version; nil if
// there is none, or if it took the value away.
func newestKnown(list *[]assay.Revision, version int64) (newest *assay.Revision) {
	slot := (*list)[0].At
	for len(*list) > 0 && (*list)[0].At == slot {
		if r := &(*list)[0]; r.Version <= version {
			newest = r
		}
		*list = (*list)[1:]
	}
	if newest != nil && newest.Gone {
		return nil
	}
	return newest
}

// Revised lists the slots of all series of a grain with the versions of their revisions, those that are hidden too, in
// no particular order. Equal versions of neighboring slots of a block are listed once, with the first and the last of
// these slots.
func (s *Snapshot) Revised(grain assay.Grain) iter.Seq[RevisedSlots] {
	return func(yield func(RevisedSlots) bool) {
		for _, line := range s.lines {
			if !line.series[grain].revised(yield) {
				return
			}
		}
	}
}

// RevisedSlots are slots of a series that a version has made.
type RevisedSlots struct {
	First, Last int64 // of the slots
	Version     int64
}

func (s *Series) revised(yield func(RevisedSlots) bool) bool {
	var p points
	for _, b := range s.blocks {
		b.decodeTimes(&p)
		b.decodeVersions(&p)
		for i := 0; i < int(b.count); {
			run := RevisedSlots{p.times[i], p.times[i], p.versions[i]}
			for i++; i < int(b.count) && p.versions[i] == run.Version; i++ {
				run.Last = p.times[i]
			}
			if !yield(run) {
				return false
			}
		}
	}
	for _, r := range s.hidden.Items() {
		if !yield(RevisedSlots{r.At, r.At, r.Version}) {
			return false
		}
	}
	return true
}

// rebuilt returns what was shown as of a version.
func (s *Series) rebuilt(version int64) *builder {
	old := &builder{}
	for point, v := range s.shownAt(version, math.MinInt64, math.MaxInt64) {
		old.add(point, v)
	}
	return old
}

// Regions are all regions of the catalog and the whole world, in the order of their names.
func (s *Snapshot) Regions() []string {
	return slices.Sorted(slices.Values(append([]string{assay.Global}, s.Catalog.Regions...)))
}

// PublishedVersion is what a version of the publications is to its readers.
type PublishedVersion struct {
	Version  int64
	KnownAt  int64 // from when on as_of reads it
	Restates bool  // it has a reason: it changed what was published before
}

// PublishedVersion returns a version, or one that was known forever if there is none.
func (s *Snapshot) PublishedVersion(version int64) PublishedVersion {
	published := PublishedVersion{Version: version}
	if p := s.find(version); p != nil {
		published.KnownAt, published.Restates = p.knownAt, p.Reason != ""
	}
	return published
}
