package bulk

import (
	"maps"
	"math"
	"slices"

	"github.com/assaydata/assay"
)

// History finds the instants at which the months of a dataset had another content: the revisions of their files. It
// gets every change that ever counted, in any order, and gives the same instants on every node that has the same
// changes.
//
// A month is complete some time after its end (Delay) and, where the last rows of a month may come late, once a row
// after it is known (Follows). All that was known until then is the first revision. Of what came later, every
// restatement makes a revision; other changes, such as those of a history that is being published or imported, make one
// a day.
type History struct {
	Delay   int64 // in milliseconds
	Follows bool  // a month waits for the first row after it
	Reaches bool  // a row may change the months after its own

	months map[Month]map[change]int64
	first  map[Month]int64 // when the first row of a month was known
	finder monthFinder
}

// change is what changes have in common that make one revision: the instant of a restatement, or a day.
type change struct {
	at       int64
	restated bool
}

// Add adds that rows from an instant to another one count from an instant on, and whether a restatement made them
// count.
func (h *History) Add(from, to, counts int64, restated bool) {
	key := change{assay.StartOfDay(counts), false}
	if restated {
		key = change{counts, true}
	}
	if h.months == nil {
		h.months, h.first = map[Month]map[change]int64{}, map[Month]int64{}
	}
	last := h.finder.of(to)
	for m := h.finder.of(from); m <= last; m++ {
		h.add(m, key, counts)
	}
}

func (h *History) add(m Month, key change, counts int64) {
	changes := h.months[m]
	if changes == nil {
		changes = map[change]int64{}
		h.months[m] = changes
		h.first[m] = counts
	}
	changes[key] = max(changes[key], counts)
	h.first[m] = min(h.first[m], counts)
}

// Months lists the months that have rows, oldest first.
func (h *History) Months() []Month { return slices.Sorted(maps.Keys(h.months)) }

// Instants lists when a month had another content, oldest first; none if it is not complete at a moment.
func (h *History) Instants(m Month, moment int64) (instants []int64) {
	complete := m.Ends() + h.Delay - 1
	if complete >= moment {
		return nil
	}
	if h.Follows {
		complete = max(complete, h.followed(m))
	}
	begun := int64(math.MinInt64)
	later := map[change]int64{}
	for month, changes := range h.months {
		if month > m || month < m && !h.Reaches {
			continue
		}
		for key, counts := range changes {
			if counts <= complete {
				begun = max(begun, counts)
			} else {
				later[key] = max(later[key], counts)
			}
		}
	}
	if begun != math.MinInt64 {
		instants = append(instants, begun)
	}
	instants = append(instants, slices.Sorted(maps.Values(later))...)
	return slices.Compact(instants)
}

// followed is when the first row after a month was known; 0 if there is none.
func (h *History) followed(m Month) (first int64) {
	for month, counts := range h.first {
		if month > m && (first == 0 || counts < first) {
			first = counts
		}
	}
	return first
}
