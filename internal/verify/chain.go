package verify

import (
	"cmp"
	"maps"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

// link is what a record says about its position in its chain.
type link struct {
	sequence       int64
	at             int64
	revision       int
	hash, previous assay.Hash
}

// links are the links of all records, by series.
type links map[store.SeriesKey][]link

func (l links) add(records []store.Record) {
	for i := range records {
		r := &records[i]
		key := store.SeriesKey{Line: r.Line, Grain: r.Grain}
		l[key] = append(l[key], link{
			sequence: r.Sequence, at: r.At, revision: r.Revision, hash: r.Hash, previous: r.Previous,
		})
	}
}

// days gives the hashes of each day's records in the order of manifests: GPU, region, grain, instant, revision.
func (l links) days() map[int64][]assay.Hash {
	keys := slices.SortedFunc(maps.Keys(l), func(a, b store.SeriesKey) int {
		return cmp.Or(
			cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Region, b.Region), cmp.Compare(a.Grain.String(), b.Grain.String()),
		)
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

// checkLinks sorts the links of a series by sequence and checks the chain in both directions: each link carries the
// hash of the link before it, and a link whose hash is carried stands before the carrier. A neighbor that the period
// leaves out cannot be checked.
func checkLinks(key store.SeriesKey, links []link) error {
	slices.SortFunc(links, func(a, b link) int { return cmp.Compare(a.sequence, b.sequence) })
	sequences := make(map[assay.Hash]int64, len(links))
	for _, l := range links {
		sequences[l.hash] = l.sequence
	}
	for i, l := range links {
		slot := publish.Slot{SeriesKey: key, At: l.at}
		if i > 0 && links[i-1].sequence == l.sequence {
			return differs("%s: two records have position %d in the chain", slot, l.sequence)
		}
		sequence, known := sequences[l.previous]
		follows := i > 0 && links[i-1].sequence == l.sequence-1
		first := l.previous == assay.Hash{}
		if known && sequence != l.sequence-1 || follows && l.previous != links[i-1].hash || first != (l.sequence == 1) {
			return differs("%s: the chain is broken: the record does not carry the hash of the record before it", slot)
		}
	}
	return nil
}
