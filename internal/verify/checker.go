package verify

import (
	"fmt"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

// checker recomputes chunks. Each worker has one.
type checker struct {
	schedule index.Schedule
	covers   store.Covers
	period   store.Span // the slots to check

	// Of the current chunk:
	windows    *index.Windows
	calculator index.Calculator
	newest     int64                           // receipt
	expected   map[publish.Slot][]store.Record // parts of the chunk's records

	// Of one window, as it was known at a receipt:
	partBatch      []assay.Transaction
	partDigests    []assay.Hash
	partRows       []int32
	partCalculator index.Calculator
}

func newChecker(schedule index.Schedule, covers store.Covers, period store.Span) *checker {
	return &checker{
		schedule: schedule, covers: covers, period: period, windows: index.NewWindows(schedule, assay.Grains...),
		expected: map[publish.Slot][]store.Record{},
	}
}

// check recomputes a chunk and compares it with its records.
func (c *checker) check(k *chunk) error {
	c.load(k)
	if k.partial {
		k.dropStray()
	}
	if err := checkAmendments(k); err != nil {
		return err
	}
	err := c.windows.Each(k.transactions, func(w index.Window) error {
		if w.At < c.period.From || w.At >= c.period.To {
			return nil
		}
		return c.window(w, k)
	})
	if err != nil {
		return err
	}
	for slot := range c.expected { // no window has claimed these
		return differs("%s: there is a record but no transaction", slot)
	}
	return nil
}

func (c *checker) load(k *chunk) {
	index.Order(k.transactions, k.digests)
	c.newest = 0
	for i := range k.transactions {
		c.newest = max(c.newest, k.transactions[i].Receipt)
	}
	if len(k.digests) == 0 {
		for i := range k.transactions {
			k.digests = append(k.digests, proof.Transaction(&k.transactions[i]))
		}
	}
	c.calculator.Load(k.transactions)
	clear(c.expected)
	for rest := k.records; len(rest) > 0; {
		slot := publish.SlotOf(&rest[0].Determination)
		n := 1
		for n < len(rest) && publish.SlotOf(&rest[n].Determination) == slot {
			n++
		}
		if before := c.expected[slot]; before == nil {
			c.expected[slot] = rest[:n:n]
		} else { // in a bundle that export did not write
			c.expected[slot] = append(before, rest[:n]...)
		}
		rest = rest[n:]
	}
}

// window replays the determinations of one slot. Each version that covered the slot used the transactions known to it.
func (c *checker) window(w index.Window, k *chunk) error {
	slot := publish.Slot{SeriesKey: store.SeriesKey{Line: w.Line, Grain: w.Grain}, At: w.At}
	records := c.expected[slot]
	delete(c.expected, slot)
	var before *assay.Determination
	for _, cover := range c.covers.At(store.CoverageKey{GPU: w.GPU, Grain: w.Grain}, w.At-1) {
		d, published := c.determine(w, k, cover.Receipt)
		if !publish.Revises(before, &d, published) {
			continue
		}
		if len(records) == 0 {
			return differs("%s: the transactions give %s, but there is no record of it", slot, value(&d))
		}
		r := &records[0]
		records = records[1:]
		d.Receipt, d.PublishedAt = cover.Receipt, cover.PublishedAt
		if r.DelaySeconds != 0 { // otherwise of a release that had none
			d.DelaySeconds = c.schedule.At(w.At).DelaySeconds
		}
		if r.Volumes == "" && !index.StatesEvidence(d.Volumes) { // likewise; such a release knew no evidence
			d.Volumes = ""
		}
		if err := compare(slot, &d, r, cover.Version); err != nil {
			return err
		}
		before = &r.Determination
	}
	if len(records) > 0 {
		return differs("%s: there is a record of revision %d, but no publication made it", slot, records[0].Revision)
	}
	return nil
}

// determine computes a window as it was known at a receipt. Nearly always that is all of it.
func (c *checker) determine(w index.Window, k *chunk, receipt int64) (d assay.Determination, published bool) {
	if k.amendments.None() && c.newest <= receipt {
		return publish.Determine(&c.calculator, c.schedule, w, k.transactions, k.digests)
	}
	c.partBatch, c.partDigests, c.partRows = c.partBatch[:0], c.partDigests[:0], c.partRows[:0]
	for _, row := range w.Rows {
		c.partBatch = append(c.partBatch, k.transactions[row])
	}
	c.partBatch = index.Known(c.partBatch, k.amendments, receipt)
	for i := range c.partBatch {
		c.partDigests = append(c.partDigests, proof.Transaction(&c.partBatch[i]))
		c.partRows = append(c.partRows, int32(i))
	}
	w.Rows = c.partRows
	c.partCalculator.Load(c.partBatch)
	return publish.Determine(&c.partCalculator, c.schedule, w, c.partBatch, c.partDigests)
}

// compare checks a record against the recomputed determination.
func compare(slot publish.Slot, d *assay.Determination, r *store.Record, version int64) error {
	d.Previous, d.Hash = r.Previous, r.Hash
	if *d != r.Determination {
		return differs("%s, revision %d: the record says %s, the transactions give %s (%s)",
			slot, r.Revision, value(&r.Determination), value(d), difference(d, &r.Determination))
	}
	if r.PublishedAt < r.At+int64(r.DelaySeconds)*assay.Second {
		return differs("%s, revision %d: it was published at %s, before its delay of %d s had passed",
			slot, r.Revision, assay.FormatInstant(r.PublishedAt), r.DelaySeconds)
	}
	if proof.Record(d) != r.Hash {
		return differs("%s, revision %d: the record's hash is not the hash of its text", slot, r.Revision)
	}
	if r.Version != version {
		return differs("%s, revision %d: the record names publication %d, but publication %d made it",
			slot, r.Revision, r.Version, version)
	}
	return nil
}

func value(d *assay.Determination) string {
	if !d.HasValue {
		return "no value"
	}
	return d.Value.String()
}

// difference names the first field in which two records differ.
func difference(computed, stored *assay.Determination) string {
	switch {
	case computed.Inputs != stored.Inputs:
		return "other inputs"
	case computed.Methodology != stored.Methodology:
		return "methodology " + stored.Methodology + " instead of " + computed.Methodology
	case computed.Revision != stored.Revision:
		return fmt.Sprintf("revision %d instead of %d", stored.Revision, computed.Revision)
	case computed.Receipt != stored.Receipt || computed.PublishedAt != stored.PublishedAt:
		return "another publication"
	case computed.DelaySeconds != stored.DelaySeconds:
		return fmt.Sprintf("a delay of %d s instead of %d s", stored.DelaySeconds, computed.DelaySeconds)
	case computed.Volumes != stored.Volumes:
		return "other volumes"
	case computed.Value != stored.Value || computed.HasValue != stored.HasValue:
		return "another value"
	}
	return "other facts about the same inputs"
}
