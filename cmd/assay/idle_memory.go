package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A burst of requests leaves a heap that is mostly garbage, and the runtime keeps the memory for the next burst, which
// may never come. So the server gives it back once a burst is over.

// burstWatch finds out when a burst is over, from how much is allocated in each period.
type burstWatch struct {
	peak  uint64 // the most that was allocated in a period since the last burst
	quiet bool   // the last period was quiet
}

// What a burst is: a period with so many bytes, until two in a row have only a part of them. After the first, callers
// still count that were there in the last minute.
const (
	leastBurst = 256 << 20
	burstPart  = 8
	burstEvery = time.Minute
)

// isOver takes how many bytes were allocated in the last period.
func (w *burstWatch) isOver(allocated uint64) bool {
	w.peak = max(w.peak, allocated)
	quiet := w.peak >= leastBurst && allocated <= w.peak/burstPart
	over := quiet && w.quiet
	w.quiet = quiet
	if over {
		*w = burstWatch{}
	}
	return over
}

// releaseIdleMemory gives memory back to the system after each burst, until the context ends. It first drops what is of
// no more use.
func releaseIdleMemory(ctx context.Context, drop ...func()) error {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	var w burstWatch
	var before uint64
	for {
		metrics.Read(sample)
		allocated := sample[0].Value.Uint64()
		if w.isOver(allocated - before) {
			for _, f := range drop {
				f()
			}
			runtime.GC() // pools of buffers keep theirs through one collection
			debug.FreeOSMemory()
		}
		before = allocated
		if err := sleep(ctx, burstEvery); err != nil {
			return nil //nolint:nilerr // the server ends
		}
	}
}
