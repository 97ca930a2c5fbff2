package index

import (
	"cmp"
	"slices"
	"sort"

	"github.com/assaydata/assay"
)

// Window is the transactions of one slot and line, as rows of a batch. The rows are reused: copy them to keep them.
type Window struct {
	assay.Line
	Grain assay.Grain
	At    int64 // where it ends
	Rows  []int32
}

// Windows sorts a batch of transactions into windows.
type Windows struct {
	schedule Schedule
	open     []openWindows // by grain
	lines    int
	// position of a line in the lists of open, by GPU and region; nested, because a string is found faster than a pair
	positions map[string]map[string]int
}

// openWindows are the windows of one slot.
type openWindows struct {
	grain assay.Grain
	slot  int64    // where they end
	lines []Window // by position
}

// NewWindows makes windows of one or more grains.
func NewWindows(s Schedule, grains ...assay.Grain) *Windows {
	w := &Windows{schedule: s, positions: map[string]map[string]int{}}
	for _, grain := range grains {
		w.open = append(w.open, openWindows{grain: grain})
	}
	return w
}

// Each calls f for every window of a batch, those of a grain in the order of time. The batch holds whole windows and
// is in order (see Order).
func (w *Windows) Each(batch []assay.Transaction, f func(Window) error) error {
	for i := range w.open {
		w.open[i].slot = 0
	}
	for i := range batch {
		t := &batch[i]
		for j := range w.open {
			open := &w.open[j]
			if t.ExecutedAt < open.slot {
				continue
			}
			if err := open.close(f); err != nil {
				return err
			}
			open.slot = w.schedule.NextSlot(open.grain, t.ExecutedAt)
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
	regions := w.positions[line.GPU]
	position, ok := regions[line.Region]
	if !ok {
		if regions == nil {
			regions = map[string]int{}
			w.positions[line.GPU] = regions
		}
		position = w.lines
		regions[line.Region] = position
		w.lines++
		for i := range w.open {
			open := &w.open[i]
			open.lines = append(open.lines, Window{Line: line, Grain: open.grain})
		}
	}
	for i := range w.open {
		window := &w.open[i].lines[position]
		window.Rows = append(window.Rows, int32(row))
	}
}

// close calls f for the windows of a slot that has ended.
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

// Order sorts transactions into the order in which they are computed and hashed: time, source, id. A transaction that
// was corrected stands before its correction. Their digests, if given, are moved with them. Hours that are in order
// stay as they are, so that reading what is stored costs little.
func Order(batch []assay.Transaction, digests []assay.Hash) {
	for first := 0; first < len(batch); {
		end, ordered := first+1, true
		for ; end < len(batch) && batch[end].ExecutedAt/assay.Hour == batch[first].ExecutedAt/assay.Hour; end++ {
			ordered = ordered && compare(&batch[end-1], &batch[end]) <= 0
		}
		if end < len(batch) && batch[end].ExecutedAt < batch[first].ExecutedAt {
			first, end, ordered = 0, len(batch), false
		}
		if !ordered {
			part := ordering{batch: batch[first:end]}
			if len(digests) > 0 {
				part.digests = digests[first:end]
			}
			sort.Sort(part)
		}
		first = end
	}
}

// ordering sorts transactions together with their digests.
type ordering struct {
	batch   []assay.Transaction
	digests []assay.Hash // may be empty
}

func (o ordering) Len() int           { return len(o.batch) }
func (o ordering) Less(i, j int) bool { return compare(&o.batch[i], &o.batch[j]) < 0 }

func (o ordering) Swap(i, j int) {
	o.batch[i], o.batch[j] = o.batch[j], o.batch[i]
	if len(o.digests) > 0 {
		o.digests[i], o.digests[j] = o.digests[j], o.digests[i]
	}
}

// compare compares transactions in the order of a window.
func compare(a, b *assay.Transaction) int {
	if byTime := cmp.Compare(a.ExecutedAt, b.ExecutedAt); byTime != 0 {
		return byTime
	}
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Receipt, b.Receipt))
}

// Known reduces a batch of transactions, as received, to what was known at a receipt: it drops later transactions and
// applies the amendments up to then. The batch is modified.
func Known(batch []assay.Transaction, amendments assay.Amendments, receipt int64) []assay.Transaction {
	batch = slices.DeleteFunc(batch, func(t assay.Transaction) bool { return t.Receipt > receipt })
	if amendments.None() {
		return batch
	}
	type key struct {
		source, id string
		executedAt int64
	}
	amended := map[key][]*assay.Transaction{}
	for _, v := range amendments.Verifications {
		amended[key{v.Source, v.ID, v.ExecutedAt}] = nil
	}
	for _, c := range amendments.Corrections {
		amended[key{c.Source, c.ID, c.ExecutedAt}] = nil
	}
	for i := range batch {
		t := &batch[i]
		k := key{t.Source, t.ID, t.ExecutedAt}
		if list, ok := amended[k]; ok {
			amended[k] = append(list, t)
		}
	}
	for _, v := range amendments.Verifications {
		if t := newestBefore(amended[key{v.Source, v.ID, v.ExecutedAt}], v.Receipt); t != nil && v.Receipt <= receipt {
			t.Verified, t.Withdrawn = v.Verified, !v.Verified
			t.Evidence, t.VerifiedBy = v.Evidence, v.Actor
		}
	}
	for _, c := range amendments.Corrections {
		for _, t := range amended[key{c.Source, c.ID, c.ExecutedAt}] {
			if t.Receipt == c.Row && c.Receipt <= receipt {
				t.Verified, t.Withdrawn = false, true
			}
		}
	}
	return batch
}

// newestBefore returns the transaction that was received last before a receipt: a verification is of that one, and not
// of the one that it had corrected. It is nil if there is none.
func newestBefore(list []*assay.Transaction, receipt int64) (newest *assay.Transaction) {
	for _, t := range list {
		if t.Receipt < receipt && (newest == nil || t.Receipt > newest.Receipt) {
			newest = t
		}
	}
	return newest
}
