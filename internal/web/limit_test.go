package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/web"
)

func TestLimit_ByAddress(t *testing.T) {
	r := newRig(t)
	ask := func(peer string) apitest.Reply { return r.Get("", "/api/gpu/H200", "peer", peer) }
	for i := range 60 {
		got := ask("198.51.100.1:1000")
		if want := fmt.Sprintf(`"public";r=%d;t=60`, 59-i); got.StatusCode != 200 || got.Header.Get("RateLimit") != want {
			t.Fatalf("request %d: %d, RateLimit %s, want %s", i, got.StatusCode, got.Header.Get("RateLimit"), want)
		}
	}
	r.Clock = r.Clock.Add(42*time.Second + time.Millisecond)
	got := ask("198.51.100.1:2000")
	if got.StatusCode != 429 || got.Header.Get("Retry-After") != "18" || got.Header.Get("RateLimit") != `"public";r=0;t=18` ||
		!strings.Contains(got.Text, "Rate limit of 60 requests per minute exceeded. Retry in 18 seconds.") {
		t.Errorf("%d %v %s", got.StatusCode, got.Header, got.Text)
	}
	if got := ask("198.51.100.2:1000"); got.StatusCode != 200 {
		t.Errorf("another address: %d", got.StatusCode)
	}
	if got := r.Get("full", "/api/gpu/H200", "peer", "198.51.100.1:1"); got.StatusCode != 429 {
		t.Errorf("a key moves a public request to another limit: %d", got.StatusCode)
	}
	if got := r.Get("", "/api/gpu/H200", "peer", "198.51.100.1:1", "Authorization", "Bearer x"); got.StatusCode != 429 {
		t.Errorf("the limiter does not come before authentication: %d", got.StatusCode)
	}
	r.Status.CheckDatabase(t.Context()) // the clock has moved on
	for _, open := range []string{"/health", "/openapi.json"} {
		if got := r.Get("", open, "peer", "198.51.100.1:1"); got.StatusCode != 200 || got.Header.Get("RateLimit") != "" {
			t.Errorf("%s is limited: %d", open, got.StatusCode)
		}
	}
	r.Clock = r.Clock.Add(18 * time.Second)
	if got := ask("198.51.100.1:1000"); got.StatusCode != 200 {
		t.Errorf("after Retry-After: %d", got.StatusCode)
	}
}

func TestLimit_IPv6By64(t *testing.T) {
	r := newRig(t)
	for i := range 60 {
		r.Get("", "/api/gpu/H200", "peer", fmt.Sprintf("[2001:db8:1:2::%x]:1", i))
	}
	if got := r.Get("", "/api/gpu/H200", "peer", "[2001:db8:1:2:ffff::1]:1"); got.StatusCode != 429 {
		t.Errorf("same /64: %d", got.StatusCode)
	}
	if got := r.Get("", "/api/gpu/H200", "peer", "[2001:db8:1:3::1]:1"); got.StatusCode != 200 {
		t.Errorf("other /64: %d", got.StatusCode)
	}
}

func TestLimit_ByKey(t *testing.T) {
	r := newRig(t, func(c *apitest.Config) { c.Web.KeyLimit = 3 })
	for range 3 {
		if got := r.Get("premium", "/api/gpu/H200/history-simple"); got.StatusCode != 200 {
			t.Fatal(got.StatusCode)
		}
	}
	got := r.Get("premium", "/api/gpu/H200/history-simple")
	if got.StatusCode != 429 || got.Header.Get("RateLimit-Policy") != `"key";q=3;w=60` || !strings.Contains(got.Text, "Rate limit of 3 requests") {
		t.Errorf("%d %v %s", got.StatusCode, got.Header, got.Text)
	}
	if got := r.Get("full", "/api/gpu/H200/history-simple"); got.StatusCode != 200 {
		t.Errorf("another key: %d", got.StatusCode)
	}
}

// A plan has its own limit, and another one after a reload; the keys of other plans have the common one.
func TestLimit_ByPlan(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *apitest.Config) { c.Web.KeyLimit, c.Web.PlanLimits = 3, map[assay.Tier]int{assay.Full: 5} })
	f := func(caller string, status int, limit, policy string) {
		t.Helper()
		got := r.Get(caller, "/api/gpu/H200/history-simple")
		if got.StatusCode != status || got.Header.Get("Ratelimit") != limit || got.Header.Get("Ratelimit-Policy") != policy {
			t.Errorf("%s: %d %s %s, want %d %s %s", caller, got.StatusCode, got.Header.Get("Ratelimit"),
				got.Header.Get("Ratelimit-Policy"), status, limit, policy)
		}
	}
	f("premium", 200, `"key";r=2;t=60`, `"key";q=3;w=60`)
	f("full", 200, `"key";r=4;t=60`, `"key";q=5;w=60`)
	f("full", 200, `"key";r=3;t=60`, `"key";q=5;w=60`)
	r.Apply(web.Settings{KeyLimit: 3, PlanLimits: map[assay.Tier]int{assay.Full: 2}})
	f("full", 429, `"key";r=0;t=60`, `"key";q=2;w=60`) // what it has used counts
	f("premium", 200, `"key";r=1;t=60`, `"key";q=3;w=60`)
}

// All keys of an account and its sessions have one more limit together. The headers are about the key until that limit
// refuses a request.
func TestLimit_ByAccount(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *apitest.Config) { c.Web.KeyLimit, c.Web.AccountLimit = 3, 7 })
	r.Keys["first"], _ = r.CreateKey("premium session")
	r.Keys["second"], _ = r.CreateKey("premium session") // these are two requests of the account
	f := func(caller string, status int, limit string) {
		t.Helper()
		got := r.Get(caller, "/api/gpu/H200/history-simple")
		if got.StatusCode != status || got.Header.Get("Ratelimit") != limit {
			t.Errorf("%s: %d %s %.200s, want %d %s", caller, got.StatusCode, got.Header.Get("Ratelimit"), got.Text, status, limit)
		}
	}
	f("first", 200, `"key";r=2;t=60`)
	f("first", 200, `"key";r=1;t=60`)
	f("first", 200, `"key";r=0;t=60`)
	f("second", 200, `"key";r=2;t=60`)
	f("premium session", 200, `"session";r=1197;t=60`)
	f("second", 429, `"account";r=0;t=60`)
	f("full session", 200, `"session";r=1199;t=60`)
	f("premium", 200, `"key";r=2;t=60`) // a key of the operator

	// What the account's limit refuses does not count for the key, and the reverse.
	r.Clock = r.Clock.Add(50 * time.Second)
	for range 3 {
		f("second", 429, `"account";r=0;t=10`)
		f("first", 429, `"key";r=0;t=10`)
	}
	r.Clock = r.Clock.Add(10 * time.Second)
	f("second", 200, `"key";r=2;t=60`)
	f("first", 200, `"key";r=2;t=60`)
}

// The requests of a session count under its account wherever they come from, on public and on keyed routes, and not
// under the address. A key, a wrong session and another reader count as ever.
func TestLimit_BySession(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *apitest.Config) { c.Web.KeyLimit = 3 })
	f := func(caller, target, peer string, status int, limit string, headers ...string) {
		t.Helper()
		got := r.Get(caller, target, append([]string{"peer", peer}, headers...)...)
		if got.StatusCode != status || got.Header.Get("Ratelimit") != limit {
			t.Errorf("%s %s from %s: %d %s %.200s, want %d %s", caller, target, peer, got.StatusCode,
				got.Header.Get("Ratelimit"), got.Text, status, limit)
		}
	}
	const here, there = "198.51.100.1:1", "198.51.100.2:1"
	for i := range web.SessionLimit - 4 { // twenty requests for each of sixty pages
		f("premium session", "/api/gpu-types", here, 200, fmt.Sprintf(`"session";r=%d;t=60`, web.SessionLimit-1-i))
	}
	f("premium session", "/api/gpu/H200/index-history", there, 200, `"session";r=3;t=60`)
	f("premium session", "/api/gpu/H200/history-simple", there, 200, `"session";r=2;t=60`)
	f("premium session", "/api/gpu-overview", here, 200, `"session";r=1;t=60`)
	f("", "/api/gpu-types", here, 200, `"public";r=59;t=60`)
	f("premium", "/api/gpu/H200", here, 200, `"public";r=58;t=60`)
	f("", "/api/gpu/H200", here, 200, `"public";r=57;t=60`, "Cookie", web.SessionCookie+"=guessed")
	f("full session", "/api/gpu/H200", here, 200, fmt.Sprintf(`"session";r=%d;t=60`, web.SessionLimit-1))
	f("premium session", "/api/gpu-prices", there, 200, `"session";r=0;t=60`)
	f("premium session", "/api/gpu-prices", there, 429, `"session";r=0;t=60`)
	f("premium session", "/api/gpu/H200/history-simple", here, 429, `"session";r=0;t=60`)
	r.Clock = r.Clock.Add(time.Minute)
	f("premium session", "/api/gpu-prices", there, 200, fmt.Sprintf(`"session";r=%d;t=60`, web.SessionLimit-1))
}
