package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/dashboard"
)

func withDashboard(t *testing.T) func(*Config) {
	return func(c *Config) {
		var err error
		if c.Dashboard, err = dashboard.New(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDashboard: pages are answered beside the API, with an id and a log line as every request, under no limiter and whoever
// asks.
func TestDashboard(t *testing.T) {
	r := newRig(t, withDashboard(t))
	for range publicLimit + 1 {
		got := r.get("revoked", "/gpu/H200", "peer", "198.51.100.1:1")
		if got.StatusCode != 200 || !strings.Contains(got.body, "<!doctype html>") || got.Header.Get("X-Request-Id") == "" || got.Header.Get("RateLimit") != "" {
			t.Fatalf("%d %v %s", got.StatusCode, got.Header, got.body)
		}
	}
	if !strings.Contains(r.logs.String(), `"method":"GET","path":"/gpu/H200","status":200`) {
		t.Errorf("no line: %s", r.logs.String())
	}
	if got := r.get("", "/plans", "Origin", "https://page.example"); got.StatusCode != 200 || got.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("from another origin: %d %v", got.StatusCode, got.Header)
	}
	if got := r.do(http.MethodPost, "", "/plans"); got.StatusCode != 405 || got.Header.Get("Allow") != "GET, HEAD" ||
		!strings.Contains(got.body, `"message":"This path takes GET and HEAD, not POST."`) {
		t.Errorf("POST: %d %v %s", got.StatusCode, got.Header, got.body)
	}
	if got := r.get("", "/nothing", "Accept", "text/html"); got.StatusCode != 404 || !strings.Contains(got.body, "<!doctype html>") {
		t.Errorf("unknown path in a browser: %d %s", got.StatusCode, got.body)
	}
	for _, path := range []string{"/nothing", "/api/nothing"} {
		if got := r.get("", path); got.StatusCode != 404 || !strings.Contains(got.body, `"code":"unknown_path"`) {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.body)
		}
	}
	if got := r.get("", "/api/nothing", "Accept", "text/html"); got.StatusCode != 404 || !strings.Contains(got.body, `"code":"unknown_path"`) {
		t.Errorf("unknown route in a browser: %d %s", got.StatusCode, got.body)
	}
}
