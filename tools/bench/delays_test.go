package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// answering is a node that answers what f says.
func answering(t *testing.T, f func(w http.ResponseWriter, r *http.Request)) *assayServer {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(f))
	t.Cleanup(s.Close)
	return &assayServer{Process: &process.Process{Name: "node"}, base: s.URL}
}

// What counts is the last node: the others had it long before.
func TestNodeSet_WatchWaitsForTheLast(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	quick := answering(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "new") })
	late := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) > 3 {
			io.WriteString(w, "new")
		}
	})
	begun := time.Now()
	seen := nodeSet{quick, late}.watch(t.Context(), priceScenario, func(status int, body []byte) bool {
		return status == http.StatusOK && string(body) == "new"
	})
	got, err := seen(begun, begun.Add(time.Hour))
	if err != nil || asked.Load() != 4 {
		t.Fatalf("%v after %d questions, want 4", err, asked.Load())
	}
	if got.sinceStart < 3*pollPause || got.sinceReturn != 0 {
		t.Errorf("%+v: want at least three pauses from the start, and nothing after a return that comes later", got)
	}
}

func TestNodeSet_WatchReturnsTheLastResponse(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	node := answering(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "still old") })
	seen := nodeSet{node}.watch(ctx, priceScenario, func(int, []byte) bool { cancel(); return false })
	_, err := seen(time.Now(), time.Now())
	wantError(t, err, "node: last response 200 still old")
	full := answering(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	seen = nodeSet{full}.watch(t.Context(), priceScenario, func(int, []byte) bool { return false })
	_, err = seen(time.Now(), time.Now())
	wantError(t, err, "the limiter refuses the request")
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	var all []delay
	for i := range 100 {
		all = append(all, delay{sinceStart: time.Duration(100 - i)})
	}
	f := func(all []delay, want summary) {
		t.Helper()
		if got := summarize(all, func(w delay) time.Duration { return w.sinceStart }); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	f(all, summary{50, 99, 100})
	f(all[:50], summary{75, 100, 100})
	f(all[99:], summary{1, 1, 1})
}

func TestKeyID(t *testing.T) {
	t.Parallel()
	f := func(key, want string) {
		t.Helper()
		if got := keyID(key); got != want {
			t.Errorf("keyID(%q) = %q, want %q", key, got, want)
		}
	}
	f("sk_live_AbC123_"+"rest_of_it", "AbC123")
	f("nonsense", "")
}

func TestFallbacks(t *testing.T) {
	t.Parallel()
	f := func(body string, want int64, wantErr string) {
		t.Helper()
		node := answering(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
		got, err := node.fallbacks(t.Context())
		wantError(t, err, wantErr)
		if got != want {
			t.Errorf("%s: %d, want %d", body, got, want)
		}
	}
	f(`{"limits":{"mode":"shared","fallbacks":3}}`, 3, "")
	f(`{"limits":{"mode":"local","fallbacks":3}}`, 3, "")
	f(`{"limits":{"mode":"local","fallbacks":0}}`, 0, "not in Redis")
	f(`{}`, 0, "not in Redis")
}
