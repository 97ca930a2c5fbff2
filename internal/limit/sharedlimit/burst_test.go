package sharedlimit

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestBurst_FewRoundTrips makes a burst wait for a stopped server, and counts how often the server reads once it
// continues.
func TestBurst_FewRoundTrips(t *testing.T) {
	t.Parallel()
	const callers = 512
	s := startServer(t)
	n := openSharedPatient(t, s.address())
	l := newLimiter(n, newName(), 60, time.Hour)
	admit(l, "first", 1)
	lane, err := n.lane(l.name("first"))
	if err != nil {
		t.Fatal(err)
	}
	before := reads(t, n)
	s.signal(syscall.SIGSTOP)
	var all sync.WaitGroup
	var admitted atomic.Int64
	for i := range callers {
		all.Go(func() { admitted.Add(int64(admit(l, strconv.Itoa(i), 1))) })
	}
	for waiting := 0; waiting < callers-senders*batchSize; runtime.Gosched() {
		lane.mu.Lock()
		waiting = len(lane.waiting)
		lane.mu.Unlock()
	}
	s.signal(syscall.SIGCONT)
	all.Wait()
	if c := n.Counts(); admitted.Load() != callers || c.Shared != callers+1 || c.Alone != 0 {
		t.Errorf("%d of %d admitted, %+v", admitted.Load(), callers, c)
	}
	// About sixteen, and as many for connections that are made meanwhile.
	if took := reads(t, n) - before; took > callers/4 {
		t.Errorf("the server read %d times for %d callers", took, callers)
	}
}

// reads returns how often the server has read from a connection.
func reads(t *testing.T, n *node) int {
	t.Helper()
	stats, err := n.client.Info(t.Context(), "stats").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(stats, "total_reads_processed:")
	number, _, _ := strings.Cut(after, "\r\n")
	count, err := strconv.Atoi(number)
	if err != nil {
		t.Fatalf("total_reads_processed: %v", err)
	}
	return count
}

// BenchmarkBurst runs many callers at once, with the timeouts of a real node. An operation is one decision.
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
