package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// steadyServer answers like a server with two routes; one of them can be made to fail.
func steadyServer(t *testing.T, description string, status *atomic.Int64) *assayServer {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/openapi.json" {
			_, _ = w.Write([]byte(description))
			return
		}
		w.WriteHeader(int(status.Load()))
	}))
	t.Cleanup(server.Close)
	return &assayServer{Process: &process.Process{Name: "assay"}, base: server.URL}
}

func TestMeasureSteady(t *testing.T) {
	t.Parallel()
	f := func(description string, status int64, want string) {
		t.Helper()
		var answer atomic.Int64
		answer.Store(status)
		routes, err := steadyServer(t, description, &answer).measureSteady(t.Context(), time.Second, time.Now())
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s with status %d gives the error %v, want %q", description, status, err, want)
			}
			return
		}
		if err != nil || len(routes) != 2 || len(routes[0].took) != steadyRate/2 ||
			routes[1].sample.p99 < routes[1].sample.p50 {
			t.Errorf("%s gives %d routes (%v)", description, len(routes), err)
		}
	}
	f(`{"paths":{"/health":{"get":{}},"/api/gpu-types":{"get":{}},"/api/session":{"post":{}}}}`, 200, "")
	f(`{"paths":{"/health":{"get":{}},"/api/unheard-of":{"get":{}}}}`, 200,
		"steadyPaths has no request for /api/unheard-of")
	f(`{"paths":{"/health":{"get":{}}}}`, 503, "GET /health: 503")
	f(`{`, 200, "parse /openapi.json")
}
