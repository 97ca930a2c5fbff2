// Package audit goes over what was published and proves it, or names the first thing that does not fit. It computes every
// value again from the transactions as they were known when it was published, follows the chain of every series, and
// checks the signed manifests. It reads a database (verify.go) or a bundle of files that was exported from one, on a
// machine that has no database (bundle.go). backtest.go asks what another methodology would have published.
package audit

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

// ErrDiffers is in every error that says that something published cannot be proven.
var ErrDiffers = errors.New("what is stored differs from what was published")

func differs(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDiffers, fmt.Sprintf(format, args...))
}

// Report tells what was proven.
type Report struct {
	Transactions int
	Records      int
	Manifests    int
	Unsigned     int      // days whose records no manifest lists yet
	PublicKeys   []string // that signed, in base64
}

// stretch is everything about a stretch of time that begins and ends with a fixing: its transactions as they were
// received, the later words on them, and the records of the slots that end in it, by its end and not by its beginning.
type stretch struct {
	transactions []assay.Transaction
	events       []assay.Verification
	records      []store.Record
}

// checker computes stretches again. Each worker has its own.
type checker struct {
	schedule index.Schedule
	covers   store.Covers
	gpu      string // the only one to check; empty for all

	windows    *index.Windows
	calculator index.Calculator // of a stretch
	digests    []assay.Hash
	newest     int64                   // receipt of the stretch
	expected   map[slot][]store.Record // the records of the stretch, by slot
	partBatch  []assay.Transaction     // of a window, as it was known at a receipt
	partHashes []assay.Hash
	partRows   []int32

	partCalculator index.Calculator
}

// slot names a slot of a series.
type slot struct {
	store.SeriesKey
	at int64
}

func (s slot) String() string {
	return fmt.Sprintf("%s %s %s at %s", s.GPU, s.Region, s.Grain, assay.FormatInstant(s.at))
}

func newChecker(schedule index.Schedule, covers store.Covers, gpu string) *checker {
	return &checker{
		schedule: schedule, covers: covers, gpu: gpu, windows: index.NewWindows(schedule, assay.Grains...),
		expected: map[slot][]store.Record{},
	}
}

// check computes a stretch again and compares it with its records.
func (c *checker) check(s *stretch) error {
	index.Order(s.transactions)
	c.digests, c.newest = c.digests[:0], 0
	for i := range s.transactions {
		c.newest = max(c.newest, s.transactions[i].Receipt)
		c.digests = append(c.digests, proof.Transaction(&s.transactions[i]))
	}
	c.calculator.Load(s.transactions)
	clear(c.expected)
	if err := checkEvents(s); err != nil {
		return err
	}
	for _, r := range s.records {
		key := slot{store.SeriesKey{Line: r.Line, Grain: r.Grain}, r.At}
		c.expected[key] = append(c.expected[key], r)
	}
	err := c.windows.Each(s.transactions, func(w index.Window) error {
		if c.gpu != "" && w.GPU != c.gpu {
			return nil
		}
		return c.window(w, s)
	})
	if err != nil {
		return err
	}
	for key, records := range c.expected { // no window has asked for these
		if len(records) > 0 && (c.gpu == "" || key.GPU == c.gpu) {
			return differs("%s: there is a record, and no transactions for it", key)
		}
	}
	return nil
}

// window goes through the determinations of one slot: each version that covered it had the transactions as they were
// known to it.
func (c *checker) window(w index.Window, s *stretch) error {
	key := slot{store.SeriesKey{Line: w.Line, Grain: w.Grain}, w.At}
	records := c.expected[key]
	delete(c.expected, key)
	var before *assay.Determination
	for _, cover := range c.covers.At(store.CoverageKey{GPU: w.GPU, Grain: w.Grain}, w.At-1) {
		d, published := c.determine(w, s, cover.Receipt)
		if !publish.Revises(before, &d, published) {
			continue
		}
		if len(records) == 0 {
			return differs("%s: the transactions give %s, and there is no record of it", key, value(&d))
		}
		r := &records[0]
		records = records[1:]
		d.Receipt, d.PublishedAt = cover.Receipt, cover.PublishedAt
		if err := compare(key, &d, r, cover.Version); err != nil {
			return err
		}
		before = &r.Determination
	}
	if len(records) > 0 {
		return differs("%s: there is a record of revision %d, and no publication that made it", key, records[0].Revision)
	}
	return nil
}

// determine computes a window as it was known at a receipt. Nearly always that is as it is.
func (c *checker) determine(w index.Window, s *stretch, receipt int64) (d assay.Determination, published bool) {
	if len(s.events) == 0 && c.newest <= receipt {
		return publish.Determine(&c.calculator, c.schedule, w, s.transactions, c.digests)
	}
	c.partBatch, c.partHashes, c.partRows = c.partBatch[:0], c.partHashes[:0], c.partRows[:0]
	for _, row := range w.Rows {
		c.partBatch = append(c.partBatch, s.transactions[row])
	}
	c.partBatch = index.Known(c.partBatch, s.events, receipt)
	for i := range c.partBatch {
		c.partHashes = append(c.partHashes, proof.Transaction(&c.partBatch[i]))
		c.partRows = append(c.partRows, int32(i))
	}
	w.Rows = c.partRows
	c.partCalculator.Load(c.partBatch)
	return publish.Determine(&c.partCalculator, c.schedule, w, c.partBatch, c.partHashes)
}

// compare holds a record against the determination that was computed again.
func compare(key slot, d *assay.Determination, r *store.Record, version int64) error {
	d.Previous, d.Hash = r.Previous, r.Hash
	if *d != r.Determination {
		return differs("%s, revision %d: the record says %s, the transactions give %s (%s)", key, r.Revision, value(&r.Determination), value(d), difference(d, &r.Determination))
	}
	if proof.Record(d) != r.Hash {
		return differs("%s, revision %d: the record's hash is not that of its text", key, r.Revision)
	}
	if r.Version != version {
		return differs("%s, revision %d: the record is of publication %d, and publication %d made it", key, r.Revision, r.Version, version)
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
	case computed.Value != stored.Value || computed.HasValue != stored.HasValue:
		return "another value"
	}
	return "other facts about the same inputs"
}

// link is a record's place in its chain.
type link struct {
	sequence       int64
	at             int64
	revision       int
	hash, previous assay.Hash
}

// links are the places of records in their chains, by series.
type links map[store.SeriesKey][]link

func (l links) add(records []store.Record) {
	for i := range records {
		r := &records[i]
		key := store.SeriesKey{Line: r.Line, Grain: r.Grain}
		l[key] = append(l[key], link{r.Sequence, r.At, r.Revision, r.Hash, r.Previous})
	}
}

// days gives the hashes of the records by day, in the order of manifests: GPU, region, grain, instant and revision.
func (l links) days() map[int64][]assay.Hash {
	keys := slices.SortedFunc(maps.Keys(l), func(a, b store.SeriesKey) int {
		return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Region, b.Region), cmp.Compare(a.Grain.String(), b.Grain.String()))
	})
	days := map[int64][]assay.Hash{}
	for _, key := range keys {
		byTime := slices.SortedFunc(slices.Values(l[key]), func(a, b link) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.revision, b.revision))
		})
		for _, link := range byTime {
			day := assay.StartOfDay(link.at)
			days[day] = append(days[day], link.hash)
		}
	}
	return days
}

// checkLinks puts links into the order of their sequence and follows the chain both ways: who stands before a link is whose
// hash it carries, and whose hash it carries stands before it. Where one is left out, because the period does not hold it,
// nothing can be said.
func checkLinks(key store.SeriesKey, links []link) error {
	slices.SortFunc(links, func(a, b link) int { return cmp.Compare(a.sequence, b.sequence) })
	places := make(map[assay.Hash]int64, len(links))
	for _, l := range links {
		places[l.hash] = l.sequence
	}
	for i, l := range links {
		if i > 0 && links[i-1].sequence == l.sequence {
			return differs("%s: two records have the place %d in the chain", slot{key, l.at}, l.sequence)
		}
		place, known := places[l.previous]
		follows := i > 0 && links[i-1].sequence == l.sequence-1
		first := l.previous == assay.Hash{}
		if known && place != l.sequence-1 || follows && l.previous != links[i-1].hash || first != (l.sequence == 1) {
			return differs("%s: the chain is broken here: the record does not carry the hash of the one before it", slot{key, l.at})
		}
	}
	return nil
}

// checkManifests checks manifests in the order in which they were signed: each by itself, that no revision of a day is left
// out, and the chain they are. Whole tells that the first of them is the first of all.
func checkManifests(list []assay.Manifest, whole bool) error {
	revisions := map[int64]int{}
	for i := range list {
		m := &list[i]
		name := fmt.Sprintf("manifest of %s, revision %d", assay.FormatDay(m.Day), m.Revision)
		if err := proof.CheckManifest(m); err != nil {
			return differs("%s: %v", name, err)
		}
		if m.Revision != revisions[m.Day] {
			return differs("%s: revision %d is not where it should be", name, revisions[m.Day])
		}
		revisions[m.Day]++
		var before assay.Hash
		if i > 0 {
			before = list[i-1].Hash
		}
		if whole && m.Previous != before {
			return differs("%s: the chain is broken here: it does not carry the hash of the manifest before it", name)
		}
	}
	return nil
}

// checkSigned checks that the newest manifest of every day lists the records whose hashes are given, except for days that
// wait for one because their records have changed since. Days that are outside were not read as a whole.
func checkSigned(manifests []assay.Manifest, unsigned []int64, hashes map[int64][]assay.Hash, outside func(day int64) bool) error {
	last := newest(manifests)
	for _, d := range unsigned {
		delete(last, d)
		delete(hashes, d)
	}
	for _, d := range slices.Sorted(maps.Keys(hashes)) {
		if !outside(d) && last[d] == nil {
			return differs("manifest of %s: it is not there, and nobody waits for it", assay.FormatDay(d))
		}
	}
	for _, d := range slices.Sorted(maps.Keys(last)) {
		m := last[d]
		if m.Records != len(hashes[d]) || m.Digest != proof.Records(hashes[d]) {
			return differs("manifest of %s, revision %d: it lists other records than are there", assay.FormatDay(d), m.Revision)
		}
	}
	return nil
}

// newest gives the last manifest of each day.
func newest(list []assay.Manifest) map[int64]*assay.Manifest {
	last := map[int64]*assay.Manifest{}
	for i := range list {
		last[list[i].Day] = &list[i]
	}
	return last
}
