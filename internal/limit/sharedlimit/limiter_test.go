package sharedlimit

import (
	"cmp"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/limit"
)

// newName returns a name that no other run uses: several may share the server.
func newName() string { return "test-" + strconv.FormatUint(rand.Uint64(), 36) }

func itself(s string) string { return s }

func newLimiter(n *node, name string, most int, window time.Duration) *Limiter[string] {
	return New(n.Redis, name, most, window, 100_000, itself)
}

// admit makes calls at the same time and returns how many were admitted.
func admit(l *Limiter[string], key string, calls int) (admitted int) {
	for range calls {
		if l.Allow(key, 0).Allowed {
			admitted++
		}
	}
	return admitted
}

// admission is one admitted request: Redis counted it between two times of the test's clock.
type admission struct{ from, to time.Duration }

// TestLimiter_TwoNodesAtOnce loads one client's window from two nodes until several windows are filled, on the
// server's clock.
func TestLimiter_TwoNodesAtOnce(t *testing.T) {
	t.Parallel()
	const most, window, windows = 60, 400 * time.Millisecond, 4
	address, name := anyServer(t), newName()
	limiters := []*Limiter[string]{
		newLimiter(openSharedPatient(t, address), name, most, window),
		newLimiter(openSharedPatient(t, address), name, most, window),
	}
	began := time.Now()
	var mu sync.Mutex
	var admitted []admission
	add := func(a admission) (enough bool) {
		mu.Lock()
		defer mu.Unlock()
		admitted = append(admitted, a)
		return len(admitted) >= windows*most
	}
	var enough atomic.Bool
	var callers sync.WaitGroup
	for i := range 6 {
		l := limiters[i%2]
		callers.Go(func() {
			for !enough.Load() {
				from := time.Since(began)
				if l.Allow("one client", int64(from)).Allowed && add(admission{from: from, to: time.Since(began)}) {
					enough.Store(true)
				}
			}
		})
	}
	callers.Wait()
	slices.SortFunc(admitted, func(a, b admission) int { return cmp.Compare(a.from, b.from) })
	for i, first := range admitted {
		inside := 0
		for _, other := range admitted[i:] {
			if other.to-first.from < window {
				inside++
			}
		}
		if inside > most {
			t.Fatalf("%d requests were admitted within %v from %v", inside, window, first.from)
		}
	}
}

func TestLimiter_OneTruth(t *testing.T) {
	t.Parallel()
	address, name := anyServer(t), newName()
	a := newLimiter(openSharedPatient(t, address), name, 60, time.Hour)
	b := newLimiter(openSharedPatient(t, address), name, 60, time.Hour)
	if got := admit(a, "ada", 25); got != 25 {
		t.Fatalf("%d of 25 admitted by the first node", got)
	}
	d := b.Allow("ada", 0)
	if !d.Allowed || d.Remaining != 34 || d.Reset <= 0 || d.Reset > time.Hour {
		t.Fatalf("the 26th, by the second node: %+v", d)
	}
	if got := admit(b, "ada", 60); got != 34 {
		t.Fatalf("%d more admitted by the second node, want 34", got)
	}
	if d := a.Allow("ada", 0); d.Allowed || d.Remaining != 0 || d.Reset <= 0 || d.Reset > time.Hour {
		t.Fatalf("the 61st: %+v", d)
	}
	if got := admit(a, "grace", 61); got != 60 {
		t.Fatalf("another client: %d admitted, want 60", got)
	}
	other := newLimiter(openSharedPatient(t, address), newName(), 60, time.Hour)
	if !other.Allow("ada", 0).Allowed {
		t.Fatal("a limiter of another name refuses")
	}
}

// TestLimiter_Refund has one node take back what it has counted, for all nodes.
func TestLimiter_Refund(t *testing.T) {
	t.Parallel()
	address, name := anyServer(t), newName()
	a := newLimiter(openSharedPatient(t, address), name, 2, time.Hour)
	b := newLimiter(openSharedPatient(t, address), name, 2, time.Hour)
	a.Refund("ada") // of nothing
	for range 5 {
		if d := a.Allow("ada", 0); !d.Allowed || d.Remaining != 1 {
			t.Fatalf("%+v", d)
		}
		a.Refund("ada")
	}
	if got := admit(b, "ada", 3); got != 2 {
		t.Errorf("%d admitted by the second node, want 2", got)
	}
	b.Refund("ada")
	if got := admit(a, "ada", 3); got != 1 {
		t.Errorf("%d admitted after a refund, want 1", got)
	}
}

// TestLimiter_RefusedHereCostsNoCall shows that a flood at one node does not reach Redis.
func TestLimiter_RefusedHereCostsNoCall(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	n := openSharedPatient(t, s.address())
	l := newLimiter(n, newName(), 60, time.Hour)
	admit(l, "ada", 60)
	s.kill()
	if got := admit(l, "ada", 1000); got != 0 || n.Mode() != Shared {
		t.Fatalf("%d admitted, mode %s; want none, and no call to Redis", got, n.Mode())
	}
}

func TestLimiter_WhatRedisHolds(t *testing.T) {
	t.Parallel()
	n := openSharedPatient(t, anyServer(t))
	name := newName()
	l := New(n.Redis, name, 60, time.Hour, 100, netip.Addr.String)
	for range 100 {
		l.Allow(netip.MustParseAddr("203.0.113.77"), 0)
	}
	keys, err := n.client.Keys(t.Context(), "*"+name+"*").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("%q, %v; want one key", keys, err)
	}
	before, after := strings.HasPrefix(keys[0], keyPrefix+name+":{"), strings.HasSuffix(keys[0], "}")
	if strings.Contains(keys[0], "203.0.113") || !before || !after { // the name is random and may contain 203
		t.Errorf("the key is %s", keys[0])
	}
	if ttl := n.client.PTTL(t.Context(), keys[0]).Val(); ttl <= 0 || ttl > time.Hour+time.Second {
		t.Errorf("it is kept for %v", ttl)
	}
	if length := n.client.LLen(t.Context(), keys[0]).Val(); length != 60 {
		t.Errorf("it holds %d times", length)
	}
}

func TestLimiter_WithoutRedis(t *testing.T) {
	t.Parallel()
	var none *Redis
	l := New(none, "public", 2, time.Minute, 100, itself)
	for i, want := range []limit.Decision{
		{Allowed: true, Remaining: 1, Reset: time.Minute},
		{Allowed: true, Reset: time.Minute},
		{Reset: time.Minute},
	} {
		if got := l.Allow("ada", 0); got != want {
			t.Errorf("call %d: %+v, want %+v", i, got, want)
		}
	}
	if none.Mode() != Local || none.Counts().Fallbacks != 0 {
		t.Errorf("mode %s, %d fallbacks", none.Mode(), none.Counts().Fallbacks)
	}
}

func BenchmarkLimiter(b *testing.B) {
	n := openSharedPatient(b, anyServer(b))
	f := func(name, key string, most int) {
		b.Run(name, func(b *testing.B) {
			l := newLimiter(n, newName(), most, time.Minute)
			b.ReportAllocs()
			for b.Loop() {
				l.Allow(key, 0)
			}
		})
	}
	f("admitted", "ada", 1_000_000)
	f("refused here", "ada", 1)
	b.Run("parallel", func(b *testing.B) {
		l := newLimiter(n, newName(), 1_000_000, time.Minute)
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			key := strconv.FormatUint(rand.Uint64(), 36)
			for pb.Next() {
				l.Allow(key, 0)
			}
		})
	})
	if n.Counts().Fallbacks > 0 {
		b.Fatal("Redis was lost meanwhile")
	}
}
