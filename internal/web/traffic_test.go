package web

import (
	"testing"
	"time"

	"github.com/assaydata/assay"
)

func TestTraffic_Outcomes(t *testing.T) {
	t.Parallel()
	f := func(name string, tier assay.Tier, status, want int) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var counted traffic
			counted.count(tier, status, time.Millisecond)
			all, ok := counted.read("GET", "/api/x")
			if !ok || len(all.Outcomes) != 1 || all.Outcomes[0] != (Outcome{tier, want, 1}) || all.Took.Count != 1 {
				t.Errorf("%+v, %v", all, ok)
			}
		})
	}
	f("the first status", assay.Anonymous, Statuses[0], 200)
	f("the last one", assay.Full, Statuses[len(Statuses)-1], 504)
	f("too many requests", assay.Premium, 429, 429)
	f("one that the server never sends", assay.Premium, 418, 0)
	f("none", assay.Anonymous, 0, 0)
	f("a negative one", assay.Anonymous, -1, 0)
	f("one that is too large", assay.Anonymous, 1000, 0)
}

func TestTraffic_NoneWithoutRequests(t *testing.T) {
	t.Parallel()
	var counted traffic
	if all, ok := counted.read("GET", "/api/x"); ok {
		t.Errorf("%+v", all)
	}
}

// BenchmarkCounting is what metrics add to a request. BenchmarkPrice is the whole of one, without the network.
func BenchmarkCounting(b *testing.B) {
	s := &Server{}
	var counted traffic
	var limited decided
	b.ReportAllocs()
	for b.Loop() {
		s.inFlight.Add(1)
		limited.count(true)
		counted.count(assay.Anonymous, 200, 30*time.Microsecond)
		s.inFlight.Add(-1)
	}
}
