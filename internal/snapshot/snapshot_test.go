package snapshot

import (
	"slices"
	"sync"
	"testing"

	"github.com/assaydata/assay"
)

const gpu, region = "H100 SXM", "us-east"

var global = assay.Line{GPU: gpu, Region: assay.Global}

// change is an update of one series of the global line.
func change(grain assay.Grain, version int64, points ...assay.Point) SeriesUpdate {
	return SeriesUpdate{
		Line: global, Grain: grain, Revisions: made(version, points), Version: version,
		Published: 100 * version,
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	s := New(assay.DefaultCatalog(), 7)
	if s.CatalogVersion != 7 || s.Version != 0 || s.Latest != 0 {
		t.Errorf("got %+v", s)
	}
	var names []string
	for _, g := range s.GPUsByName {
		names = append(names, g.Name)
	}
	if want := []string{"A100 SXM4", "B200", "H100 SXM", "H200", "RTX 5090", "RTX PRO 6000 WS"}; !slices.Equal(names, want) {
		t.Errorf("by name: %q", names)
	}
	if s.Catalog.GPUs[0].Name != "H100 SXM" {
		t.Errorf("sorting by name has changed the registry order: %v", s.Catalog.GPUs)
	}
	for _, g := range s.Catalog.GPUs {
		if found, ok := s.GPU(g.Name); !ok || found != g {
			t.Errorf("%s: got %+v, %v", g.Name, found, ok)
		}
		for _, r := range append([]string{assay.Global}, s.Catalog.Regions...) {
			line := s.Line(g.Name, r)
			if line == nil || line.GPU != g.Name || line.Region != r {
				t.Fatalf("%s in %s: got %+v", g.Name, r, line)
			}
			for _, grain := range assay.Grains {
				if line.Series(grain) == nil || line.Series(grain).Len() != 0 {
					t.Errorf("%s in %s, %s: not empty", g.Name, r, grain)
				}
			}
		}
	}
	if _, ok := s.GPU("h100 sxm"); ok || s.Line(gpu, "mars") != nil || s.Line("h100 sxm", assay.Global) != nil || s.Line(gpu, "") != nil {
		t.Error("names are exact, and only the catalog's are found")
	}
}

func TestWith_SharesWhatIsUntouched(t *testing.T) {
	t.Parallel()
	old := New(assay.DefaultCatalog(), 1)
	next := old.With(Update{Version: 1, Series: []SeriesUpdate{change(assay.Daily, 1, pointsAt(10)...)}})
	touched := 0
	for line, was := range old.lines {
		if next.lines[line] != was {
			touched++
		}
	}
	if touched != 1 || len(next.lines) != len(old.lines) || next.Line(gpu, assay.Global) == old.Line(gpu, assay.Global) {
		t.Errorf("%d of %d lines are new, want the one that changed", touched, len(next.lines))
	}
	if old.Line(gpu, assay.Global).Series(assay.Hourly) != next.Line(gpu, assay.Global).Series(assay.Hourly) {
		t.Error("the grain that did not change is not shared")
	}
	checkSeries(t, "the old daily series", old.Line(gpu, assay.Global).Series(assay.Daily), nil)
	checkSeries(t, "the next daily series", next.Line(gpu, assay.Global).Series(assay.Daily), pointsAt(10))
}

func TestWith(t *testing.T) {
	t.Parallel()
	s := New(assay.DefaultCatalog(), 1).With(Update{Version: 3, Covered: 30, Synthetic: true, Series: []SeriesUpdate{
		change(assay.Daily, 2, pointsAt(10)...),
		change(assay.Hourly, 3, pointsAt(10, 20)...),
		{Line: assay.Line{GPU: "gone", Region: assay.Global}, Revisions: made(1, pointsAt(99))}, // has left the catalog
	}})
	line := s.Line(gpu, assay.Global)
	checkSeries(t, "daily", line.Series(assay.Daily), pointsAt(10))
	checkSeries(t, "hourly", line.Series(assay.Hourly), pointsAt(10, 20))
	if s.Version != 3 || s.Covered != 30 || !s.Synthetic || s.Latest != 20 || s.CatalogVersion != 1 {
		t.Errorf("got version %d, covered %d, synthetic %v, latest %d", s.Version, s.Covered, s.Synthetic, s.Latest)
	}
	if daily := line.Series(assay.Daily); daily.Version() != 2 || daily.Modified() != 200 {
		t.Errorf("the daily series is of version %d, modified %d", daily.Version(), daily.Modified())
	}

	next := s.With(Update{Version: 4, Covered: 40, Series: []SeriesUpdate{change(assay.Hourly, 4, pointsAt(15)...)}})
	if next.Version != 4 || next.Covered != 40 || next.Synthetic || next.Latest != 20 {
		t.Errorf("got version %d, covered %d, synthetic %v, latest %d", next.Version, next.Covered, next.Synthetic, next.Latest)
	}
	checkSeries(t, "hourly, merged", next.Line(gpu, assay.Global).Series(assay.Hourly), pointsAt(10, 15, 20))
	checkSeries(t, "hourly, before", line.Series(assay.Hourly), pointsAt(10, 20))
	if s.Version != 3 || s.Covered != 30 {
		t.Errorf("the old snapshot has changed to version %d, covered %d", s.Version, s.Covered)
	}
}

func TestLine_DerivedIsMadeOnce(t *testing.T) {
	t.Parallel()
	made := 0
	compute := func(l *Line) []assay.Point {
		made++
		return pointsOf(l.Series(assay.Hourly))
	}
	s := New(assay.DefaultCatalog(), 1).With(Update{Version: 2, Series: []SeriesUpdate{
		change(assay.Daily, 1, pointsAt(10)...), change(assay.Hourly, 2, pointsAt(10, 20)...),
	}})
	line := s.Line(gpu, assay.Global)
	derived := line.Derived(compute)
	checkSeries(t, "derived", derived, pointsAt(10, 20))
	if line.Derived(compute) != derived || made != 1 {
		t.Errorf("made %d times", made)
	}
	if derived.Version() != 2 || derived.Modified() != 200 {
		t.Errorf("version %d, modified %d: want those of the newer series", derived.Version(), derived.Modified())
	}
	next := s.With(Update{Version: 3, Series: []SeriesUpdate{change(assay.Daily, 3, pointsAt(20)...)}})
	if derived := next.Line(gpu, assay.Global).Derived(compute); made != 2 || derived.Version() != 3 {
		t.Errorf("after a change made %d times, version %d", made, derived.Version())
	}
	untouched := s.Line(gpu, region).Derived(compute)
	if next.Line(gpu, region).Derived(compute) != untouched || made != 3 {
		t.Error("a line that did not change is derived again")
	}
}

// TestHolder_ReadersWhileSwapping has a writer extend a series a point a version while a reader checks that whatever
// snapshot it gets is whole. The race detector sees whether they ever touch the same memory.
func TestHolder_ReadersWhileSwapping(t *testing.T) {
	t.Parallel()
	const versions = 300
	var h Holder
	h.Store(New(assay.DefaultCatalog(), 1))
	var wg sync.WaitGroup
	wg.Go(func() {
		for v := int64(1); v <= versions; v++ {
			h.Store(h.Load().With(Update{Version: v, Series: []SeriesUpdate{change(assay.Hourly, v, pointsAt(v)...)}}))
		}
	})
	wg.Go(func() {
		for version := int64(0); version < versions; {
			s := h.Load()
			if s.Version < version {
				t.Errorf("version %d came after %d", s.Version, version)
				return
			}
			version = s.Version
			series := s.Line(gpu, assay.Global).Series(assay.Hourly)
			if int64(series.Len()) != version || series.Version() != version {
				t.Errorf("version %d has %d points of version %d", version, series.Len(), series.Version())
				return
			}
			if n := series.Len(); n > 0 && series.At(n-1) != pointsAt(version)[0] {
				t.Errorf("version %d ends with %v", version, series.At(n-1))
				return
			}
		}
	})
	wg.Wait()
}
