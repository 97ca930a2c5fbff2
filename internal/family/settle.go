package family

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/assaydata/assay"
)

// Values must not move because an old input arrives. So a day of a series, such as a lab's, becomes final: some time
// after it has ended and its first row was received. What comes for it later, or for an earlier day of the series, is
// late, and counts only once the operator has restated that time. All of this follows from when rows were received,
// so that anyone with the rows can repeat it, for every past moment too.

// Slot is the time that a row is about, as far as settling is concerned.
type Slot struct {
	Series  string // whose values the row enters into; it settles on its own
	At, End int64  // of the time; At orders the slots of a series
}

// Settlement says when rows are late, and which late ones count.
type Settlement struct {
	// After is how long after its end, and after the first row that was received since then, a slot with that end is
	// final; 0 for never.
	After func(end int64) int64
	// Restated is what the operator has restated, in the order of time.
	Restated []assay.Restatement
}

// LetsCount returns when a row that came late was restated, as of a moment; 0 if it was not.
func (s *Settlement) LetsCount(slot Slot, received, moment int64) int64 {
	for i := range s.Restated {
		if r := &s.Restated[i]; r.At >= received && r.At <= moment && slot.At >= r.From && slot.At < r.To {
			return r.At
		}
	}
	return 0
}

// Frontier is how far a series is final, at every moment.
type Frontier struct {
	steps []step // each later than the one before, and of a later slot
}

// step is up to which slot a series is final from an instant on.
type step struct{ at, final int64 }

// Add adds that a slot is final from an instant on. Slots are added in the order in which their rows were received.
func (f *Frontier) Add(at, final int64) {
	if n := len(f.steps); n > 0 {
		last := f.steps[n-1]
		if at <= last.at {
			return
		}
		final = max(final, last.final)
	}
	f.steps = append(f.steps, step{at, final})
}

// At returns up to which slot the series is final at a moment; ok is false if nothing is.
func (f *Frontier) At(moment int64) (at int64, ok bool) {
	n := f.passed(moment)
	if n == 0 {
		return 0, false
	}
	return f.steps[n-1].at, true
}

// After returns the first instant after a moment from which on more than before a slot is final; 0 for none.
func (f *Frontier) After(moment, before int64) int64 {
	for _, s := range f.steps[f.passed(moment):] {
		if s.at > before {
			return s.final
		}
	}
	return 0
}

// passed is how many steps were taken at a moment.
func (f *Frontier) passed(moment int64) int {
	return sort.Search(len(f.steps), func(i int) bool { return f.steps[i].final > moment })
}

// Late is a row that came late.
type Late[T any] struct {
	assay.Observed[T]
	Slot
	Restated int64 // when the operator has restated it; 0 if it does not count yet
}

// Known returns the newest revision of every observation that counts at a moment, in the order of their keys.
func (o *Observations[T]) Known(moment int64, s Settlement) []assay.Observed[T] {
	positions := map[string]int{}
	var known []assay.Observed[T]
	o.each(moment, s, func(observed *assay.Observed[T], late *Late[T]) {
		if late != nil && late.Restated == 0 {
			return
		}
		if i, ok := positions[observed.Key]; ok {
			known[i] = *observed
		} else {
			positions[observed.Key] = len(known)
			known = append(known, *observed)
		}
	})
	slices.SortFunc(known, func(a, b assay.Observed[T]) int { return cmp.Compare(a.Key, b.Key) })
	return known
}

// Changed returns when what is known at a moment changed last: by what was received, or restated.
func (o *Observations[T]) Changed(moment int64, s Settlement) int64 {
	changed := o.Received(moment)
	for i := range s.Restated {
		if at := s.Restated[i].At; at <= moment {
			changed = max(changed, at)
		}
	}
	return changed
}

// Settled returns up to which slot each series is final at a moment, and when more will be if nothing else is received;
// 0 for never.
func (o *Observations[T]) Settled(moment int64, s Settlement) (final map[string]int64, next int64) {
	final = map[string]int64{}
	for name, f := range o.each(moment, s, func(*assay.Observed[T], *Late[T]) {}) {
		if at, ok := f.At(moment); ok {
			final[name] = at
		}
		if due := f.After(moment, math.MinInt64); due > 0 && (next == 0 || due < next) {
			next = due
		}
	}
	return final, next
}

// LateRow is Late without its type parameter.
type LateRow struct {
	Slot
	Key      string
	Received int64
	Restated int64
}

// EachLateRow is EachLate for code that loops over all families.
func (o *Observations[T]) EachLateRow(moment int64, s Settlement, f func(LateRow)) {
	o.EachLate(moment, s, func(l *Late[T]) { f(LateRow{l.Slot, l.Key, l.Received, l.Restated}) })
}

// EachLate calls f for each late row that was received up to a moment, in the order of receipt.
func (o *Observations[T]) EachLate(moment int64, s Settlement, f func(*Late[T])) {
	o.each(moment, s, func(_ *assay.Observed[T], late *Late[T]) {
		if late != nil {
			f(late)
		}
	})
}

// each calls f for each row that was received up to a moment, with late set if it came late. It returns the frontiers
// of the series.
func (o *Observations[T]) each(
	moment int64, s Settlement, f func(observed *assay.Observed[T], late *Late[T]),
) map[string]*Frontier {
	rows := o.all.Items()[:o.Count(moment)]
	frontiers := map[string]*Frontier{}
	for i := range rows {
		observed := &rows[i]
		if o.slot == nil || s.After == nil {
			f(observed, nil)
			continue
		}
		slot := o.slot(&observed.Value)
		series := frontiers[slot.Series]
		if series == nil {
			series = &Frontier{}
			frontiers[slot.Series] = series
		}
		if final, ok := series.At(observed.Received); ok && slot.At <= final {
			f(observed, &Late[T]{*observed, slot, s.LetsCount(slot, observed.Received, moment)})
			continue
		}
		// A row that came before the end of its own slot is a part of it, and settles nothing.
		if after := s.After(slot.End); after > 0 && observed.Received >= slot.End {
			series.Add(slot.At, observed.Received+after)
		}
		f(observed, nil)
	}
	return frontiers
}
