package api_test

import "testing"

// A caller learns that a route will go whatever the response is, also if all requests fail.
func TestDeprecation_WithEveryStatus(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(target string, status int, header ...string) {
		t.Helper()
		got := r.Get("", target, header...)
		if got.StatusCode != status {
			t.Fatalf("%s: %d %s, want %d", target, got.StatusCode, got.Text, status)
		}
		want := map[string]string{
			"Deprecation": "@1767225600",
			"Sunset":      "Fri, 31 Dec 2027 00:00:00 GMT",
			"Link":        `</api/daily-index>; rel="successor-version"`,
		}
		for name, value := range want {
			if got.Header.Get(name) != value {
				t.Errorf("%s, %d: %s is %q, want %q", target, status, name, got.Header.Get(name), value)
			}
		}
	}
	f("/api/day-index", 200)
	f("/api/day-index", 304, "If-None-Match", r.Get("", "/api/day-index").Header.Get("Etag"))
	f("/api/day-index?date=yesterday", 400)
	f("/api/day-index?gpu=RTX%20PRO%206000%20WS", 401)
	f("/api/day-index", 401, "Authorization", "Bearer nonsense")
	f("/api/day-index?region=nowhere", 404)
	for range 60 {
		f("/api/day-index", 200, "peer", "198.51.100.1:1")
	}
	f("/api/day-index", 429, "peer", "198.51.100.1:1")
	if got := r.Get("full", "/api/daily-index"); got.Header.Get("Deprecation") != "" {
		t.Error("the route that replaces it is deprecated too")
	}
}
