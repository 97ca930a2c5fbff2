package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/snapshot"
)

// TestErrors holds every error text of the contract.
func TestErrors(t *testing.T) {
	r := newRig(t)
	f := func(caller, target string, status int, label, message string, headers ...string) {
		t.Helper()
		got := r.get(caller, target, headers...)
		want := fmt.Sprintf(`{"error":%q,"message":%q,`, label, message)
		if got.StatusCode != status || !strings.HasPrefix(got.body, want) {
			t.Errorf("%s as %q:\n got %d %s\nwant %d %s", target, caller, got.StatusCode, got.body, status, want)
		}
		if got.Header.Get("Cache-Control") != "no-store" || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: headers %v", target, got.Header)
		}
	}
	const (
		unknownGPU = "Invalid GPU type. Allowed: H100 SXM, H200, A100 SXM4, RTX 5090, B200, RTX PRO 6000 WS"
		noKey      = "API key required. Use Authorization: Bearer YOUR_API_KEY"
		dailyOnly  = "Premium access is daily-grain only. Hourly and real-time data require a full subscription."
		noDatetime = "datetime query parameter is required (format: YYYY-MM-DD HH:MM:SS or ISO 8601)"
	)
	f("", "/api/gpu/H100", 400, "Bad request", unknownGPU)
	f("", "/api/gpu/h200", 400, "Bad request", unknownGPU)
	f("premium", "/api/daily-index?gpu=TPU", 400, "Bad request", unknownGPU)
	f("", "/api/daily-index/TPU/previous", 400, "Bad request", unknownGPU)
	f("", "/api/gpu/TPU/index-history?startDate=2000-01-01", 400, "Bad request", unknownGPU)
	f("full", "/api/gpu/A%2FB/hourly", 400, "Bad request", unknownGPU)

	f("", "/api/gpu/RTX%20PRO%206000%20WS", 401, "Unauthorized", noKey)
	f("", "/api/gpu/H200/index-history?startDate=2025-11-03", 401, "Unauthorized", noKey)
	f("", "/api/gpu/H200/history", 401, "Unauthorized", noKey)
	f("", "/api/gpu/TPU/hourly?limit=x", 401, "Unauthorized", noKey)
	for _, header := range []string{"", "Bearer", "Bearer ", "Basic abc", "sk_live_x", "Bearer\tx"} {
		f("", "/api/gpu/H200", 401, "Unauthorized", noKey, "Authorization", header)
	}
	f("", "/api/gpu/H200", 401, "Unauthorized", noKey, "Authorization", "Bearer a", "Authorization", "Bearer b")
	f("", "/api/gpu/H200", 401, "Unauthorized", "Invalid API key", "Authorization", "Bearer nonsense")
	f("", "/api/gpu/H200", 401, "Unauthorized", "Invalid API key", "Authorization", "Bearer "+r.keys["full"]+"x")
	f("unknown key", "/api/gpu/H200", 401, "Unauthorized", "Invalid API key")
	f("revoked", "/api/gpu/H200/hourly", 401, "Unauthorized", "API key is inactive")
	f("ended trial", "/api/gpu/H200", 401, "Unauthorized", "API key is inactive")

	f("premium", "/api/gpu/TPU/hourly?limit=x", 403, "Forbidden", dailyOnly)
	f("premium", "/api/gpu/H200/rolling-24h-average", 403, "Forbidden", dailyOnly)

	f("premium", "/api/gpu/H200/history", 400, "Bad request", noDatetime)
	f("premium", "/api/gpu/H200/history?datetime=", 400, "Bad request", noDatetime)

	f("", "/api/gpu/H200?region=mars", 404, "Not found", "No data found for H200 in the region mars")
	f("", "/api/gpu/H200?region=eu-west", 404, "Not found", "No data found for H200 in the region eu-west")
	f("", "/api/gpu/H200/index-history?region=mars", 404, "Not found", "No data found for H200 in the region mars")
	f("", "/api/daily-index/all?region=mars", 404, "Not found", "No data found for any GPU in the region mars")
	f("", "/api/daily-index?date=2026-02-04", 404, "No data available", "No daily index data found for H100 SXM on 2026-02-04")
	f("", "/api/daily-index/all?date=2026-02-04", 404, "No data available", "No daily index data found for any GPU on 2026-02-04")
	f("", "/api/nothing", 404, "Not found", "There is no such path. The API is described at /openapi.json.")
	f("", "/api/gpu-types/", 404, "Not found", "There is no such path. The API is described at /openapi.json.")
	f("", "/api//gpu-types", 404, "Not found", "There is no such path: it has an empty or a dot segment.")
	f("", "/api/./gpu-types", 404, "Not found", "There is no such path: it has an empty or a dot segment.")
	f("", "/api/gpu/H200/"+strings.Repeat("x", 9000), 414, "URI too long", "The request target is longer than 8192 bytes.")

	r.use(snapshot.New(assay.DefaultCatalog(), 1))
	f("", "/api/gpu/H100%20SXM", 404, "Not found", "No data found for H100 SXM in the region global")
	f("", "/api/daily-index", 404, "No data available", "No daily index data found for H100 SXM")
	f("", "/api/daily-index/all", 404, "No data available", "No daily index data found for any GPU")
	f("", "/api/daily-index/H100%20SXM/previous", 404, "No data available", "No daily index data found for H100 SXM")
	f("", "/api/h100-history", 404, "No data available", "No daily index data found for H100 SXM")
	f("full", "/api/gpu/H100%20SXM/history?datetime=2026-01-01", 404, "No data available", "No daily index data found for H100 SXM")
	f("full", "/api/gpu/H100%20SXM/rolling-24h-average", 404, "Not found", "No data found for H100 SXM in the region global")
}

// TestParameters: a bad parameter is answered with its name, its value and what is allowed.
func TestParameters(t *testing.T) {
	r := newRig(t)
	f := func(query, name, value, allowed string) {
		t.Helper()
		got := r.get("full", "/api/gpu/H200/history-simple?"+query)
		for _, part := range []string{`"error":"Bad request"`, "Parameter " + name, value, allowed} {
			if got.StatusCode != 400 || !strings.Contains(got.body, part) {
				t.Errorf("%s: %d %s\nwant %s", query, got.StatusCode, got.body, part)
			}
		}
	}
	const dates, limits = "YYYY-MM-DD", "a whole number from 1 to 10000"
	f("startDate=2025-13-01", "startDate", "2025-13-01", dates)
	f("startDate=yesterday", "startDate", "yesterday", dates)
	f("endDate=2026-02-30", "endDate", "2026-02-30", dates)
	f("startDate=2026-02-02&endDate=2026-02-01", "startDate", "2026-02-02", "not after endDate")
	f("limit=0", "limit", `\"0\"`, limits)
	f("limit=10001", "limit", "10001", limits)
	f("limit=-1", "limit", "-1", limits)
	f("limit=1e3", "limit", "1e3", limits)
	f("limit=1e400", "limit", "1e400", limits)
	f("limit=NaN", "limit", "NaN", limits)
	f("limit=-0", "limit", "-0", limits)
	f("limit=99999999999999999999", "limit", "99999999999999999999", limits)
	f("order=up", "order", "up", "asc or desc")
	f("granularity=minutely", "granularity", "minutely", "daily, hourly or auto")
	f("limit=1&limit=1", "limit", `\"1\"`, "once")
	f("region=a&region=b", "region", `\"b\"`, "once")
	f("limit=%00", "limit", `\\x00`, limits)
	f("limit=%ff%fe", "limit", `\\xff\\xfe`, limits)
	f("limit="+strings.Repeat("9", 500), "limit", strings.Repeat("9", 64)+"…", limits)
	f("startDate="+r.keys["full"], "startDate", "sk_live_…", dates)
	if got := r.get("full", "/api/gpu/H200/history-simple?limit=%zz"); got.StatusCode != 400 || !strings.Contains(got.body, "percent-encoded") {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if got := r.get("", "/api/daily-index?gpu=H200&gpuType=B200"); got.StatusCode != 400 || !strings.Contains(got.body, "Parameter gpu has") {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
}

func TestMethods(t *testing.T) {
	r := newRig(t)
	f := func(list []*resource, allow map[string]string) {
		for _, resource := range list {
			path := resource.routes[0].path
			want := allow[path]
			if want == "" {
				want = "GET, HEAD, OPTIONS"
			}
			target := pathVariable.ReplaceAllString(path, "H200")
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, "BREW"} {
				if strings.Contains(want, method) {
					continue
				}
				got := r.do(method, "full", target)
				if got.StatusCode != 405 || got.Header.Get("Allow") != want || !strings.Contains(got.body, `"error":"Method not allowed"`) {
					t.Errorf("%s %s: %d %v %s", method, target, got.StatusCode, got.Header["Allow"], got.body)
				}
			}
			if got := r.do(http.MethodOptions, "", target); got.StatusCode != 204 || got.Header.Get("Allow") != want {
				t.Errorf("OPTIONS %s: %d", target, got.StatusCode)
			}
		}
	}
	f(resources(routes, false), nil)
	f(resources(ownRoutes, true), map[string]string{
		"/api/session": "GET, HEAD, POST, DELETE, OPTIONS", "/api/account/password": "PUT, OPTIONS", "/api/create-api-key": "POST, OPTIONS",
		"/api/keys/{id}": "DELETE, OPTIONS", "/api/keys/{id}/rotate": "POST, OPTIONS",
	})
	for target, message := range map[string]string{
		"/api/gpu/H200": "This path takes GET and HEAD, not PATCH.", "/api/session": "This path takes GET, HEAD, POST and DELETE, not PATCH.",
		"/api/create-api-key": "This path takes POST, not PATCH.",
	} {
		if got := r.do(http.MethodPatch, "", target); !strings.Contains(got.body, message) {
			t.Errorf("%s: %s", target, got.body)
		}
	}
}

func TestLimit_ByAddress(t *testing.T) {
	r := newRig(t)
	ask := func(peer string) reply { return r.get("", "/api/gpu/H200", "peer", peer) }
	for i := range 60 {
		got := ask("198.51.100.1:1000")
		if want := fmt.Sprintf(`"public";r=%d;t=60`, 59-i); got.StatusCode != 200 || got.Header.Get("RateLimit") != want {
			t.Fatalf("request %d: %d, RateLimit %s, want %s", i, got.StatusCode, got.Header.Get("RateLimit"), want)
		}
	}
	r.now = r.now.Add(42*time.Second + time.Millisecond)
	got := ask("198.51.100.1:2000")
	if got.StatusCode != 429 || got.Header.Get("Retry-After") != "18" || got.Header.Get("RateLimit") != `"public";r=0;t=18` ||
		!strings.Contains(got.body, "Rate limit of 60 requests per minute exceeded. Retry in 18 seconds.") {
		t.Errorf("%d %v %s", got.StatusCode, got.Header, got.body)
	}
	if got := ask("198.51.100.2:1000"); got.StatusCode != 200 {
		t.Errorf("another address: %d", got.StatusCode)
	}
	if got := r.get("full", "/api/gpu/H200", "peer", "198.51.100.1:1"); got.StatusCode != 429 {
		t.Errorf("a key moves a public request to another limit: %d", got.StatusCode)
	}
	if got := r.get("", "/api/gpu/H200", "peer", "198.51.100.1:1", "Authorization", "Bearer x"); got.StatusCode != 429 {
		t.Errorf("the limiter does not come before authentication: %d", got.StatusCode)
	}
	for _, open := range []string{"/health", "/openapi.json"} {
		if got := r.get("", open, "peer", "198.51.100.1:1"); got.StatusCode != 200 || got.Header.Get("RateLimit") != "" {
			t.Errorf("%s is limited: %d", open, got.StatusCode)
		}
	}
	r.now = r.now.Add(18 * time.Second)
	if got := ask("198.51.100.1:1000"); got.StatusCode != 200 {
		t.Errorf("after Retry-After: %d", got.StatusCode)
	}
}

func TestLimit_IPv6By64(t *testing.T) {
	r := newRig(t)
	for i := range 60 {
		r.get("", "/api/gpu/H200", "peer", fmt.Sprintf("[2001:db8:1:2::%x]:1", i))
	}
	if got := r.get("", "/api/gpu/H200", "peer", "[2001:db8:1:2:ffff::1]:1"); got.StatusCode != 429 {
		t.Errorf("same /64: %d", got.StatusCode)
	}
	if got := r.get("", "/api/gpu/H200", "peer", "[2001:db8:1:3::1]:1"); got.StatusCode != 200 {
		t.Errorf("other /64: %d", got.StatusCode)
	}
}

func TestLimit_ByKey(t *testing.T) {
	r := newRig(t, func(c *Config) { c.KeyLimit = 3 })
	for range 3 {
		if got := r.get("premium", "/api/gpu/H200/history-simple"); got.StatusCode != 200 {
			t.Fatal(got.StatusCode)
		}
	}
	got := r.get("premium", "/api/gpu/H200/history-simple")
	if got.StatusCode != 429 || got.Header.Get("RateLimit-Policy") != `"key";q=3;w=60` || !strings.Contains(got.body, "Rate limit of 3 requests") {
		t.Errorf("%d %v %s", got.StatusCode, got.Header, got.body)
	}
	if got := r.get("full", "/api/gpu/H200/history-simple"); got.StatusCode != 200 {
		t.Errorf("another key: %d", got.StatusCode)
	}
}

// TestClientAddress: a header's word is taken from a trusted proxy only, and of its list the last untrusted entry.
func TestClientAddress(t *testing.T) {
	r := newRig(t, trust("10.0.0.0/8", "2001:db8::/32"))
	f := func(want, peer string, headers ...string) {
		t.Helper()
		r.logs.Reset()
		r.get("", "/api/gpu/H200", append(headers, "peer", peer)...)
		if !strings.Contains(r.logs.String(), `"client":"`+want+`"`) {
			t.Errorf("%v from %s: want %s in %s", headers, peer, want, r.logs.String())
		}
	}
	const xff, fwd = "X-Forwarded-For", "Forwarded"
	f("192.0.2.1", "192.0.2.1:80")
	f("192.0.2.1", "192.0.2.1:80", xff, "198.51.100.7")
	f("10.1.1.1", "10.1.1.1:80")
	f("198.51.100.7", "10.1.1.1:80", xff, "198.51.100.7")
	f("198.51.100.7", "10.1.1.1:80", xff, "203.0.113.9, 198.51.100.7")
	f("198.51.100.7", "10.1.1.1:80", xff, "203.0.113.9, 198.51.100.7, 10.2.2.2")
	f("198.51.100.7", "10.1.1.1:80", xff, "203.0.113.9", xff, "198.51.100.7")
	f("198.51.100.7", "[2001:db8::1]:80", xff, "198.51.100.7")
	f("198.51.100.7", "10.1.1.1:80", fwd, `for=203.0.113.9, for=198.51.100.7;proto=https`)
	f("2a00::7", "10.1.1.1:80", fwd, `for="[2a00::7]:1234"`)
	f("10.1.1.1", "10.1.1.1:80", xff, "nonsense")
	f("10.1.1.1", "10.1.1.1:80", xff, "")
	f("192.0.2.1", "[::ffff:192.0.2.1]:80")
}

func TestCORS(t *testing.T) {
	const page, friend = "https://page.example", "https://friend.example"
	r := newRig(t, func(c *Config) { c.CORSOrigins = []string{friend} })
	allowed := func(got reply) string { return got.Header.Get("Access-Control-Allow-Origin") }
	if got := r.get("", "/api/gpu/H200", "Origin", page); allowed(got) != "*" || got.StatusCode != 200 {
		t.Errorf("anonymous from anywhere: %q", allowed(got))
	}
	if got := r.get("full", "/api/gpu/H200", "Origin", page); allowed(got) != "" {
		t.Errorf("a key from anywhere: %q", allowed(got))
	}
	if got := r.get("full", "/api/gpu/H200", "Origin", friend); allowed(got) != friend || !strings.Contains(strings.Join(got.Header["Vary"], ","), "Origin") {
		t.Errorf("a key from a listed origin: %q, Vary %v", allowed(got), got.Header["Vary"])
	}
	preflight := func(origin, headers string) reply {
		return r.do(http.MethodOptions, "", "/api/gpu/H200", "Origin", origin, "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", headers)
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
