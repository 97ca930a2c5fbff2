// Package latency counts how long things take, in buckets, at next to no cost for what is measured.
//
// A Histogram is a handful of numbers that are raised without a lock; it allocates nothing and knows no labels. Code
// that measures several things has one for each, made in advance. Reading one takes no lock either: counts that are
// raised meanwhile may be there in part, which does no harm, because the next reading has them.
package latency

import (
	"sync/atomic"
	"time"
)

// Bounds are the upper bounds of the buckets. A price from memory takes some ten microseconds, a large compressed
// history some milliseconds, and a request that waits for a database that is away waits for seconds.
var Bounds = [...]time.Duration{
	50 * time.Microsecond, 100 * time.Microsecond, 250 * time.Microsecond, time.Millisecond, 5 * time.Millisecond,
	25 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond, 2500 * time.Millisecond, 10 * time.Second,
}

// Histogram counts durations. The zero value is ready.
type Histogram struct {
	buckets [len(Bounds) + 1]atomic.Uint64 // the last one is of what takes longer than all bounds
	nanos   atomic.Int64
}

// Observe counts a duration. A negative one, of a clock that was set back, counts as none.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	bucket := 0
	for bucket < len(Bounds) && d > Bounds[bucket] {
		bucket++
	}
	h.buckets[bucket].Add(1)
	h.nanos.Add(int64(d))
}

// Counts are the durations that were counted.
type Counts struct {
	Count   uint64
	Sum     time.Duration
	Buckets map[float64]uint64 // how many took at most so many seconds
}

// Read returns what was counted so far.
func (h *Histogram) Read() Counts {
	c := Counts{Sum: time.Duration(h.nanos.Load()), Buckets: make(map[float64]uint64, len(Bounds))}
	for i := range h.buckets {
		c.Count += h.buckets[i].Load()
		if i < len(Bounds) {
			c.Buckets[Bounds[i].Seconds()] = c.Count
		}
	}
	return c
}
