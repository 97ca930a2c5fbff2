package web_test

import (
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/apitest"
)

// A sampled log has one in so many requests, and every failure of the server.
func TestLog_Sample(t *testing.T) {
	t.Parallel()
	f := func(oneIn int64, want int) {
		t.Helper()
		r := newRig(t, func(c *apitest.Config) { c.Web.LogOneIn = oneIn })
		for range 20 {
			r.Get("", "/api/gpu-types")
		}
		if got := strings.Count(r.Logs.String(), `"msg":"request"`); got != want {
			t.Errorf("one in %d: %d of 20 requests are logged, want %d", oneIn, got, want)
		}
		r.Panic = true
		for range 3 {
			r.Get("full", "/api/gpu/H200/determination?date=2026-02-01")
		}
		if got := strings.Count(r.Logs.String(), `"status":500`); got != 3 {
			t.Errorf("one in %d: %d of 3 failures are logged", oneIn, got)
		}
	}
	f(0, 20)
	f(1, 20)
	f(5, 4)
	f(100, 0)
}
