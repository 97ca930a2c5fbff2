package limit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	second = int64(time.Second)
	minute = 60 * second
)

// oracle is the rule in its simplest form: every admitted time of every key, counted again for each call.
type oracle struct {
	limit    int
	window   int64
	tick     int64
	clock    int64
	admitted map[byte][]int64
}

func (o *oracle) allow(key byte, now int64, cost int) Decision {
	o.clock = max(o.clock, now/o.tick*o.tick)
	counted := func() (in []int64) {
		for _, at := range o.admitted[key] {
			if at > o.clock-o.window {
				in = append(in, at)
			}
		}
		return in
	}
	surplus := len(counted()) + cost - o.limit
	if surplus <= 0 {
		o.admitted[key] = append(o.admitted[key], slices.Repeat([]int64{o.clock}, cost)...)
	}
	in := counted()
	leaves := in[max(0, surplus-1)]
	return Decision{Allowed: surplus <= 0, Remaining: o.limit - len(in), Reset: time.Duration(leaves + o.window - now)}
}

type call struct {
	key  byte
	now  int64
	cost int
}

// checkCalls compares every decision with the oracle's, and then checks the limit on the admitted times. The window is
// one of whole ticks.
func checkCalls(t *testing.T, limit int, window, tick int64, calls []call) {
	t.Helper()
	l := New[byte](limit, time.Duration(window), 256, nil) // one shard, hence one clock, and no eviction
	o := &oracle{limit: limit, window: window, tick: tick, clock: math.MinInt64, admitted: map[byte][]int64{}}
	for i, c := range calls {
		cost := min(limit, c.cost)
		foretold, refused := l.Refused(c.key, c.now, cost)
		got, want := l.AllowMany(c.key, c.now, cost), o.allow(c.key, c.now, cost)
		if refused == got.Allowed || refused && foretold != got {
			t.Fatalf("limit %d in %d, call %d (%+v): Refused said %v, %+v; AllowMany %+v",
				limit, window, i, c, refused, foretold, got)
		}
		if got != want {
			t.Fatalf("limit %d in %d, call %d (%+v): got %+v, want %+v", limit, window, i, c, got, want)
		}
	}
	for key, at := range o.admitted {
		for i := limit; i < len(at); i++ {
			if at[i]-at[i-limit] < window {
				t.Fatalf("key %d: %d requests from %d to %d, window %d", key, limit+1, at[i-limit], at[i], window)
			}
		}
	}
}

func TestAllow_AgainstOracle(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 400 {
		limit, window, tick := 1+rng.IntN(70), 1+rng.Int64N(1000), int64(1)
		switch round % 4 {
		case 0:
			window, tick = minute, 1000
		case 1:
			window, tick = 24*60*minute, 1_000_000
		}
		pace := 1 + rng.Int64N(1+3*window/int64(limit)) // from far too fast to slow enough
		calls, now := make([]call, 500), rng.Int64N(2000)-1000
		for i := range calls {
			now += rng.Int64N(pace + 1)
			if rng.IntN(100) == 0 {
				now += rng.Int64N(3 * window)
			}
			late := max(0, rng.Int64N(20)-16)
			calls[i] = call{key: byte(rng.IntN(3)), now: now - late, cost: 1 + max(0, rng.IntN(20)-10)}
		}
		checkCalls(t, limit, window, tick, calls)
	}
}

func FuzzAllow(f *testing.F) {
	f.Add(byte(1), byte(10), []byte{0, 40, 1, 255, 90, 3})
	f.Add(byte(5), byte(1), []byte("seven keys, short window"))
	f.Fuzz(func(t *testing.T, limit, window byte, steps []byte) {
		calls, now := make([]call, len(steps)), int64(0)
		for i, step := range steps {
			now += int64(step>>2) - 4 // at times a little backwards
			calls[i] = call{key: step & 3, now: now, cost: 1 + i%4}
		}
		checkCalls(t, 1+int(limit), 1+int64(window), 1, calls)
	})
}

// allowN makes n calls at the same time and returns how many were admitted.
func allowN(l *Limiter[string], key string, n int, now int64) (admitted int) {
	for range n {
		if l.Allow(key, now).Allowed {
			admitted++
		}
	}
	return admitted
}

func TestAllow_NoEdgeBetweenMinutes(t *testing.T) {
	t.Parallel()
	l := New[string](60, time.Minute, 100, nil)
	f := func(now int64, want int) {
		t.Helper()
		if got := allowN(l, "a", 60, now); got != want {
			t.Fatalf("at %v: %d of 60 admitted, want %d", time.Duration(now), got, want)
		}
	}
	f(59*second, 60)
	f(61*second, 0)
	f(59*second+minute-1, 0)
	f(59*second+minute, 60) // exactly one window later
}

func TestAllow_SlidesOneByOne(t *testing.T) {
	t.Parallel()
	l := New[string](3, time.Minute, 100, nil)
	f := func(now int64, want Decision) {
		t.Helper()
		if got := l.Allow("a", now*second); got != want {
			t.Fatalf("at %d s: got %+v, want %+v", now, got, want)
		}
	}
	f(0, Decision{Allowed: true, Remaining: 2, Reset: 60 * time.Second})
	f(10, Decision{Allowed: true, Remaining: 1, Reset: 50 * time.Second})
	f(20, Decision{Allowed: true, Reset: 40 * time.Second})
	f(59, Decision{Reset: time.Second})
	f(60, Decision{Allowed: true, Reset: 10 * time.Second})
	f(60, Decision{Reset: 10 * time.Second})
	f(85, Decision{Allowed: true, Remaining: 1, Reset: 35 * time.Second})
	f(500, Decision{Allowed: true, Remaining: 2, Reset: 60 * time.Second})
	f(490, Decision{Allowed: true, Remaining: 1, Reset: 70 * time.Second}) // ten seconds late: counted at 500
}

func TestAllow_ResetIsTrue(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	l := New[string](60, time.Minute, 100, nil)
	refused := 0
	for now := int64(0); refused < 200; now += rng.Int64N(second) {
		d := l.Allow("a", now)
		if d.Allowed {
			continue
		}
		refused++
		reset := now + int64(d.Reset)
		if l.Allow("a", reset-1).Allowed {
			t.Fatalf("refused at %d with reset %v, admitted a nanosecond before", now, d.Reset)
		}
		if !l.Allow("a", reset).Allowed {
			t.Fatalf("refused at %d with reset %v, refused again then", now, d.Reset)
		}
		now = reset
	}
}

func TestAllow_RemainingIsTrue(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		l := New[string](60, time.Minute, 100, nil)
		now, d := int64(0), Decision{}
		for range 1 + rng.IntN(150) {
			now += rng.Int64N(2 * second)
			d = l.Allow("a", now)
		}
		if got := allowN(l, "a", 100, now); got != d.Remaining {
			t.Fatalf("%d more admitted at %v, Remaining said %d", got, time.Duration(now), d.Remaining)
		}
	}
}

func TestAllow_TimesFarApart(t *testing.T) {
	t.Parallel()
	l := New[string](2, time.Minute, 100, nil)
	f := func(now int64, want bool) {
		t.Helper()
		if got := l.Allow("a", now).Allowed; got != want {
			t.Fatalf("at %d: admitted %v, want %v", now, got, want)
		}
	}
	f(math.MinInt64, true)
	f(0, true)
	f(math.MaxInt64, true)
	f(math.MinInt64, true)
	f(0, false)
	f(math.MaxInt64, false)
}

func TestAllow_Concurrent(t *testing.T) {
	t.Parallel()
	l := New[string](60, time.Minute, 100_000, nil)
	var admitted atomic.Int64
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for now := range int64(100) { // each from the start again: the shard sees the times out of order
				admitted.Add(int64(allowN(l, "a", 1, now)))
				l.Len()
			}
		})
	}
	callers.Wait()
	if admitted.Load() != 60 {
		t.Fatalf("%d admitted, want 60", admitted.Load())
	}
}

// A refunded request leaves no trace, and a refund of nothing does nothing.
func TestRefund(t *testing.T) {
	t.Parallel()
	l := New[string](2, time.Minute, 256, nil)
	l.Refund("a")
	for range 3 {
		if d := l.Allow("a", 0); !d.Allowed || d.Remaining != 1 {
			t.Fatalf("%+v", d)
		}
		l.Refund("a")
	}
	if n := l.Len(); n != 0 {
		t.Errorf("%d keys are remembered", n)
	}
	l.Allow("a", 0)
	l.Allow("a", second)
	l.Refund("a") // the later one
	l.Allow("a", 2*second)
	if d := l.Allow("a", 3*second); d.Allowed || d.Reset != 57*time.Second {
		t.Errorf("%+v", d)
	}
}

func TestFlood_StaysBounded(t *testing.T) {
	t.Parallel()
	f := func(maxKeys, flood int) {
		t.Helper()
		t.Run(fmt.Sprintf("%d keys", maxKeys), func(t *testing.T) {
			t.Parallel()
			l := New[int](60, time.Minute, maxKeys, nil)
			for key := range flood {
				l.Allow(key, int64(key))
				if key%1000 == 0 && l.Len() > maxKeys {
					t.Fatalf("%d keys after %d, want at most %d", l.Len(), key, maxKeys)
				}
			}
			if n := l.Len(); n > maxKeys || n < maxKeys*9/10 {
				t.Fatalf("%d keys after the flood, want %d or a little less", n, maxKeys)
			}
		})
	}
	f(1, 1000)
	f(5000, 50_000)
	f(100_000, 1_000_000)
}

func TestFlood_ForgetsTheLeastRecentlySeen(t *testing.T) {
	t.Parallel()
	l := New[string](1, time.Minute, 2, nil)
	f := func(key string, want bool) {
		t.Helper()
		if got := l.Allow(key, 0).Allowed; got != want {
			t.Fatalf("%s: admitted %v, want %v", key, got, want)
		}
	}
	f("a", true)
	f("b", true)
	f("a", false) // a refused call counts as seen too
	f("c", true)  // evicts b
	f("a", false)
	f("b", true)
}

// TestFlood_GivesMemoryBack measures the heap, so no other test may run at the same time.
func TestFlood_GivesMemoryBack(t *testing.T) {
	const flood, regulars = 200_000, 1000
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	evenly := func(key int) uint64 { return uint64(key) } // calls clean only their own shard, so each needs some
	l := New(60, time.Minute, flood*2, evenly)
	empty := heap()
	for key := range flood {
		l.Allow(key, 0)
	}
	full := heap()
	t.Logf("%d bytes for a key that called once", (full-empty)/flood)
	for i := range flood {
		l.Allow(flood+i%regulars, minute+int64(i))
	}
	if n := l.Len(); n != regulars {
		t.Fatalf("%d keys remembered, want the %d regulars", n, regulars)
	}
	if left := heap() - empty; left > (full-empty)/10 {
		t.Fatalf("%d bytes held after the flood, %d at its height", left, full-empty)
	}
	runtime.KeepAlive(l)
}

// What is idle can be dropped at once, and what is not stays counted.
func TestDropIdle(t *testing.T) {
	t.Parallel()
	l := New[int](2, time.Minute, 10_000, nil)
	l.DropIdle(0)
	for key := range 5000 {
		l.Allow(key, 0)
	}
	const later = int64(30 * time.Second)
	l.Allow(7, later)
	l.DropIdle(later)
	if got := l.Len(); got != 5000 {
		t.Errorf("%d keys are left within their window, want 5000", got)
	}
	l.DropIdle(int64(61 * time.Second))
	if got := l.Len(); got != 1 {
		t.Errorf("%d keys are left, want the one that was seen later", got)
	}
	if d := l.Allow(7, int64(62*time.Second)); !d.Allowed || d.Remaining != 0 {
		t.Errorf("its next request: %+v, want the last one that is allowed", d)
	}
	l.DropIdle(int64(5 * time.Minute))
	if got := l.Len(); got != 0 {
		t.Errorf("%d keys are left, want none", got)
	}
	if d := l.Allow(7, int64(5*time.Minute)); !d.Allowed || d.Remaining != 1 {
		t.Errorf("after all were dropped: %+v", d)
	}
}

func TestAllow_KnownKeyAllocatesNothing(t *testing.T) {
	l := New[netip.Addr](60, time.Minute, 100_000, nil)
	addr, now := netip.MustParseAddr("2001:db8::1"), int64(0)
	f := func(step int64) {
		t.Helper()
		n := testing.AllocsPerRun(1000, func() {
			now += step
			l.Allow(addr, now)
		})
		if n != 0 {
			t.Fatalf("%v allocations a call at one call in %v", n, time.Duration(step))
		}
	}
	for range 60 {
		l.Allow(addr, now)
	}
	f(0)          // refused
	f(second)     // admitted
	f(3 * minute) // its window has passed each time
}

func TestNew(t *testing.T) {
	t.Parallel()
	l := New[int](60, time.Minute, 1_000_000, nil)
	if l.Limit() != 60 || l.Window() != time.Minute || l.Len() != 0 {
		t.Fatalf("limit %d, window %v, %d keys", l.Limit(), l.Window(), l.Len())
	}
	f := func(maxKeys, shards int) {
		t.Helper()
		t.Run(fmt.Sprintf("%d keys", maxKeys), func(t *testing.T) {
			t.Parallel()
			if got := len(New[int](1, 1, maxKeys, nil).shards); got != shards {
				t.Errorf("%d shards, want %d", got, shards)
			}
		})
	}
	f(1, 1)
	f(2047, 1)
	f(2048, 2)
	f(65_536, 64)
	f(1_000_000, 64)
}

func BenchmarkAllow(b *testing.B) {
	addrs := make([]netip.Addr, 1<<16)
	for i := range addrs {
		addrs[i] = netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
	}
	// f calls with that many addresses in turn, each at the given rate, once their rings are full.
	f := func(name string, keys, maxKeys int, every time.Duration) {
		b.Run(name, func(b *testing.B) {
			l := New[netip.Addr](60, time.Minute, maxKeys, nil)
			i, now, step := 0, int64(0), int64(every)/int64(keys)
			allow := func() {
				i = (i + 7919) & (keys - 1)
				now += step
				l.Allow(addrs[i], now)
			}
			for range 60 * keys {
				allow()
			}
			b.ReportAllocs()
			for b.Loop() {
				allow()
			}
		})
	}
	f("admitted", 1, 100_000, time.Second)
	f("refused", 1, 100_000, time.Millisecond)
	f("1000 addresses", 1<<10, 100_000, time.Second)
	f("65000 addresses", 1<<16, 100_000, time.Second)
	f("flood", 1<<16, 10_000, time.Second) // every call is a new key and evicts an old one

	b.Run("parallel", func(b *testing.B) {
		l := New[netip.Addr](60, time.Minute, 100_000, nil)
		var callers atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			own := addrs[callers.Add(1)<<10:][:1<<10] // the same addresses would meet at the same locks in step
			for i := 0; pb.Next(); i++ {
				l.Allow(own[i%len(own)], int64(i)*second>>10)
			}
		})
	})
}
