package index

import (
	"cmp"
	"slices"

	"github.com/assaydata/assay"
)

// Window is the transactions of one slot and line, as rows of a batch. The rows are reused: who keeps them copies them.
type Window struct {
	assay.Line
	Grain assay.Grain
	At    int64 // where it ends
	Rows  []int32
}

// Windows sorts a batch of transactions into the windows of a grain.
type Windows struct {
	schedule Schedule
	grain    assay.Grain
	places   map[assay.Line]int
	open     []Window
}

// NewWindows makes room for windows of a grain.
func NewWindows(s Schedule, grain assay.Grain) *Windows {
	return &Windows{schedule: s, grain: grain, places: map[assay.Line]int{}}
}

// Each calls f for every window of a batch that holds whole windows, in the order of time. The batch must be in order (see
// Order).
func (w *Windows) Each(batch []assay.Transaction, f func(Window) error) error {
	slot := int64(0)
	for i := range batch {
		t := &batch[i]
		if t.ExecutedAt >= slot {
			if err := w.close(slot, f); err != nil {
				return err
			}
			slot = w.schedule.NextSlot(w.grain, t.ExecutedAt)
		}
		for line := range t.Lines() {
			w.add(line, i)
		}
	}
	return w.close(slot, f)
}

func (w *Windows) add(line assay.Line, row int) {
	place, ok := w.places[line]
	if !ok {
		place = len(w.open)
		w.places[line] = place
		w.open = append(w.open, Window{Line: line, Grain: w.grain})
	}
	w.open[place].Rows = append(w.open[place].Rows, int32(row))
}

func (w *Windows) close(slot int64, f func(Window) error) error {
	for i := range w.open {
		window := &w.open[i]
		if len(window.Rows) == 0 {
			continue
		}
		window.At = slot
		err := f(*window)
		window.Rows = window.Rows[:0]
		if err != nil {
			return err
		}
	}
	return nil
}

// Order puts transactions into the order in which they are computed and hashed: time, then source, then id.
func Order(batch []assay.Transaction) {
	inOrder := func(a, b assay.Transaction) int {
		return cmp.Or(cmp.Compare(a.ExecutedAt, b.ExecutedAt), cmp.Compare(a.Source, b.Source), cmp.Compare(a.ID, b.ID))
	}
	for i := 1; i < len(batch); i++ {
		a, b := &batch[i-1], &batch[i]
		if a.ExecutedAt > b.ExecutedAt || a.ExecutedAt == b.ExecutedAt && inOrder(*a, *b) > 0 {
			slices.SortFunc(batch, inOrder)
			return
		}
	}
}

// Known reduces a batch, as it was received, to what was known at a receipt: rows that came later are left out, and the
// later words on the others apply, as far as they had come. The events are in the order of their coming. The batch is
// reused.
func Known(batch []assay.Transaction, events []assay.Verification, receipt int64) []assay.Transaction {
	batch = slices.DeleteFunc(batch, func(t assay.Transaction) bool { return t.Receipt > receipt })
	if len(events) == 0 {
		return batch
	}
	type key struct{ source, id string }
	last := map[key]bool{}
	for _, e := range events {
		if e.Receipt <= receipt {
			last[key{e.Source, e.ID}] = e.Verified
		}
	}
	for i := range batch {
		if verified, ok := last[key{batch[i].Source, batch[i].ID}]; ok {
			batch[i].Verified, batch[i].Withdrawn = verified, !verified
		}
	}
	return batch
}
