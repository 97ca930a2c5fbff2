package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestAllocations: no allocation of a response grows with the range it covers.
func TestAllocations(t *testing.T) {
	r := newRig(t)
	r.LogTo(nil)
	measure := func(target, coding string) (allocations float64, size int) {
		request := httptest.NewRequest(http.MethodGet, target, nil)
		request.Header.Set("Authorization", "Bearer "+r.Keys["full"])
		request.Header.Set("Accept-Encoding", coding)
		w := &discard{header: http.Header{}}
		allocations = testing.AllocsPerRun(50, func() {
			clear(w.header)
			w.size = 0
			r.Clock = r.Clock.Add(time.Hour) // so that no limiter steps in
			r.ServeHTTP(w, request)
		})
		return allocations, w.size
	}
	const volatilities = "/api/gpu/H200/volatility?startDate=2026-01-20&endDate=2026-02-04&granularity=hourly&limit="
	for _, coding := range []string{"identity", "gzip", "zstd"} {
		for _, pair := range [][2]string{
			{"/api/gpu/H200/index-history?granularity=hourly&startDate=2026-02-02T00:00:00Z", "/api/gpu/H200/index-history?granularity=hourly&startDate=2026-01-20T02:00:00Z"},
			{"/api/gpu/H200/history-simple?granularity=hourly&limit=50", "/api/gpu/H200/history-simple?granularity=hourly&limit=350"},
			{"/api/gpu/H200/history-range?granularity=hourly&limit=50", "/api/gpu/H200/history-range?granularity=hourly&limit=350"},
			{"/api/gpu/H200/index-history?granularity=hourly&as_of=2026-02-02&startDate=2026-01-30", "/api/gpu/H200/index-history?granularity=hourly&as_of=2026-02-02"},
			{"/api/gpu/H200/realtime?as_of=2026-02-04T12:00:00Z&minutes=60", "/api/gpu/H200/realtime?as_of=2026-02-04T12:00:00Z&minutes=1440"},
			{volatilities + "50", volatilities + "350"},
		} {
			short, shortSize := measure(pair[0], coding)
			long, longSize := measure(pair[1], coding)
			if longSize < 2*shortSize && coding == "identity" {
				t.Fatalf("%s has %d bytes, %s %d: nothing is compared", pair[0], shortSize, pair[1], longSize)
			}
			// The longer responses have hundreds of rows more, and none may cost anything. What a pool has lost to the collector
			// may: the race detector makes it lose a quarter.
			if long > short+30 {
				t.Errorf("%s in %s: %.0f allocations, %s: %.0f", pair[0], coding, short, pair[1], long)
			}
		}
	}
}

// discard is a response writer that keeps nothing.
type discard struct {
	header http.Header
	size   int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(b []byte) (int, error) { d.size += len(b); return len(b), nil }
