package family_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
)

// reported is a row of a test: a day of a series.
type reported struct {
	Series string
	Day    int64
	Value  int64
}

var settling = &family.Definition[reported]{
	At:   func(o *assay.Observed[reported]) int64 { return o.Value.Day },
	Slot: func(r *reported) family.Slot { return family.Slot{Series: r.Series, At: r.Day, End: r.Day + assay.Day} },
}

// receivedRow is a row, and the hour in which it was received.
type receivedRow struct {
	hour int64
	reported
}

// settled makes observations of rows, whose days are numbers.
func settled(t *testing.T, rows ...receivedRow) *family.Observations[reported] {
	t.Helper()
	var all []assay.Observed[reported]
	for _, r := range rows {
		r.Day *= assay.Day
		key := fmt.Sprint(r.Series, r.Day/assay.Day)
		all = append(all, assay.Observed[reported]{Value: r.reported, Key: key, Received: r.hour * assay.Hour})
	}
	return settling.NoObservations().With(settling.BatchOf(all...)).(*family.Observations[reported])
}

// oneDay settles slots a day after their end and their first row, from the third day on.
func oneDay(restated ...assay.Restatement) family.Settlement {
	return family.Settlement{Restated: restated, After: func(end int64) int64 {
		if end < 3*assay.Day {
			return 0
		}
		return assay.Day
	}}
}

func wantCounting(t *testing.T, o *family.Observations[reported], hour int64, s family.Settlement, want ...string) {
	t.Helper()
	var got []string
	for _, r := range o.Known(hour*assay.Hour, s) {
		got = append(got, fmt.Sprint(r.Key, "=", r.Value.Value))
	}
	if !slices.Equal(got, want) {
		t.Errorf("at hour %d %v count, want %v", hour, got, want)
	}
}

// A late row, of the same day or of an earlier one, counts only once it was restated.
func TestKnown_Late(t *testing.T) {
	t.Parallel()
	o := settled(t,
		receivedRow{240, reported{"a", 9, 1}},  // the day ends at hour 240
		receivedRow{250, reported{"a", 9, 2}},  // in time: final at hour 264
		receivedRow{264, reported{"a", 9, 3}},  // too late
		receivedRow{265, reported{"a", 7, 4}},  // of an earlier day, which had nothing
		receivedRow{266, reported{"b", 7, 5}},  // of another series
		receivedRow{267, reported{"a", 10, 6}}, // of the next day
		receivedRow{300, reported{"a", 9, 7}},  // later still
	)
	wantCounting(t, o, 263, oneDay(), "a9=2")
	wantCounting(t, o, 264, oneDay(), "a9=2")
	wantCounting(t, o, 999, oneDay(), "a10=6", "a9=2", "b7=5")

	// A restatement counts from its own instant on, for what was received until then.
	seventh := assay.Restatement{At: 280 * assay.Hour, From: 7 * assay.Day, To: 8 * assay.Day}
	ninth := assay.Restatement{At: 290 * assay.Hour, From: 9 * assay.Day, To: 10 * assay.Day}
	both := oneDay(seventh, ninth)
	wantCounting(t, o, 279, both, "a10=6", "a9=2", "b7=5")
	wantCounting(t, o, 280, both, "a10=6", "a7=4", "a9=2", "b7=5")
	wantCounting(t, o, 290, both, "a10=6", "a7=4", "a9=3", "b7=5")
	wantCounting(t, o, 999, both, "a10=6", "a7=4", "a9=3", "b7=5")

	var late []string
	o.EachLate(999*assay.Hour, both, func(l *family.Late[reported]) {
		late = append(late, fmt.Sprint(l.Series, l.At/assay.Day, "=", l.Value.Value, " ", l.Restated/assay.Hour))
	})
	if want := []string{"a9=3 290", "a7=4 280", "a9=7 0"}; !slices.Equal(late, want) {
		t.Errorf("late are %v, want %v", late, want)
	}
}

// A row that comes during its own day is a part of it. It does not settle the day, so the whole one is in time.
func TestKnown_OwnDay(t *testing.T) {
	t.Parallel()
	o := settled(t, receivedRow{230, reported{"a", 9, 1}}, receivedRow{500, reported{"a", 9, 2}})
	wantCounting(t, o, 400, oneDay(), "a9=1")
	wantCounting(t, o, 500, oneDay(), "a9=2")
}

// Under a methodology that settles nothing, everything counts at once; and so it is without slots.
func TestKnown_NeverFinal(t *testing.T) {
	t.Parallel()
	o := settled(t, receivedRow{48, reported{"a", 1, 1}}, receivedRow{500, reported{"a", 1, 2}})
	wantCounting(t, o, 500, oneDay(), "a1=2")
	wantCounting(t, o, 500, family.Settlement{}, "a1=2")
	// The past of a series is final with the first day that is.
	o = settled(t, receivedRow{48, reported{"a", 1, 1}}, receivedRow{240, reported{"a", 9, 1}}, receivedRow{500, reported{"a", 1, 2}})
	wantCounting(t, o, 500, oneDay(), "a1=1", "a9=1")
}

// History that is imported at once is in time, in any order.
func TestKnown_History(t *testing.T) {
	t.Parallel()
	o := settled(t, receivedRow{900, reported{"a", 9, 1}}, receivedRow{900, reported{"a", 8, 1}}, receivedRow{920, reported{"a", 4, 1}})
	wantCounting(t, o, 999, oneDay(), "a4=1", "a8=1", "a9=1")
}

// A series is final up to a slot, and will be up to the next.
func TestSettled(t *testing.T) {
	t.Parallel()
	o := settled(t,
		receivedRow{240, reported{"a", 9, 1}}, receivedRow{250, reported{"b", 9, 1}}, receivedRow{264, reported{"a", 10, 1}},
	)
	f := func(hour int64, want map[string]int64, wantNext int64) {
		t.Helper()
		final, next := o.Settled(hour*assay.Hour, oneDay())
		for series := range final {
			final[series] /= assay.Day
		}
		if !maps.Equal(final, want) || next != wantNext*assay.Hour {
			t.Errorf("at hour %d %v is final, and more at hour %d; want %v and %d", hour, final, next/assay.Hour, want, wantNext)
		}
	}
	f(239, map[string]int64{}, 0)
	f(263, map[string]int64{}, 264)
	f(264, map[string]int64{"a": 9}, 274)
	f(274, map[string]int64{"a": 9, "b": 9}, 288)
	f(288, map[string]int64{"a": 10, "b": 9}, 0)
}
