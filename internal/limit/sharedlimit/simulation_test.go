package sharedlimit

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/assaydata/assay/internal/limit"
)

// simulation has several nodes on one real Redis. All of them, and the script in Redis, use one clock, which only the
// test advances: no time passes during a call, and hours take seconds.
type simulation struct {
	t      *testing.T
	rng    *rand.Rand
	server *server
	clock  atomic.Int64 // nanoseconds
	setter redis.UniversalClient
	script *redis.Script
	most   int
	window time.Duration
	nodes  []*simulated
	lives  int
	away   bool // Redis is

	admitted map[string][]simulatedAdmission
	troubled [][2]int64 // when nodes could not rely on Redis
}

// simulated is a node of a simulation.
type simulated struct {
	*node
	life int // no two nodes have the same, and a restarted one has another
	l    *Limiter[string]
	stop func()
}

// simulatedAdmission is a request that was admitted.
type simulatedAdmission struct {
	at   int64
	life int
}

func newSimulation(t *testing.T, seed uint64, nodes, most int) *simulation {
	t.Helper()
	const clock = "redis.call('TIME')"
	s := &simulation{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), server: startServer(t), most: most, window: time.Minute,
		script:   redis.NewScript(strings.Replace(windowScript, clock, "{ 0, redis.call('GET', 'clock') }", 1)),
		admitted: map[string][]simulatedAdmission{},
	}
	s.setter = openPatient(t, s.server.address()).client
	s.advance(0)
	for range nodes {
		s.nodes = append(s.nodes, s.start())
	}
	return s
}

// advance lets time pass. Redis sees it first: then what a node reports is never recorded before it happened.
func (s *simulation) advance(d time.Duration) {
	s.t.Helper()
	now := s.clock.Load() + int64(d)
	if !s.away {
		if err := s.setter.Set(s.t.Context(), "clock", year2026+now/1000, 0).Err(); err != nil {
			s.t.Fatal(err)
		}
	}
	s.clock.Store(now)
}

// start starts a node.
func (s *simulation) start() *simulated {
	s.t.Helper()
	options, err := parseAddress(s.server.address())
	if err != nil {
		s.t.Fatal(err)
	}
	options.DialTimeout, options.PoolTimeout = patience, patience
	options.ReadTimeout, options.WriteTimeout = patience, patience
	n := &simulated{node: &node{log: newRecorder()}, life: s.lives}
	s.lives++
	n.Redis = connect(s.t.Context(), options, slog.New(n.log))
	n.Wait, n.script = patience, s.script
	n.now = func() time.Duration { return time.Duration(s.clock.Load()) }
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = n.Run(ctx) })
	n.stop = sync.OnceFunc(func() {
		stop()
		running.Wait()
		n.end()
		n.senders.Wait()
		_ = n.client.Close()
	})
	s.t.Cleanup(n.stop)
	n.l = newLimiter(n.node, "simulated", s.most, s.window)
	n.awaitHearing()
	return n
}

// awaitHearing returns once the node counts in Redis, and other nodes can ask it for leases.
func (n *simulated) awaitHearing() {
	n.awaitMode(Shared)
	for !n.hears.Load() {
		runtime.Gosched()
	}
}

// quiet returns once no node has a call under way.
func (s *simulation) quiet() {
	for _, n := range s.nodes {
		for n.posted.Load() > 0 {
			runtime.Gosched()
		}
	}
}

// allow makes a request at a node, and remembers whether it was admitted.
func (s *simulation) allow(n *simulated, client string, cost int) limit.Decision {
	d := n.l.AllowMany(client, s.clock.Load(), cost)
	if d.Allowed {
		for range cost {
			s.admitted[client] = append(s.admitted[client], simulatedAdmission{s.clock.Load(), n.life})
		}
	}
	return d
}

// burst makes requests of a client at the same time, at one node.
func (s *simulation) burst(n *simulated, client string, requests int) {
	var callers sync.WaitGroup
	var admitted atomic.Int64
	for range requests {
		callers.Go(func() {
			if n.l.Allow(client, s.clock.Load()).Allowed {
				admitted.Add(1)
			}
		})
	}
	callers.Wait()
	for range admitted.Load() {
		s.admitted[client] = append(s.admitted[client], simulatedAdmission{s.clock.Load(), n.life})
	}
}

// kill ends a node as a power cut does: it gives nothing back. Another takes its place.
func (s *simulation) kill(i int) {
	s.t.Helper()
	s.nodes[i].stop()
	s.nodes[i] = s.start()
}

// loseRedis kills Redis, continues meanwhile, and starts it empty.
func (s *simulation) loseRedis(meanwhile func()) {
	s.t.Helper()
	began := s.clock.Load()
	s.quiet()
	s.server.kill()
	s.away = true
	meanwhile()
	s.server.restart()
	s.away = false
	s.advance(0)
	for _, n := range s.nodes {
		n.awaitHearing()
	}
	s.troubled = append(s.troubled, [2]int64{began, s.clock.Load()})
}

// check checks every window. From one node no client ever gets more than the limit, and from all together neither,
// except in a window in which nodes could not rely on Redis.
func (s *simulation) check() {
	s.t.Helper()
	for client, all := range s.admitted {
		first := 0
		for i, a := range all {
			for a.at-all[first].at >= int64(s.window) {
				first++
			}
			inside := all[first : i+1]
			for life := range s.lives {
				own := 0
				for _, b := range inside {
					if b.life == life {
						own++
					}
				}
				if own > s.most {
					s.t.Fatalf("%s got %d from node %d within a window, at %v", client, own, life, time.Duration(a.at))
				}
			}
			excused := slices.ContainsFunc(s.troubled, func(t [2]int64) bool { return t[0] <= a.at && t[1] >= all[first].at })
			if len(inside) > s.most && !excused {
				s.t.Fatalf("%s got %d of %d between %v and %v", client, len(inside), s.most,
					time.Duration(all[first].at), time.Duration(a.at))
			}
		}
	}
}

// TestSimulation lets clients of all habits use nodes that die and a Redis that dies, and checks every window.
func TestSimulation(t *testing.T) {
	t.Parallel()
	f := func(seed uint64, most int) {
		t.Run(strconv.Itoa(most)+" requests", func(t *testing.T) {
			t.Parallel()
			s := newSimulation(t, seed, 3, most)
			for round := range 3 {
				s.live(400)
				if round < 2 {
					s.loseRedis(func() { s.live(20) })
				}
			}
			s.check()
		})
	}
	f(1, 60)
	f(2, 700)
}

// live lets so many bursts of requests come.
func (s *simulation) live(bursts int) {
	s.t.Helper()
	for range bursts {
		client := s.rng.IntN(6)
		n := s.nodes[s.rng.IntN(len(s.nodes))] // a client of a balancer
		switch minute := int(s.clock.Load() / int64(time.Minute)); {
		case client < 2:
			n = s.nodes[client] // that stays
		case client < 4:
			n = s.nodes[(minute+client)%len(s.nodes)] // that moves each minute
		}
		name := "client " + strconv.Itoa(client)
		switch s.rng.IntN(10) {
		case 0:
			s.allow(n, name, 1+s.rng.IntN(s.most/3))
		case 1:
			if d := s.allow(n, name, 1); d.Allowed {
				n.l.Refund(name)
				s.admitted[name] = s.admitted[name][:len(s.admitted[name])-1]
			}
		default:
			s.burst(n, name, 1+s.rng.IntN(s.most/10))
		}
		if s.rng.IntN(2) == 0 {
			s.quiet()
		}
		if !s.away && s.rng.IntN(150) == 0 {
			s.kill(s.rng.IntN(len(s.nodes)))
		}
		pace := time.Second
		if s.rng.IntN(40) == 0 {
			pace = 2 * s.window // all nodes stood still: leases end that no one has reported
		}
		s.advance(time.Duration(s.rng.Int64N(int64(pace))))
		if s.rng.IntN(3) == 0 {
			for _, n := range s.nodes {
				n.sweepAll()
			}
		}
	}
}

// sweepAll looks after all leases of a node.
func (n *simulated) sweepAll() {
	for part := range sweepParts {
		n.sweep(part)
	}
}

// TestSimulation_Moving has a client whose every request goes to another node, or that moves now and then. It is
// admitted and refused exactly as by a single node.
func TestSimulation_Moving(t *testing.T) {
	t.Parallel()
	f := func(name string, stays int) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSimulation(t, 3, 3, 60)
			single := limit.New[string](s.most, s.window, 10, nil)
			for i := range 600 {
				n := s.nodes[i/stays%len(s.nodes)]
				s.advance(time.Duration(s.rng.Int64N(int64(1500 * time.Millisecond))))
				cost := 1 + max(0, s.rng.IntN(12)-9)
				got, want := s.allow(n, "ada", cost), single.AllowMany("ada", s.clock.Load(), cost)
				if got.Allowed != want.Allowed || got.Remaining > want.Remaining {
					t.Fatalf("request %d: %+v, a single node would say %+v", i, got, want)
				}
				s.quiet()
				if i%3 == 0 {
					n.sweepAll()
				}
			}
			s.check()
		})
	}
	f("each time", 1)
	f("after 7 requests", 7)
	f("after 50 requests", 50)
	f("never", 1_000_000)
}

// TestSimulation_Hammering has a client that sends far too much to one, two or three nodes: it gets its limit.
func TestSimulation_Hammering(t *testing.T) {
	t.Parallel()
	f := func(nodes, most int) {
		t.Run(strconv.Itoa(most)+" at "+strconv.Itoa(nodes), func(t *testing.T) {
			t.Parallel()
			const windows = 5
			s := newSimulation(t, 4, nodes, most)
			for end := windows * int64(s.window); s.clock.Load() < end; {
				s.advance(time.Duration(s.rng.Int64N(int64(3 * time.Second))))
				for range 2 * nodes {
					s.burst(s.nodes[s.rng.IntN(nodes)], "ada", most/8)
				}
				s.quiet()
				for _, n := range s.nodes {
					n.sweepAll()
				}
			}
			s.check()
			if got := len(s.admitted["ada"]); got < windows*most*9/10 {
				t.Errorf("%d admitted in %d windows of %d", got, windows, most)
			}
		})
	}
	f(1, 60)
	f(2, 60)
	f(3, 60)
	f(3, 700)
}
