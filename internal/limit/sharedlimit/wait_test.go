package sharedlimit

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestLimiter_WaitIsBounded shows on a fake clock that no request waits longer than callTimeout, however Redis fails,
// and that requests do not wait at all once the node has fallen back.
func TestLimiter_WaitIsBounded(t *testing.T) {
	t.Parallel()
	f := func(name string, dial dialer) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testWaitIsBounded(t, dial) })
		})
	}
	f("refuses connections", func(context.Context) (net.Conn, error) { return nil, errors.New("connection refused") })
	f("does not accept connections", func(ctx context.Context) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	f("does not read", piped(func(net.Conn) {}))
	f("does not respond", piped(func(server net.Conn) { _, _ = io.Copy(io.Discard, server) }))
	f("closes connections", piped(func(server net.Conn) { _ = server.Close() }))
	f("closes connections after a request", piped(func(server net.Conn) {
		_, _ = server.Read(make([]byte, 1))
		_ = server.Close()
	}))
}

// dialer connects to a Redis that fails in some way.
type dialer func(ctx context.Context) (net.Conn, error)

// piped is a dialer whose connections are served in this process.
func piped(serve func(server net.Conn)) dialer {
	return func(context.Context) (net.Conn, error) {
		client, server := net.Pipe()
		go serve(server)
		return client, nil
	}
}

func testWaitIsBounded(t *testing.T, dial dialer) {
	options := newOptions()
	options.Addrs = []string{"redis.invalid:6379"}
	options.PoolSize, options.MinIdleConns = 100, 0 // a full pool waits with timers that do not belong to the fake clock
	options.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	r := connect(t.Context(), options, slog.New(slog.DiscardHandler))
	if r.Mode() != Local {
		t.Fatal("the probe succeeded")
	}
	<-r.lost
	r.shared.Store(true) // as if Redis had worked until now
	l := New(r, "public", 60, time.Minute, 100_000, itself)
	burst := func(most time.Duration) {
		t.Helper()
		var callers sync.WaitGroup
		for i := range 512 {
			callers.Go(func() {
				began := time.Now()
				if allowed := l.Allow(strconv.Itoa(i), 0).Allowed; !allowed || time.Since(began) > most {
					t.Errorf("admitted %t after %v, allowed are %v", allowed, time.Since(began), most)
				}
			})
		}
		callers.Wait()
	}
	burst(callTimeout)
	for r.Mode() == Shared { // the round trip of a burst may end only after its requests
		burst(callTimeout)
	}
	burst(0)
	if c := r.Counts(); c.Fallbacks != 1 || c.Shared != 0 {
		t.Errorf("%+v, want one fallback", c)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	time.Sleep(2 * dialTimeout) // of the fake clock: the client's own dials end
}
