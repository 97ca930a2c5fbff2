package web_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/web"

	"github.com/assaydata/assay/internal/limit/sharedlimit"
	"github.com/assaydata/assay/tools/testenv"
)

// openLimits connects to the Redis that ASSAY_TEST_REDIS names.
func openLimits(t *testing.T) *sharedlimit.Redis {
	t.Helper()
	address := testenv.URL(t, testenv.Redis)
	for range 10 { // on a busy machine the first probe may be too slow
		redis, err := sharedlimit.Open(t.Context(), address, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = redis.Run(ctx) })
		t.Cleanup(func() {
			stop()
			running.Wait()
			_ = redis.Close()
		})
		if redis.Mode() == sharedlimit.Shared {
			redis.Wait = time.Minute // this is not about waiting
			return redis
		}
	}
	t.Fatal("the Redis that ASSAY_TEST_REDIS names does not answer")
	return nil
}

// TestSharedLimits has two servers of the same data on one Redis: what one admits counts for the other.
func TestSharedLimits(t *testing.T) {
	const keyLimit = 20
	limits := func(c *apitest.Config) {
		redis := openLimits(t)
		c.Web.Limits, c.API.Limits, c.Console.Limits, c.Web.KeyLimit = redis, redis, redis, keyLimit
	}
	r := newRig(t, limits)
	limits(&r.Config)
	servers := []*web.Server{r.Server, r.NewServer(r.Config)}
	r.Use(r.Snapshots.Load())

	// f asks the two in turn, as a balancer would, and then both once more.
	f := func(name string, most, otherwise int, ask func(i int) apitest.Reply) {
		t.Helper()
		for i := range most {
			r.Server = servers[i%2]
			got := ask(i)
			if left := fmt.Sprintf(`;r=%d;t=`, most-i-1); got.StatusCode != otherwise || !strings.Contains(strings.Join(got.Header["Ratelimit"], " "), left) {
				t.Fatalf("%s, request %d: %d %q, want %d with %s", name, i, got.StatusCode, got.Header["Ratelimit"], otherwise, left)
			}
		}
		for i := range servers {
			r.Server = servers[i]
			if got := ask(most + i); got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" {
				t.Fatalf("%s, one more at server %d: %d %v", name, i, got.StatusCode, got.Header)
			}
		}
	}
	block := rand.Uint32() // others may use the same Redis: an address of our own
	peer := func(i int) string { return fmt.Sprintf("[2001:db8:%x:%x::%x]:1234", block>>16, block&0xffff, i+1) }
	person := fmt.Sprintf("p%d@example.com", rand.Uint64())
	f("public", web.PublicLimit, 200, func(i int) apitest.Reply { return r.Get("", "/api/gpu-types", "peer", peer(i)) })
	f("key", keyLimit, 200, func(int) apitest.Reply { return r.Get("premium", "/api/gpu-utilization") })
	f("sign-in", 5, 401, func(i int) apitest.Reply {
		body := `{"email":"` + person + `","password":"wrong horse battery"}`
		return r.Write(http.MethodPost, "", "/api/session", body, "peer", peer(i))
	})
	for _, server := range servers {
		r.Server = server
		if got := r.Get("", "/health"); !strings.Contains(got.Text, `"limits":{"mode":"shared","fallbacks":0,"shared":`) ||
			!strings.Contains(got.Text, `,"alone":0,"late":0}`) || strings.Contains(got.Text, `"shared":0,`) {
			t.Errorf("/health: %s", got.Text)
		}
	}
}
