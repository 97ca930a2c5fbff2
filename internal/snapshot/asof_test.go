package snapshot

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/assaydata/assay"
)

// market makes up the publications of one line, and keeps what a reader should see in the plainest form.
type market struct {
	rng          *rand.Rand
	publications []assay.Publication
	revisions    map[assay.Grain][]assay.Revision        // all there were, in the order of their making
	shown        map[assay.Grain]map[int64]assay.Nanos   // what is shown now
	numbers      map[assay.Grain]map[int64]int           // revisions of a slot so far
	touched      map[assay.Grain]int64                   // the newest version that made a revision
	history      []map[assay.Grain]map[int64]assay.Nanos // shown, by version
}

func newMarket(seed uint64) *market {
	m := &market{rng: rand.New(rand.NewPCG(seed, 3)), touched: map[assay.Grain]int64{}}
	m.revisions = map[assay.Grain][]assay.Revision{}
	m.shown, m.numbers = map[assay.Grain]map[int64]assay.Nanos{}, map[assay.Grain]map[int64]int{}
	for _, g := range assay.Grains {
		m.shown[g], m.numbers[g] = map[int64]assay.Nanos{}, map[int64]int{}
	}
	m.remember()
	return m
}

func (m *market) remember() {
	m.history = append(m.history, map[assay.Grain]map[int64]assay.Nanos{
		assay.Daily: maps.Clone(m.shown[assay.Daily]), assay.Hourly: maps.Clone(m.shown[assay.Hourly]),
	})
}

// publish makes the next version: mostly slots after the last, sometimes slots before the first, sometimes
// restatements, which change a value, take it back, or give one to a slot that has none.
func (m *market) publish() Update {
	version := int64(len(m.publications) + 1)
	p := assay.Publication{Version: version, PublishedAt: 1000 * version, Methodology: "1.0.0"}
	grains := assay.Grains[m.rng.IntN(2):]
	kind := m.rng.IntN(10)
	if kind == 0 {
		p.Reason = fmt.Sprintf("reason %d", version)
	}
	m.publications = append(m.publications, p)
	u := Update{Version: version, Publications: []assay.Publication{p}}
	for _, grain := range grains {
		slots := []int64{}
		switch kind {
		case 0:
			for range 1 + m.rng.IntN(5) {
				slots = append(slots, 10*m.rng.Int64N(2*version+1))
			}
		case 1: // a stretch of old slots, of which some may be there
			for range 3 {
				slots = append(slots, -10*m.rng.Int64N(50))
			}
		default:
			slots = append(slots, 20*version, 20*version+10)
		}
		if revisions := m.revise(grain, version, slots, kind == 0); len(revisions) > 0 {
			m.touched[grain] = version
			u.Series = append(u.Series, SeriesUpdate{
				Line: global, Grain: grain, Revisions: revisions, Version: version,
				Published: p.PublishedAt,
			})
		}
	}
	m.remember()
	return u
}

func (m *market) revise(grain assay.Grain, version int64, slots []int64, restate bool) (revisions []assay.Revision) {
	slices.Sort(slots)
	for _, at := range slices.Compact(slots) {
		if m.numbers[grain][at] > 0 && !restate {
			continue // a regular publication leaves alone what is there
		}
		r := assay.Revision{
			Point: assay.Point{At: at, Value: assay.Nanos(m.rng.Int64N(1e12))}, Number: m.numbers[grain][at],
			Version: version,
		}
		if r.Gone = restate && m.numbers[grain][at] > 0 && m.rng.IntN(3) == 0; r.Gone {
			delete(m.shown[grain], at)
		} else {
			m.shown[grain][at] = r.Value
		}
		m.numbers[grain][at]++
		revisions = append(revisions, r)
	}
	m.revisions[grain] = append(m.revisions[grain], revisions...)
	return revisions
}

// everything is all of it as a node that starts now would load it.
func (m *market) everything() Update {
	u := Update{Version: int64(len(m.publications)), Publications: m.publications}
	for _, grain := range assay.Grains {
		all := slices.SortedFunc(slices.Values(m.revisions[grain]), func(a, b assay.Revision) int {
			return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Number, b.Number))
		})
		u.Series = append(u.Series, SeriesUpdate{
			Line: global, Grain: grain, Revisions: all, Version: m.touched[grain],
			Published: 1000 * m.touched[grain],
		})
	}
	return u
}

func pointsIn(shown map[int64]assay.Nanos) (points []assay.Point) {
	for _, at := range slices.Sorted(maps.Keys(shown)) {
		points = append(points, assay.Point{At: at, Value: shown[at]})
	}
	return points
}

// TestLineAsOf_EqualsWhatWasServed reads random markets as of each of their versions: from a snapshot that has followed
// all the way and from one that was loaded at the end.
func TestLineAsOf_EqualsWhatWasServed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		m := newMarket(seed)
		followed := New(assay.DefaultCatalog(), 1)
		served := []*Line{followed.Line(gpu, assay.Global)}
		for range 80 {
			followed = followed.With(m.publish())
			served = append(served, followed.Line(gpu, assay.Global))
		}
		loaded := New(assay.DefaultCatalog(), 1).With(m.everything())
		for version, then := range served {
			for how, s := range map[string]*Snapshot{"followed": followed, "loaded": loaded} {
				line := s.LineAsOf(gpu, assay.Global, int64(version))
				for _, grain := range assay.Grains {
					what := fmt.Sprintf("seed %d, %s, %s as of version %d of %d", seed, how, grain, version, s.Version)
					got, want := line.Series(grain), then.Series(grain)
					checkSeries(t, what, got, pointsIn(m.history[version][grain]))
					if got.Version() != want.Version() || got.Modified() != want.Modified() {
						t.Errorf("%s: version %d, modified %d; served were %d, %d", what, got.Version(), got.Modified(), want.Version(), want.Modified())
					}
					if string(got.AppendText(nil, 0, got.Len())) != string(want.AppendText(nil, 0, want.Len())) {
						t.Errorf("%s: other rows than were served", what)
					}
				}
				if t.Failed() {
					return
				}
			}
		}
	}
}

func TestLineAsOf_SharesWhatItCan(t *testing.T) {
	t.Parallel()
	s := New(assay.DefaultCatalog(), 1)
	for v := int64(1); v <= 2*blockRows; v++ {
		s = s.With(Update{
			Version: v, Publications: []assay.Publication{{Version: v, PublishedAt: 100 * v}},
			Series: []SeriesUpdate{change(assay.Hourly, v, pointsAt(v)...)},
		})
	}
	newest := int64(2*blockRows + 1)
	s = s.With(Update{Version: newest, Series: []SeriesUpdate{change(assay.Daily, newest, pointsAt(1)...)}})
	line := s.Line(gpu, assay.Global)
	if s.LineAsOf(gpu, assay.Global, newest) != line || s.LineAsOf(gpu, assay.Global, newest+9) != line {
		t.Error("a line that nothing newer has touched is not the line itself")
	}
	if s.LineAsOf(gpu, region, 0) != s.Line(gpu, region) || s.LineAsOf(gpu, "mars", 5) != nil {
		t.Error("a line without data, or of no region")
	}
	then := s.LineAsOf(gpu, assay.Global, newest-1)
	if then.Series(assay.Hourly) != line.Series(assay.Hourly) || then.Series(assay.Daily).Len() != 0 {
		t.Error("the series that has not changed is not shared")
	}
	old := s.LineAsOf(gpu, assay.Global, blockRows+7).Series(assay.Hourly)
	if old.blocks[0] != line.Series(assay.Hourly).blocks[0] || old.Len() != blockRows+7 {
		t.Error("a series that has only grown since is copied")
	}
	if seven := s.LineAsOf(gpu, assay.Global, 7); s.LineAsOf(gpu, assay.Global, 7) != seven {
		t.Error("an old line is made twice")
	}
	for v := range int64(20) {
		s.LineAsOf(gpu, assay.Global, v)
	}
	if n := s.past.Len(); n != maxPastLines {
		t.Errorf("%d lines are in memory, want %d", n, maxPastLines)
	}
}

// TestLineAsOf_Concurrently has readers request more versions than the cache holds, while snapshots change.
func TestLineAsOf_Concurrently(t *testing.T) {
	t.Parallel()
	m := newMarket(99)
	var h Holder
	h.Store(New(assay.DefaultCatalog(), 1))
	updates := make([]Update, 120)
	for i := range updates {
		updates[i] = m.publish()
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, u := range updates {
			h.Store(h.Load().With(u))
		}
	})
	for reader := range uint64(3) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(reader, 9))
			for s := h.Load(); s.Version < int64(len(updates)); s = h.Load() {
				version := rng.Int64N(s.Version + 1)
				for grain, shown := range m.history[version] {
					series := s.LineAsOf(gpu, assay.Global, version).Series(grain)
					if got := pointsOf(series); !slices.Equal(got, pointsIn(shown)) {
						t.Errorf("%s as of %d of %d: got %v", grain, version, s.Version, got)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestVersionAt(t *testing.T) {
	t.Parallel()
	s := New(assay.DefaultCatalog(), 1)
	f := func(instant, want int64) {
		t.Helper()
		if got := s.VersionAt(instant); got != want {
			t.Errorf("at %d: got %d, want %d", instant, got, want)
		}
	}
	f(0, 0)
	f(1<<60, 0)
	s = s.With(Update{Version: 2, Publications: []assay.Publication{
		{Version: 1, PublishedAt: 10},
		{Version: 2, PublishedAt: 20},
	}})
	old := s
	s = s.With(Update{Version: 6, Publications: []assay.Publication{
		{Version: 2, PublishedAt: 20}, // comes again
		{Version: 3, PublishedAt: 20}, {Version: 5, PublishedAt: 15, Reason: "the clock was set back"}, {
			Version:     6,
			PublishedAt: 30,
		},
	}})
	f(9, 0)
	f(10, 1)
	f(19, 1)
	f(20, 5) // as of a version is as of all before it
	f(29, 5)
	f(30, 6)
	f(1<<60, 6)
	if p, ok := s.Publication(); !ok || p.Version != 6 {
		t.Errorf("the newest is %+v", p)
	}
	if p := s.publication(5); p.PublishedAt != 15 || s.publication(4) != (assay.Publication{}) || s.publication(7) != (assay.Publication{}) {
		t.Errorf("version 5 is %+v", p)
	}
	s = old
	f(1<<60, 2)
}

// BenchmarkLineAsOf measures the first reading of an old line of three years of hours, and the ones after.
func BenchmarkLineAsOf(b *testing.B) {
	var hours []assay.Revision
	for i := range int64(26_280) {
		hours = append(hours, assay.Revision{Point: assay.Point{
			At:    i * assay.Hour,
			Value: assay.One + assay.Nanos(i)*assay.Unit(4),
		}, Version: 1 + i/24})
	}
	update := Update{Version: 2000, Series: []SeriesUpdate{{
		Line: global, Grain: assay.Hourly, Revisions: hours,
		Version: 1095,
	}}}
	grown := New(assay.DefaultCatalog(), 1).With(update)
	restated := grown.With(Update{Version: 2001, Series: []SeriesUpdate{{
		Line: global, Grain: assay.Hourly, Version: 2001, Revisions: []assay.Revision{{
			Point: hours[5].Point, Number: 1,
			Version: 2001,
		}},
	}}})
	measure := func(name string, s *Snapshot, fresh bool) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if fresh {
					s.past = newPastLines()
				}
				s.LineAsOf(gpu, assay.Global, 500)
			}
		})
	}
	measure("grown", grown, true)
	measure("restated", restated, true)
	measure("kept", restated, false)
}
