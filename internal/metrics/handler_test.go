package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/metrics"
)

func TestHandler(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(name string, loopback bool, host, site, path string, want int, text string) {
		t.Helper()
		request := httptest.NewRequest(http.MethodGet, path, nil)
		request.Host = host
		if site != "" {
			request.Header.Set("Sec-Fetch-Site", site)
		}
		w := httptest.NewRecorder()
		metrics.Handler(r.registry, r.Server, loopback, r.node.Log).ServeHTTP(w, request)
		if w.Code != want || !strings.Contains(w.Body.String(), text) {
			t.Errorf("%s: status %d, want %d, and %q in\n%.300s", name, w.Code, want, text, w.Body)
		}
	}
	const local = "127.0.0.1:9090"
	f("metrics", true, local, "", "/metrics", 200, "assay_build_info")
	f("health", true, local, "", "/health", 200, `"status":"healthy"`)
	f("profiles", true, local, "", "/debug/pprof/", 200, "goroutine")
	f("a profile", true, local, "", "/debug/pprof/goroutine?debug=1", 200, "goroutine profile")
	f("by name", true, "localhost:9090", "none", "/metrics", 200, "assay_build_info")
	f("by IPv6", true, "[::1]:9090", "same-origin", "/metrics", 200, "assay_build_info")
	f("without a port", true, "[::1]", "", "/metrics", 200, "assay_build_info")
	f("the command line has passwords", true, local, "", "/debug/pprof/cmdline", 404, "")
	f("market data is elsewhere", true, local, "", "/api/regions", 404, "")
	f("a name that points here", true, "evil.example:9090", "", "/metrics", 403, "localhost")
	f("a page of another site", true, local, "cross-site", "/debug/pprof/profile?seconds=60", 403, "other sites")
	f("a page of a neighbor", true, local, "same-site", "/metrics", 403, "other sites")
	f("metrics for others", false, "node1:9090", "", "/metrics", 200, "assay_build_info")
	f("health for others", false, "node1:9090", "", "/health", 200, "healthy")
	f("no profiles for others", false, "node1:9090", "", "/debug/pprof/", 404, "")
	f("no goroutines for others", false, "127.0.0.1:9090", "", "/debug/pprof/goroutine", 404, "")
}
