package web_test

import (
	"net/http"
	"regexp"
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

// A line of text has the same fields as one of JSON, and nothing that a client sends can begin another field or line.
func TestLog_Text(t *testing.T) {
	t.Parallel()
	field := regexp.MustCompile(`^([a-z]+)=("(?:[^"\\]|\\.)*"|[^ "=]+)(?: |$)`)
	f := func(caller, method, target string, want map[string]string) {
		t.Helper()
		r := newRig(t, func(c *apitest.Config) { c.Web.LogText = true })
		r.Do(method, caller, target, "X-Request-Id", "abc", "peer", "192.0.2.7:1")
		log := r.Logs.String()
		if strings.Count(log, "\n") != 1 || !strings.HasSuffix(log, "\n") {
			t.Fatalf("%s: the log is %q", target, log)
		}
		got := map[string]string{}
		for rest := strings.TrimSuffix(log, "\n"); rest != ""; {
			found := field.FindStringSubmatch(rest)
			if found == nil {
				t.Fatalf("%s: no field at %q of %q", target, rest, log)
			}
			got[found[1]] = found[2]
			rest = rest[len(found[0]):]
		}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: %s is %s, want %s, in %q", target, name, got[name], value, log)
			}
		}
		for _, name := range []string{"time", "level", "msg", "id", "bytes", "micros", "client"} {
			if got[name] == "" {
				t.Errorf("%s: there is no %s in %q", target, name, log)
			}
		}
	}
	f("", http.MethodGet, "/api/regions", map[string]string{
		"time": apitest.Now.UTC().Format("2006-01-02T15:04:05.000Z"), "level": "INFO", "msg": "request", "id": "abc",
		"method": "GET", "path": "/api/regions", "status": "200", "client": "192.0.2.7", "key": "",
	})
	f("", http.MethodGet, "/no%20status=500%22%0Alevel=ERROR", map[string]string{"level": "INFO", "status": "404"})
	f("", http.MethodGet, "/%E2%80%A8x%5C", map[string]string{"level": "INFO", "status": "404"})
}
