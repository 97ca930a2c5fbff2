package verify

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

var chainKey = store.SeriesKey{Line: assay.Line{GPU: "H100 SXM", Region: assay.Global}, Grain: assay.Hourly}

// linked returns records that follow each other, one for each hour.
func linked(n int) (list []store.Record) {
	var before assay.Hash
	for i := range n {
		r := store.Record{Sequence: int64(i + 1)}
		r.Line, r.Grain, r.At, r.Previous = chainKey.Line, chainKey.Grain, int64(i)*assay.Hour, before
		r.Hash[0], r.Hash[1] = byte(i+1), byte((i+1)>>8)
		before = r.Hash
		list = append(list, r)
	}
	return list
}

// withVolumes gives volumes to the records from one position to before another.
func withVolumes(list []store.Record, from, to int) []store.Record {
	for i := from; i < to; i++ {
		list[i].Volumes = "{}"
	}
	return list
}

// In whatever order the records come, the outcome is the same.
func TestChain_AnyOrder(t *testing.T) {
	t.Parallel()
	other := assay.Hash{31: 1}
	for name, c := range map[string]struct {
		change func([]store.Record) []store.Record
		want   string // in the error; empty for none
		whole  bool
	}{
		"intact":         {change: func(l []store.Record) []store.Record { return l }, whole: true},
		"another period": {change: func(l []store.Record) []store.Record { return slices.Delete(l, 3, 6) }},
		"another hash": {
			change: func(l []store.Record) []store.Record { l[7].Previous = other; return l },
			want:   "1970-01-01T07:00:00.000Z: the chain is broken",
		},
		"two breaks": {
			change: func(l []store.Record) []store.Record { l[7].Previous, l[9].Previous = other, other; return l },
			want:   "1970-01-01T07:00:00.000Z: the chain is broken",
		},
		"a second beginning": {
			change: func(l []store.Record) []store.Record { l[4].Previous = assay.Hash{}; return l },
			want:   "1970-01-01T04:00:00.000Z: the chain is broken",
		},
		"no beginning": {
			change: func(l []store.Record) []store.Record { l[0].Previous = other; return l },
			want:   "1970-01-01T00:00:00.000Z: the chain is broken",
		},
		"a position twice": {
			change: func(l []store.Record) []store.Record { return append(l, l[5]) },
			want:   "1970-01-01T05:00:00.000Z: two records have position 6 in the chain",
		},
		"no position": {
			change: func(l []store.Record) []store.Record { l[5].Sequence = -1 << 63; return l },
			want:   "1970-01-01T05:00:00.000Z: the chain is broken",
		},
		"one removed, the others joined": {
			change: func(l []store.Record) []store.Record { l[6].Previous = l[4].Hash; return slices.Delete(l, 5, 6) },
			want:   "1970-01-01T06:00:00.000Z: the chain is broken",
		},
		"volumes from an upgrade on": {
			change: func(l []store.Record) []store.Record { return withVolumes(l, 5, 20) }, whole: true,
		},
		"volumes left out": {
			change: func(l []store.Record) []store.Record { return withVolumes(l, 5, 12) },
			want:   "1970-01-01T19:00:00.000Z: the record has no volumes, though earlier records of its chain have",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2))
			for range 200 {
				list := c.change(linked(20))
				random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
				all := chains{}
				all.add(list)
				err := all[chainKey].check(chainKey)
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Fatalf("%v, want %q", err, c.want)
				}
				head := store.Chain{SeriesKey: chainKey, Records: 20, Head: linked(20)[19].Hash}
				if c.want == "" && all[chainKey].endsWith(head) != c.whole {
					t.Fatalf("it is complete: %t", !c.whole)
				}
			}
		})
	}
}

// A chain takes the memory of its restatements, not of its records.
func TestChain_KeepsRuns(t *testing.T) {
	t.Parallel()
	list := linked(10_000)
	// The last thousand are revisions of earlier slots, which are read together with those.
	restated := list[9000:]
	var c chain
	for i := range 9000 {
		c.add(chainKey, &list[i])
		if i < len(restated) {
			c.add(chainKey, &restated[i])
		}
		if len(c.runs) > 2 {
			t.Fatalf("%d runs after %d records", len(c.runs), i)
		}
	}
	if n := c.records(); len(c.runs) != 1 || n != 10_000 || c.broken != nil {
		t.Errorf("%d runs, %d records, %v", len(c.runs), n, c.broken)
	}
}
