package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/apitest"
)

// A shared cache may store the response to a request without an origin and serve it to one with an origin.
func TestCORS_SharedCache(t *testing.T) {
	r := newRig(t)
	names := []string{"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Vary"}
	f := func(caller, target string) {
		t.Helper()
		without, with := r.Get(caller, target), r.Get("", target, "Origin", "https://page.example")
		if origin := without.Header.Get("Access-Control-Allow-Origin"); origin != "*" {
			t.Errorf("%s as %q: the allowed origin is %q", target, caller, origin)
		}
		for _, name := range names {
			if got, want := without.Header.Values(name), with.Header.Values(name); !slices.Equal(got, want) {
				t.Errorf("%s as %q: %s is %q without an origin, %q with one", target, caller, name, got, want)
			}
		}
	}
	f("", "/api/gpu/H200")
	f("", "/api/gpu/TPU")
	f("", "/api/gpu-types")
	f("full", "/api/gpu-types") // it looks at no key, so its responses are for everyone
	if got := r.Get("full", "/api/gpu/H200"); got.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("the response to a key is open to every origin: %v", got.Header)
	}
	if got := r.Get("", "/api/session"); got.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a private route is open to every origin: %v", got.Header)
	}
}

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
