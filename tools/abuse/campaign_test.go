//go:build linux

package main

import (
	"hash/maphash"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A campaign against a server that is wrong in one way says so, and gives up early.
func TestCampaign_FindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	f := func(name, want string, handler http.HandlerFunc) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(handler)
			defer s.Close()
			g := testGenerator(t, 1)
			c := &campaign{
				server: s.Listener.Addr().String(), generator: g,
				checker: &checker{description: g.description, right: seen{seed: maphash.MakeSeed()}},
			}
			var sent tally
			err := c.run(t.Context(), 2000, &sent)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %.2000v, want %q", err, want)
			}
			if len(c.failures) < mostFailures || sent.total.Load() >= 2000 {
				t.Errorf("%d failures, %d requests", len(c.failures), sent.total.Load())
			}
		})
	}
	respond := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Request-Id", r.Header.Get("X-Request-Id"))
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	f("a 500", "status 500", respond(http.StatusInternalServerError, `{"error":"Internal"}`))
	f("an undocumented status", "no status 206", respond(http.StatusPartialContent, `{}`))
	f("missing headers", "is missing", respond(http.StatusOK, `{"oops":true}`))
	f("an end without a response", "no response", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
}
