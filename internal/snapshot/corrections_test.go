package snapshot

import (
	"slices"
	"testing"

	"github.com/assaydata/assay"
)

// slotOf names a slot of the made-up market, whose line is always the same.
type slotOf struct {
	grain assay.Grain
	at    int64
}

// TestCorrections_TurnAnOldCopyIntoTheNew applies the corrections since a version to a copy of it. The result has, for
// every slot of that copy and every slot corrected, what is shown now; what is left was published later, and regularly.
func TestCorrections_TurnAnOldCopyIntoTheNew(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		m := newMarket(seed)
		followed := New(assay.DefaultCatalog(), 1)
		for range 80 {
			followed = followed.With(m.publish())
		}
		loaded := New(assay.DefaultCatalog(), 1).With(m.everything())
		if !slices.Equal(followed.CorrectionsAfter(Position{}), loaded.CorrectionsAfter(Position{})) {
			t.Fatalf("seed %d: a node that has followed and one that has loaded disagree", seed)
		}
		for version := range m.history {
			checkApplied(t, m, loaded, int64(version))
		}
	}
}

func checkApplied(t *testing.T, m *market, s *Snapshot, version int64) {
	t.Helper()
	copied, known := map[slotOf]assay.Nanos{}, map[slotOf]bool{}
	for grain, revisions := range m.revisions {
		for at, value := range m.history[version][grain] {
			copied[slotOf{grain, at}] = value
		}
		for _, r := range revisions {
			if r.Version <= version {
				known[slotOf{grain, r.At}] = true
			}
		}
	}
	for _, c := range s.CorrectionsAfter(Position{Version: version + 1}) {
		slot := slotOf{c.Grain, c.Revision.At}
		if had, ok := copied[slot]; known[slot] && (ok != c.HadValue || ok && had != c.Previous) {
			t.Fatalf("version %d: the correction %+v does not follow on %v, %v", version, c, had, ok)
		}
		if known[slot] = true; c.Revision.Gone {
			delete(copied, slot)
		} else {
			copied[slot] = c.Revision.Value
		}
	}
	for slot := range known {
		want, shown := m.shown[slot.grain][slot.at]
		if got, ok := copied[slot]; ok != shown || ok && got != want {
			t.Fatalf("as of %d, %v: got %v, %v; shown is %v, %v", version, slot, got, ok, want, shown)
		}
	}
}

func TestCorrections_Order(t *testing.T) {
	t.Parallel()
	s := New(assay.DefaultCatalog(), 1)
	east := assay.Line{GPU: gpu, Region: region}
	first := Update{Version: 1, Publications: []assay.Publication{{Version: 1, PublishedAt: 10}}, Series: []SeriesUpdate{
		change(assay.Daily, 1, pointsAt(10, 20)...), change(assay.Hourly, 1, pointsAt(10)...),
		{Line: east, Grain: assay.Daily, Revisions: made(1, pointsAt(10)), Version: 1},
	}}
	restated := func(line assay.Line, grain assay.Grain, version int64, revisions ...assay.Revision) SeriesUpdate {
		for i := range revisions {
			revisions[i].Version = version
		}
		return SeriesUpdate{Line: line, Grain: grain, Revisions: revisions, Version: version, Published: 100}
	}
	at := func(at int64, value assay.Nanos) assay.Revision {
		return assay.Revision{Point: assay.Point{At: at, Value: value}, Number: 1}
	}
	gone := at(20, 0)
	gone.Gone = true
	s = s.With(first).With(Update{
		Version:      2,
		Publications: []assay.Publication{{Version: 2, PublishedAt: 20, Reason: "late"}}, Series: []SeriesUpdate{
			restated(east, assay.Daily, 2, at(10, 1)), restated(global, assay.Hourly, 2, at(10, 2)), restated(global,
				assay.Daily, 2, at(10, 3), gone, at(30, 4)),
		},
	})
	type seen struct {
		line     assay.Line
		grain    assay.Grain
		at       int64
		value    assay.Nanos
		gone     bool
		previous assay.Nanos
		had      bool
	}
	var got []seen
	for _, c := range s.CorrectionsAfter(Position{}) {
		got = append(got, seen{c.Line, c.Grain, c.Revision.At, c.Revision.Value, c.Revision.Gone, c.Previous, c.HadValue})
		if c.CorrectedAt != 20 || c.Reason != "late" || c.Revision.Number != 1 {
			t.Errorf("got %+v", c)
		}
	}
	want := []seen{
		{global, assay.Daily, 10, 3, false, 10 * assay.One, true},
		{global, assay.Daily, 20, 0, true, 20 * assay.One, true},
		{global, assay.Daily, 30, 4, false, 0, false},
		{global, assay.Hourly, 10, 2, false, 10 * assay.One, true},
		{east, assay.Daily, 10, 1, false, 10 * assay.One, true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	third := s.CorrectionsAfter(Position{})[2]
	if rest := s.CorrectionsAfter(third.Position()); len(rest) != 2 || rest[0].Grain != assay.Hourly {
		t.Errorf("after the third: %+v", rest)
	}
	if rest := s.CorrectionsAfter(Position{Version: 9}); len(rest) != 0 {
		t.Errorf("after the last: %+v", rest)
	}
	// What comes again changes nothing.
	again := s.With(Update{Version: 2, Series: []SeriesUpdate{restated(global, assay.Daily, 2, at(10, 3))}})
	if len(again.CorrectionsAfter(Position{})) != len(want) || again.Line(gpu, assay.Global).Series(assay.Daily).Len() != 2 {
		t.Error("a revision that came twice counts twice")
	}
}
