package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/web"
	"github.com/assaydata/assay/tools/testenv"
)

// TestDatabaseCutOff serves every market route with the database closed, and gets the same bytes as before.
func TestDatabaseCutOff(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	callers := []string{"", "premium", "full", "revoked", "unknown key", "free session", "full session"}
	type request struct{ name, caller, target string }
	var requests []request
	for _, route := range r.Groups[0].Routes {
		if route.Path == "/health" {
			continue // it reports the database
		}
		targets := asks[route.Path]
		if targets == nil {
			targets = []string{""}
		}
		for _, ask := range targets {
			name, query, _ := strings.Cut(ask, "?")
			target := pathVariable.ReplaceAllString(route.Path, name) + "?" + query
			for _, caller := range callers {
				requests = append(requests, request{target + " as " + caller, caller, target})
			}
		}
	}
	// A session that no node knows must not be looked up either, nor a new one with every request.
	sent := 0
	unknown := func() string {
		sent++
		return fmt.Sprintf("%s=%043d", web.SessionCookie, sent)
	}
	serve := func() (texts []string) {
		for _, q := range requests {
			got := r.Get(q.caller, q.target)
			texts = append(texts, got.Status+got.Header.Get("Etag")+got.Header.Get("Cache-Control")+got.WithoutID())
			if q.caller == "" {
				texts = append(texts, r.Get("", q.target, "Cookie", unknown()).WithoutID())
			} else {
				texts = append(texts, "")
			}
		}
		return texts
	}
	before := serve()
	r.Logs.Reset()
	r.Must(r.DB.Close())
	r.PingErr = errors.New("the database is closed")
	for i, text := range serve() {
		if text != before[i] {
			t.Errorf("%s: %.300s without the database, with it %.300s", requests[i/2].name, text, before[i])
		}
	}
	// The record of a value is in the database, but a caller without access to it must not get that far.
	for _, target := range []string{
		"/api/gpu/RTX%20PRO%206000%20WS/determination?date=2026-01-30",
		"/api/determinations/otpi?series=minimax&date=2026-01-30",
		"/api/determinations/memory?series=mem_ddr5_16gb&date=2026-01-30",
	} {
		if got := r.Get("", target, "Cookie", unknown()); got.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s with an unknown session: %d %s", target, got.StatusCode, got.Text)
		}
	}
	if logs := r.Logs.String(); strings.Contains(logs, `"level":"ERROR"`) {
		t.Errorf("something tried to use the database: %.600s", logs[strings.Index(logs, `"level":"ERROR"`):])
	}
}
