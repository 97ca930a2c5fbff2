package sharedlimit

import (
	"runtime"
	"strconv"
	"testing"
	"time"
)

// take makes requests of one client at a node, and returns how many were admitted.
func (s *simulation) take(n *simulated, client string, requests int) (admitted int) {
	for range requests {
		if s.allow(n, client, 1).Allowed {
			admitted++
		}
	}
	return admitted
}

// TestLease_NoCalls shows that a client that stays with a node is admitted without a call to Redis, and what other
// nodes then see.
func TestLease_NoCalls(t *testing.T) {
	t.Parallel()
	s := newSimulation(t, 1, 2, 400)
	a, b := s.nodes[0], s.nodes[1]
	s.take(a, "ada", 2) // the first has no lease yet
	s.quiet()
	before := a.sequence.Load()
	if got := s.take(a, "ada", 70); got != 70 || a.sequence.Load() != before {
		t.Errorf("%d of 70 admitted, with %d calls about the lease", got, a.sequence.Load()-before)
	}
	if d := s.allow(b, "ada", 1); !d.Allowed || d.Remaining != 400-73 {
		t.Errorf("the next, at another node: %+v", d)
	}
}

// TestLease_Ends lets a lease end that its node could not report. What the node had counts as used, and it does not
// use it any more.
func TestLease_Ends(t *testing.T) {
	t.Parallel()
	s := newSimulation(t, 1, 2, 60)
	a, b := s.nodes[0], s.nodes[1]
	s.take(a, "ada", 3)
	a.forget()
	s.advance(leaseLength(s.window) + time.Second)
	if got := s.take(b, "ada", 60); got != 45 {
		t.Errorf("%d admitted by the other node, want all but the lease of 15", got)
	}
	if got := s.take(a, "ada", 60); got != 0 {
		t.Errorf("%d admitted by the node whose lease has ended", got)
	}
	s.advance(s.window + time.Second)
	if got := s.take(b, "ada", 100); got != 60 {
		t.Errorf("%d admitted a window later, want 60", got)
	}
	s.check()
}

// forget makes the node look after its leases no more, and not hear when others ask for them.
func (r *Redis) forget() {
	r.tablesMu.Lock()
	defer r.tablesMu.Unlock()
	r.tables = nil
	r.byName.mu.Lock()
	defer r.byName.mu.Unlock()
	clear(r.byName.leases)
}

// TestLease_VoidAfterRestart restarts Redis without its data. The leases that it has forgotten are not used.
func TestLease_VoidAfterRestart(t *testing.T) {
	t.Parallel()
	s := newSimulation(t, 1, 2, 60)
	a, b := s.nodes[0], s.nodes[1]
	s.take(a, "ada", 3)
	epoch := a.epoch.Load()
	s.server.kill()
	s.server.restart()
	s.advance(0)
	for a.epoch.Load() == epoch || !a.hears.Load() || !b.hears.Load() {
		runtime.Gosched()
	}
	for _, n := range s.nodes {
		n.l.Allow("someone", s.clock.Load()) // the connections that the node kept are broken
		n.awaitHearing()
	}
	if got := s.take(b, "ada", 100); got != 60 {
		t.Errorf("%d admitted by the other node", got)
	}
	if got := s.take(a, "ada", 100); got != 0 {
		t.Errorf("%d more admitted by lease", got)
	}
}

// TestLease_DeadNode kills a node with a lease. The others do not wait for it, and what it had counts as used.
func TestLease_DeadNode(t *testing.T) {
	t.Parallel()
	s := newSimulation(t, 1, 2, 60)
	s.take(s.nodes[0], "ada", 5)
	s.nodes[0].stop()
	if got := s.take(s.nodes[1], "ada", 100); got != 60-1-15 { // the first request and the lease
		t.Errorf("%d admitted", got)
	}
	s.check()
}

// TestLease_SilentNode asks a node for its lease that listens but does not respond. A request waits for it once.
func TestLease_SilentNode(t *testing.T) {
	t.Parallel()
	address, name := anyServer(t), newName()
	a, b := openSharedPatient(t, address), openSharedPatient(t, address)
	b.Wait = time.Second
	l, m := newLimiter(a, name, 60, time.Hour), newLimiter(b, name, 60, time.Hour)
	(&simulated{node: a}).awaitHearing()
	admit(l, "ada", 5)
	a.forget()
	began := time.Now()
	if d := m.Allow("ada", 0); !d.Allowed || time.Since(began) < b.Wait/2 {
		t.Errorf("%+v after %v", d, time.Since(began))
	}
	command := b.command(t.Context(), request{name: m.name("ada"), most: 60, window: time.Hour, cost: 1})
	_ = b.client.Process(t.Context(), command)
	if r, err := readReply(command); err != nil || r.recalls {
		t.Errorf("%+v, %v: want a decision at once", r, err)
	}
}

// TestLease_GivenBack closes a node: nothing of its leases is lost.
func TestLease_GivenBack(t *testing.T) {
	t.Parallel()
	s := newSimulation(t, 1, 2, 60)
	for i := range 100 {
		s.take(s.nodes[0], strconv.Itoa(i), 5)
	}
	s.quiet()
	s.nodes[0].releaseAll()
	s.nodes[0].stop()
	for i := range 100 {
		if got := s.take(s.nodes[1], strconv.Itoa(i), 100); got != 55 {
			t.Fatalf("%d admitted after 5 at a node that has ended, want 55", got)
		}
	}
}

// TestLease_LimitLowered lowers the limit under a lease.
func TestLease_LimitLowered(t *testing.T) {
	t.Parallel()
	s := newSimulation(t, 1, 1, 60)
	n := s.nodes[0]
	s.take(n, "ada", 10)
	for i := range 20 {
		d := n.l.AllowUpTo("ada", s.clock.Load(), 1, 20)
		if want := i < 10; d.Allowed != want {
			t.Fatalf("request %d of 20: %+v", 10+i+1, d)
		}
	}
}

func TestLease_Refund(t *testing.T) {
	t.Parallel()
	s := newSimulation(t, 1, 2, 60)
	a, b := s.nodes[0], s.nodes[1]
	for range 200 {
		if d := a.l.Allow("ada", s.clock.Load()); !d.Allowed || d.Remaining != 59 {
			t.Fatalf("%+v", d)
		}
		a.l.Refund("ada")
		s.quiet()
	}
	if got := s.take(b, "ada", 100); got != 60 {
		t.Errorf("%d admitted by another node, want 60", got)
	}
}

// TestLease_AllocatesNothing is about a request that a lease admits.
func TestLease_AllocatesNothing(t *testing.T) {
	n := openSharedPatient(t, anyServer(t))
	(&simulated{node: n}).awaitHearing()
	l := newLimiter(n, newName(), 100_000, time.Hour)
	admit(l, "ada", 2)
	for range largestLease { // the report's room is kept
		l.Allow("ada", 0)
	}
	for n.posted.Load() > 0 {
		runtime.Gosched()
	}
	admit(l, "ada", largestLease) // a new lease, whole
	for n.posted.Load() > 0 {
		runtime.Gosched()
	}
	if got := testing.AllocsPerRun(100, func() { l.Allow("ada", 0) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkLease(b *testing.B) {
	n := openSharedPatient(b, anyServer(b))
	(&simulated{node: n}).awaitHearing()
	l := newLimiter(n, newName(), 1_000_000_000, time.Hour)
	b.ReportAllocs()
	for b.Loop() {
		l.Allow("ada", 0)
	}
}

// TestLease_RefusedWhileItGrows has a request that Redis refuses while another call may have put the rest of the limit
// on lease to the same node: that refusal is not final.
func TestLease_RefusedWhileItGrows(t *testing.T) {
	t.Parallel()
	s := newSimulation(t, 1, 1, 60)
	n := s.nodes[0]
	s.take(n, "ada", 2)
	e := n.l.leases.find("ada")
	if _, first, grows := e.begin(60); !first || grows {
		t.Fatalf("a call is under way: %t, %t", !first, grows)
	}
	e.leftNow(0, false) // requests have used up the rest meanwhile
	if _, second, grows := e.begin(60); second || !grows {
		t.Errorf("a second call about the lease: %t; the first may extend it: %t", second, grows)
	}
}

// TestLease_Bounded floods a node with clients: it keeps no more leases than it may, and the clients beyond are counted
// one by one.
func TestLease_Bounded(t *testing.T) {
	t.Parallel()
	n := openSharedPatient(t, anyServer(t))
	(&simulated{node: n}).awaitHearing()
	l := New(n.Redis, newName(), 60, time.Hour, 2*leaseShards, itself)
	for i := range 5 * leaseShards {
		if d := l.Allow(strconv.Itoa(i), 0); !d.Allowed || d.Remaining != 59 {
			t.Fatalf("client %d: %+v", i, d)
		}
	}
	leases := 0
	for part := range sweepParts {
		n.eachLease(part, func(*lease) bool {
			leases++
			return false
		})
	}
	if leases > 2*leaseShards {
		t.Errorf("%d leases, want at most %d", leases, 2*leaseShards)
	}
}
