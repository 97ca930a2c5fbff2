package verify

import (
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

// chains are the chains of all series. Records may be added in any order, and are not kept: records that follow each
// other become one run, and a chain that is complete and intact is a single one.
type chains map[store.SeriesKey]*chain

// chain is what is known of the chain of a series.
type chain struct {
	runs     []run // in the order of their positions, no two adjacent
	broken   error // at the first position that is wrong
	brokenAt int64

	// A release that writes volumes writes them in every record. These are positions; 0 for none.
	withVolumes    int64 // of the first record
	withoutVolumes int64 // of the last record
	withoutAt      int64 // its instant
}

// run is records that follow each other in their chain, each carrying the hash of the one before it.
type run struct {
	first, last int64      // positions
	at          int64      // instant of the first record
	before      assay.Hash // that the first record carries
	head        assay.Hash // of the last record
}

func (c chains) add(records []store.Record) {
	var key store.SeriesKey
	var current *chain
	for i := range records {
		r := &records[i]
		if of := (store.SeriesKey{Line: r.Line, Grain: r.Grain}); current == nil || of != key {
			key, current = of, c[of]
			if current == nil {
				current = &chain{}
				c[key] = current
			}
		}
		current.add(key, r)
	}
}

func (c *chain) add(key store.SeriesKey, r *store.Record) {
	n := r.Sequence
	if r.Volumes == "" && n > c.withoutVolumes {
		c.withoutVolumes, c.withoutAt = n, r.At
	} else if r.Volumes != "" && (c.withVolumes == 0 || n < c.withVolumes) {
		c.withVolumes = n
	}
	if n < 1 || (n == 1) != (r.Previous == assay.Hash{}) {
		c.breakLink(key, r.At, n)
		return
	}
	i, _ := slices.BinarySearchFunc(c.runs, n-1, func(one run, n int64) int {
		if one.last < n {
			return -1
		}
		return 1
	})
	alone := run{first: n, last: n, at: r.At, before: r.Previous, head: r.Hash}
	if i == len(c.runs) || c.runs[i].first > n+1 {
		c.runs = slices.Insert(c.runs, i, alone)
		return
	}
	switch near := &c.runs[i]; {
	case near.first == n+1:
		*near = c.join(key, alone, *near)
	case near.last == n-1:
		*near = c.join(key, *near, alone)
		if i+1 < len(c.runs) && c.runs[i+1].first == n+1 {
			*near = c.join(key, *near, c.runs[i+1])
			c.runs = slices.Delete(c.runs, i+1, i+2)
		}
	default:
		c.fail(n, differs("%s: two records have position %d in the chain", publish.Slot{SeriesKey: key, At: r.At}, n))
	}
}

// join joins two runs of which the second begins where the first ends.
func (c *chain) join(key store.SeriesKey, a, b run) run {
	if b.before != a.head {
		c.breakLink(key, b.at, b.first)
	}
	return run{first: a.first, last: b.last, at: a.at, before: a.before, head: b.head}
}

func (c *chain) breakLink(key store.SeriesKey, at, position int64) {
	c.fail(position, differs("%s: the chain is broken: the record does not carry the hash of the record before it",
		publish.Slot{SeriesKey: key, At: at}))
}

// fail keeps the error of the first position.
func (c *chain) fail(position int64, err error) {
	if c.broken == nil || position < c.brokenAt {
		c.broken, c.brokenAt = err, position
	}
}

// check checks the chain once all records of a period are added. Between runs are records outside the period, so the
// end of a run cannot be what the beginning of another one carries.
func (c *chain) check(key store.SeriesKey) error {
	if c.withVolumes > 0 && c.withoutVolumes > c.withVolumes {
		c.fail(c.withoutVolumes, differs("%s: the record has no volumes, though earlier records of its chain have",
			publish.Slot{SeriesKey: key, At: c.withoutAt}))
	}
	heads := make(map[assay.Hash]bool, len(c.runs))
	for _, r := range c.runs {
		heads[r.head] = true
	}
	for _, r := range c.runs {
		if heads[r.before] {
			c.breakLink(key, r.at, r.first)
		}
	}
	return c.broken
}

// records counts the records of the chain.
func (c *chain) records() (n int64) {
	for _, r := range c.runs {
		n += r.last - r.first + 1
	}
	return n
}

// endsWith reports whether the chain is complete and ends with the head.
func (c *chain) endsWith(head store.Chain) bool {
	return len(c.runs) == 1 && c.runs[0].first == 1 && c.runs[0].last == head.Records && c.runs[0].head == head.Head
}
