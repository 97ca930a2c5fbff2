package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
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

// A route that only a session opens is requested with one, and without a key.
func TestSteadyRoutes_SignsIn(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch got := r.Method + " " + r.URL.Path + " " + r.Header.Get("Cookie") + r.Header.Get("Authorization"); {
		case got == "GET /openapi.json ":
			_, _ = w.Write([]byte(`{"paths":{"/api/keys":{"get":{}}}}`))
		case got == "POST /api/session " && string(body) == `{"email":"ann@demo.example","password":"horse"}`:
			w.Header().Set("Set-Cookie", "assay_session=token; Path=/; HttpOnly")
		case got == "POST /api/create-api-key assay_session=token", got == "GET /api/keys assay_session=token":
		default:
			http.Error(w, got+string(body), http.StatusForbidden)
		}
	}))
	t.Cleanup(server.Close)
	a := &assayServer{base: server.URL, keys: apiKeys{Full: "sk", Accounts: []demoAccount{
		{Email: "bob@demo.example", Password: "cow", Plan: "none"}, {Email: "ann@demo.example", Password: "horse", Plan: "full"},
	}}}
	routes, err := a.steadyRoutes(t.Context(), time.Now())
	if err != nil || len(routes) != 1 || routes[0].scenario.session != "assay_session=token" || routes[0].scenario.key != "" {
		t.Errorf("got %+v (%v)", routes, err)
	}
	a.keys.Accounts = a.keys.Accounts[:1]
	if _, err := a.steadyRoutes(t.Context(), time.Now()); err == nil || !strings.Contains(err.Error(), "plan full") {
		t.Errorf("without an account: %v", err)
	}
}

// A new route is measured, or has a reason why not.
func TestSteadyPaths_EveryRoute(t *testing.T) {
	t.Parallel()
	document, err := apitest.Description(assay.DefaultCatalog())
	if err != nil {
		t.Fatal(err)
	}
	paths := steadyPaths(time.Now())
	for route, item := range document.Paths.Map() {
		asked := route == inclusionRoute || route == bulkFileRoute // for what another request responds with
		if item.Get != nil && !asked && (paths[route] == "") == (notSteady[route] == "") {
			t.Errorf("%s has to be in steadyPaths or in notSteady", route)
		}
	}
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
