package snapshot_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/snapshot"
)

// A range as of a version has the points that the whole series had then, for every version and every range.
func TestPointsAsOf(t *testing.T) {
	t.Parallel()
	line := assay.Line{GPU: "H200", Region: assay.Global}
	snap := snapshot.New(assay.DefaultCatalog(), 1)
	const slots, versions = 700, 12
	var at, number int64
	for version := int64(1); version <= versions; version++ {
		var revisions []assay.Revision
		for k := range int64(slots / versions) { // what is new
			at += assay.Hour
			p := assay.Point{At: at, Value: assay.Nanos(version*1000 + k)}
			revisions = append(revisions, assay.Revision{Point: p, Version: version})
		}
		if version%3 == 0 { // and some that were published before, or are gone
			number++
			for k := version; k < at/assay.Hour-slots/versions; k += 17 {
				revisions = append(revisions, assay.Revision{
					Point:   assay.Point{At: k * assay.Hour, Value: assay.Nanos(version*1000 - k)},
					Version: version, Number: int(number), Gone: k%2 == 0,
				})
			}
		}
		slices.SortFunc(revisions, func(a, b assay.Revision) int { return int((a.At - b.At) / assay.Hour) })
		snap = snap.With(snapshot.Update{
			Version: version, Covered: at,
			Publications: []assay.Publication{{Version: version, PublishedAt: version * assay.Day}},
			Series: []snapshot.SeriesUpdate{{
				Line: line, Grain: assay.Hourly, Revisions: revisions, Version: version, Published: version * assay.Day,
			}},
		})
	}
	series := snap.Line(line.GPU, line.Region).Series(assay.Hourly)
	for version := int64(0); version <= versions+1; version++ {
		whole := slices.Collect(snap.LineAsOf(line.GPU, line.Region, version).Series(assay.Hourly).Points())
		const h = assay.Hour
		for _, r := range [][2]int64{{0, at + 1}, {100 * h, 400 * h}, {256 * h, 257 * h}, {at, at}} {
			want := slices.DeleteFunc(slices.Clone(whole), func(p assay.Point) bool { return p.At < r[0] || p.At >= r[1] })
			got := slices.Collect(series.PointsAsOf(version, r[0], r[1]))
			if !slices.Equal(want, got) {
				t.Errorf("version %d, %v: %.500s", version, r, cmp.Diff(want, got))
			}
		}
	}
}

// All revisions are listed, each once.
func TestRevised(t *testing.T) {
	t.Parallel()
	line := assay.Line{GPU: "H200", Region: assay.Global}
	revision := func(at, version int64) assay.Revision {
		return assay.Revision{Point: assay.Point{At: at * assay.Hour, Value: 1}, Version: version}
	}
	snap := snapshot.New(assay.DefaultCatalog(), 1).With(snapshot.Update{
		Version: 3, Series: []snapshot.SeriesUpdate{{
			Line: line, Grain: assay.Daily, Version: 3, Revisions: []assay.Revision{
				revision(1, 1), revision(2, 1), revision(2, 3), revision(3, 1), revision(4, 2), revision(5, 2),
			},
		}},
	})
	got := map[int64][]int64{}
	for r := range snap.Revised(assay.Daily) {
		for at := r.First; at <= r.Last; at += assay.Hour {
			got[r.Version] = append(got[r.Version], at/assay.Hour)
		}
	}
	for _, slots := range got {
		slices.Sort(slots)
	}
	if diff := cmp.Diff(map[int64][]int64{1: {1, 2, 3}, 2: {4, 5}, 3: {2}}, got); diff != "" {
		t.Error(diff)
	}
}
