package latency

import (
	"slices"
	"sync"
	"testing"
	"time"
)

func TestHistogram(t *testing.T) {
	t.Parallel()
	f := func(name string, took time.Duration, atMost time.Duration) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h Histogram
			h.Observe(took)
			got := h.Read()
			if got.Count != 1 || got.Sum != max(took, 0) {
				t.Errorf("%d durations of %v, want one of %v", got.Count, got.Sum, took)
			}
			for _, bound := range Bounds {
				want := uint64(0)
				if atMost != 0 && bound >= atMost {
					want = 1
				}
				if n := got.Buckets[bound.Seconds()]; n != want {
					t.Errorf("%d took at most %v, want %d", n, bound, want)
				}
			}
		})
	}
	f("nothing", 0, Bounds[0])
	f("a clock set back", -time.Hour, Bounds[0])
	f("exactly a bound", Bounds[2], Bounds[2])
	f("a little more", Bounds[2]+1, Bounds[3])
	f("the last bound", Bounds[len(Bounds)-1], Bounds[len(Bounds)-1])
	f("longer than all", time.Hour, 0)
}

func TestHistogram_AtTheSameTime(t *testing.T) {
	t.Parallel()
	var h Histogram
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				h.Observe(time.Millisecond)
			}
		})
	}
	all.Wait()
	if got := h.Read(); got.Count != 8000 || got.Sum != 8*time.Second {
		t.Errorf("%d durations of %v, want 8000 of 8s", got.Count, got.Sum)
	}
}

func TestBounds_Ascend(t *testing.T) {
	t.Parallel()
	if !slices.IsSorted(Bounds[:]) {
		t.Errorf("%v", Bounds)
	}
}

// It must cost a small part of what a request does.
func BenchmarkObserve(b *testing.B) {
	var h Histogram
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			h.Observe(30 * time.Microsecond)
		}
	})
}
