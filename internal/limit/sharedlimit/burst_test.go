package sharedlimit

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkBurst has so many callers ask at once, again and again, each for clients of its own and with the patience of a real
// node. An operation is one decision.
func BenchmarkBurst(b *testing.B) {
	address := anyServer(b)
	for _, callers := range []int{1, 16, 128, 512} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			n := openShared(b, address)
			l := newLimiter(n, newName(), 60, time.Minute)
			took := make([]time.Duration, b.N)
			var next atomic.Int64
			var all sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for range callers {
				all.Go(func() {
					for i := int(next.Add(1)) - 1; i < b.N; i = int(next.Add(1)) - 1 {
						began := time.Now()
						l.Allow(strconv.Itoa(i/20), 0)
						took[i] = time.Since(began)
					}
				})
			}
			all.Wait()
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
			b.ReportMetric(float64(took[b.N*99/100].Microseconds()), "p99-µs")
			b.ReportMetric(float64(took[b.N-1].Microseconds()), "longest-µs")
			b.ReportMetric(100*float64(n.Counts().Shared)/float64(b.N), "shared-%")
			b.ReportMetric(float64(n.Counts().Fallbacks), "fallbacks")
		})
	}
}
