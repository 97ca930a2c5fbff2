package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/apitest"

	"github.com/assaydata/assay/internal/dashboard"
	"github.com/assaydata/assay/internal/web"
)

func withDashboard(t *testing.T) func(*apitest.Config) {
	return func(c *apitest.Config) {
		var err error
		if c.Web.Pages, err = dashboard.New(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDashboard: pages are served beside the API, with an id and a log line like every request, without a limit and
// for any caller.
func TestDashboard(t *testing.T) {
	r := newRig(t, withDashboard(t))
	for range web.PublicLimit + 1 {
		got := r.Get("revoked", "/gpu/H200", "peer", "198.51.100.1:1")
		if got.StatusCode != 200 || !strings.Contains(got.Text, "<!doctype html>") || got.Header.Get("X-Request-Id") == "" || got.Header.Get("RateLimit") != "" {
			t.Fatalf("%d %v %s", got.StatusCode, got.Header, got.Text)
		}
	}
	if !strings.Contains(r.Logs.String(), `"method":"GET","path":"/gpu/H200","status":200`) {
		t.Errorf("no line: %s", r.Logs.String())
	}
	if got := r.Get("", "/plans", "Origin", "https://page.example"); got.StatusCode != 200 || got.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("from another origin: %d %v", got.StatusCode, got.Header)
	}
	if got := r.Do(http.MethodPost, "", "/plans"); got.StatusCode != 405 || got.Header.Get("Allow") != "GET, HEAD" ||
		!strings.Contains(got.Text, `"message":"This path takes GET and HEAD, not POST."`) {
		t.Errorf("POST: %d %v %s", got.StatusCode, got.Header, got.Text)
	}
	if got := r.Get("", "/nothing", "Accept", "text/html"); got.StatusCode != 404 || !strings.Contains(got.Text, "<!doctype html>") {
		t.Errorf("unknown path in a browser: %d %s", got.StatusCode, got.Text)
	}
	for _, path := range []string{"/nothing", "/api/nothing"} {
		if got := r.Get("", path); got.StatusCode != 404 || !strings.Contains(got.Text, `"code":"unknown_path"`) {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.Text)
		}
	}
	if got := r.Get("", "/api/nothing", "Accept", "text/html"); got.StatusCode != 404 || !strings.Contains(got.Text, `"code":"unknown_path"`) {
		t.Errorf("unknown route in a browser: %d %s", got.StatusCode, got.Text)
	}
}
