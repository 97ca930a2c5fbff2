package snapshot

import (
	"math"
	"slices"
	"testing"

	"github.com/assaydata/assay"
)

func TestRealtime_KeepsTwoDays(t *testing.T) {
	t.Parallel()
	prints := func(from, to int64) (prints []assay.RealtimePrint) {
		for at := from; at < to; at++ {
			prints = append(prints, assay.RealtimePrint{At: at})
		}
		return prints
	}
	s := New(assay.DefaultCatalog(), 1)
	add := func(from, to int64) {
		s = s.With(Update{Realtime: []RealtimeUpdate{
			{Line: global, Prints: prints(from, to)},
			{Line: assay.Line{GPU: "gone"}, Prints: prints(0, 1)},
		}})
	}
	f := func(from, to int64) {
		t.Helper()
		if got := s.Line(gpu, assay.Global).Realtime(); !slices.Equal(got, prints(from, to)) {
			t.Errorf("got %d prints, want %d to %d", len(got), from, to)
		}
	}
	f(0, 0)
	add(0, 2)
	f(0, 2)
	add(1, 4) // one comes again
	f(0, 4)
	old := s
	add(4, RealtimeLimit)
	f(0, RealtimeLimit)
	add(RealtimeLimit, RealtimeLimit+2)
	f(2, RealtimeLimit+2)
	add(RealtimeLimit+2, 3*RealtimeLimit)
	f(2*RealtimeLimit, 3*RealtimeLimit)
	series := s.Line(gpu, assay.Global)
	s = old
	f(0, 4)
	if series.derived != old.Line(gpu, assay.Global).derived || series.series != old.Line(gpu, assay.Global).series {
		t.Error("a real-time print throws away what was made of the series")
	}
}

func TestWith_MethodologiesAndManifest(t *testing.T) {
	t.Parallel()
	first, second := assay.Manifest{Day: 1, SignedAt: 10}, assay.Manifest{Day: 2, SignedAt: 20}
	newest := func(s *Snapshot, at, day int64) {
		t.Helper()
		if m := s.ManifestAt(at); m == nil && day != 0 || m != nil && m.Day != day {
			t.Errorf("at %d the newest manifest is %+v, want that of day %d", at, m, day)
		}
	}
	s := New(assay.DefaultCatalog(), 1).With(Update{
		Manifests:     []assay.Manifest{first},
		Methodologies: []assay.MethodologyFile{{Version: "2", Effective: 5}, {Version: "1"}},
	})
	if len(s.Methodologies) != 2 || s.Methodologies[0].Version != "1" {
		t.Errorf("got %+v", s.Methodologies)
	}
	newest(s, 9, 0)
	newest(s, 10, 1)
	s = s.With(Update{})
	if len(s.Methodologies) != 2 {
		t.Error("what has not changed is gone")
	}
	newest(s, math.MaxInt64, 1)
	s = s.With(Update{Manifests: []assay.Manifest{second}})
	newest(s, 19, 1)
	newest(s, 20, 2)
}
