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

// Windows sorts a batch of transactions into windows.
type Windows struct {
	schedule Schedule
	open     []openWindows             // by grain
	places   map[string]map[string]int // of a line in every list, by GPU and region: two short texts are found faster than a pair
	lines    int
}

// openWindows are the windows of one slot.
type openWindows struct {
	grain assay.Grain
	slot  int64    // where they end
	lines []Window // by place
}

// NewWindows makes room for windows of one or several grains.
func NewWindows(s Schedule, grains ...assay.Grain) *Windows {
	w := &Windows{schedule: s, places: map[string]map[string]int{}}
	for _, grain := range grains {
		w.open = append(w.open, openWindows{grain: grain})
	}
	return w
}

// Each calls f for every window of a batch that holds whole windows, those of a grain in the order of time. The batch must
// be in order (see Order).
func (w *Windows) Each(batch []assay.Transaction, f func(Window) error) error {
	for i := range w.open {
		w.open[i].slot = 0
	}
	for i := range batch {
		t := &batch[i]
		for j := range w.open {
			if open := &w.open[j]; t.ExecutedAt >= open.slot {
				if err := open.close(f); err != nil {
					return err
				}
				open.slot = w.schedule.NextSlot(open.grain, t.ExecutedAt)
			}
		}
		for line := range t.Lines() {
			w.add(line, i)
		}
	}
	for j := range w.open {
		if err := w.open[j].close(f); err != nil {
			return err
		}
	}
	return nil
}

func (w *Windows) add(line assay.Line, row int) {
	regions := w.places[line.GPU]
	place, ok := regions[line.Region]
	if !ok {
		if regions == nil {
			regions = map[string]int{}
			w.places[line.GPU] = regions
		}
		place = w.lines
		regions[line.Region] = place
		w.lines++
		for i := range w.open {
			open := &w.open[i]
			open.lines = append(open.lines, Window{Line: line, Grain: open.grain})
		}
	}
	for i := range w.open {
		window := &w.open[i].lines[place]
		window.Rows = append(window.Rows, int32(row))
	}
}

// close hands over the windows of a slot that has ended.
func (o *openWindows) close(f func(Window) error) error {
	for i := range o.lines {
		window := &o.lines[i]
		if len(window.Rows) == 0 {
			continue
		}
		window.At = o.slot
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
