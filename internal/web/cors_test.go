package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/apitest"
)

func TestCORS(t *testing.T) {
	const page, friend = "https://page.example", "https://friend.example"
	r := newRig(t, func(c *apitest.Config) { c.Web.CORSOrigins = []string{friend} })
	allowed := func(got apitest.Reply) string { return got.Header.Get("Access-Control-Allow-Origin") }
	if got := r.Get("", "/api/gpu/H200", "Origin", page); allowed(got) != "*" || got.StatusCode != 200 {
		t.Errorf("anonymous from anywhere: %q", allowed(got))
	}
	if got := r.Get("full", "/api/gpu/H200", "Origin", page); allowed(got) != "" {
		t.Errorf("a key from anywhere: %q", allowed(got))
	}
	if got := r.Get("full", "/api/gpu/H200", "Origin", friend); allowed(got) != friend || !strings.Contains(strings.Join(got.Header["Vary"], ","), "Origin") {
		t.Errorf("a key from a listed origin: %q, Vary %v", allowed(got), got.Header["Vary"])
	}
	preflight := func(origin, headers string) apitest.Reply {
		return r.Do(http.MethodOptions, "", "/api/gpu/H200", "Origin", origin, "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", headers)
	}
	if got := preflight(page, "x-request-id"); allowed(got) != "*" {
		t.Errorf("preflight without a key: %q", allowed(got))
	}
	if got := preflight(page, "authorization"); allowed(got) != "" {
		t.Errorf("preflight with a key from anywhere: %q", allowed(got))
	}
	if got := preflight(friend, "authorization"); allowed(got) != friend {
		t.Errorf("preflight with a key from a listed origin: %q", allowed(got))
	}
}
