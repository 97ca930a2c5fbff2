package sharedlimit

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const loadCallers = 8

// load is a steady load of some thousand calls a second, each for another client. No client comes near its limit, so
// no call may be refused. That a call ends in time is shown with a fake clock by TestLane_WaitIsBounded and
// TestLimiter_WaitIsBounded.
type load struct {
	node    *node
	stop    atomic.Bool
	calls   atomic.Int64
	done    chan struct{} // gets one for each call while the test receives
	refused atomic.Int64
	callers sync.WaitGroup
}

func startLoad(t *testing.T, n *node) *load {
	w := &load{node: n, done: make(chan struct{})}
	t.Cleanup(w.finish)
	l := newLimiter(n, newName(), 60, time.Hour)
	for caller := range loadCallers {
		w.callers.Go(func() {
			pace := time.NewTicker(time.Millisecond)
			defer pace.Stop()
			for i := 0; !w.stop.Load(); i++ {
				<-pace.C
				if !l.Allow(strconv.Itoa(caller)+" "+strconv.Itoa(i), 0).Allowed {
					w.refused.Add(1)
				}
				w.calls.Add(1)
				select {
				case w.done <- struct{}{}:
				default:
				}
			}
		})
	}
	return w
}

// awaitShared returns once the node uses Redis and Redis has decided that many further calls. On a busy machine the
// node may fall back and return to Redis in between.
func (w *load) awaitShared(calls int64) {
	for wanted := w.node.Counts().Shared + calls; w.node.Counts().Shared < wanted || w.node.Mode() != Shared; {
		<-w.done
	}
}

// awaitLocal returns once the node has decided that many calls in a row without Redis, and never returned to Redis
// meanwhile. It checks that none of them waited for Redis, except for those that were under way when the node fell
// back.
func (w *load) awaitLocal(t *testing.T, calls int) {
	t.Helper()
	for {
		for w.node.Mode() != Local {
			<-w.done
		}
		before := w.node.Counts()
		for range calls + loadCallers { // those under way may have been decided before
			<-w.done
		}
		mode, after := w.node.Mode(), w.node.Counts()
		if mode != Local || after.Fallbacks != before.Fallbacks {
			continue // a probe that began before the fault succeeded after it
		}
		if late := after.Late - before.Late; late > loadCallers {
			t.Errorf("%d requests waited for Redis after the node had fallen back", late)
		}
		if alone := after.Alone - before.Alone; alone < int64(calls) {
			t.Errorf("the node decided %d calls alone, want %d", alone, calls)
		}
		return
	}
}

func (w *load) finish() {
	w.stop.Store(true)
	w.callers.Wait()
}

// end stops the load. Every call must have been admitted, and decided either by Redis or by the node.
func (w *load) end(t *testing.T) {
	t.Helper()
	w.finish()
	if n := w.refused.Load(); n > 0 {
		t.Errorf("%d of %d requests were refused", n, w.calls.Load())
	}
	if c := w.node.Counts(); c.Fallbacks == 0 || c.Shared+c.Alone != w.calls.Load() {
		t.Errorf("%d calls, %+v", w.calls.Load(), c)
	}
}

// fail puts the node under load, lets Redis fail and come back, and checks what happens to the requests.
func fail(t *testing.T, n *node, begin, end func()) {
	t.Helper()
	w := startLoad(t, n)
	w.awaitShared(200)
	begin()
	w.awaitLocal(t, 500)
	end()
	w.awaitShared(200)
	w.end(t)
}

func TestFallback_KilledUnderLoad(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	fail(t, openShared(t, s.address()), s.kill, s.restart)
}

// TestFallback_Stopped is about a Redis that accepts connections but does not respond.
func TestFallback_Stopped(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	fail(t, openShared(t, s.address()), func() { s.signal(syscall.SIGSTOP) }, func() { s.signal(syscall.SIGCONT) })
}

// TestFallback_Overshoot shows the most that a client can get while nodes fall back and return: the limit of each node.
func TestFallback_Overshoot(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	n, m := openSharedPatient(t, s.address()), openSharedPatient(t, s.address())
	name := newName()
	a, b := newLimiter(n, name, 60, time.Hour), newLimiter(m, name, 60, time.Hour)
	f := func(l *Limiter[string], want int, when string) {
		t.Helper()
		if got := admit(l, "ada", 200); got != want {
			t.Fatalf("%s: %d admitted, want %d", when, got, want)
		}
	}
	if got := admit(a, "ada", 40); got != 40 {
		t.Fatalf("%d of 40 admitted", got)
	}
	f(b, 20, "shared, the second node")
	f(a, 0, "shared, the first node")
	s.kill()
	f(a, 20, "away, the first node")
	f(b, 40, "away, the second node")
	for i, node := range []*node{n, m} {
		if node.Mode() != Local || node.Counts().Fallbacks != 1 {
			t.Fatalf("node %d: mode %s, %+v; want one fallback", i+1, node.Mode(), node.Counts())
		}
	}
	s.restart()
	n.awaitMode(Shared)
	m.awaitMode(Shared)
	f(a, 0, "back and empty, the first node")
	f(b, 0, "back and empty, the second node")
	if n.Mode() != Shared || m.Mode() != Shared {
		t.Fatalf("modes %s and %s", n.Mode(), m.Mode())
	}
}

func TestOpen_AwayFromTheStart(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.kill()
	n := openNode(t, s.address())
	if n.Mode() != Local || !strings.Contains(n.log.text(), "until Redis answers") {
		t.Fatalf("mode %s, log %s", n.Mode(), n.log.text())
	}
	if got := admit(newLimiter(n, newName(), 60, time.Hour), "ada", 100); got != 60 {
		t.Fatalf("%d admitted, want 60", got)
	}
	s.restart()
	n.awaitMode(Shared)
	n.awaitLine("shared through Redis again")
}

func TestOpen_Passwords(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--requirepass", "the-right-one")
	host := "127.0.0.1:" + s.port
	t.Run("right", func(t *testing.T) {
		openShared(t, "redis://:the-right-one@"+host)
	})
	t.Run("wrong", func(t *testing.T) {
		n := openPatient(t, "redis://default:the-wrong-one@"+host)
		log := n.log.text()
		if n.Mode() != Local || !strings.Contains(log, "until Redis answers") || !strings.Contains(log, "WRONGPASS") {
			t.Errorf("mode %s, log %s", n.Mode(), log)
		}
		if strings.Contains(log, "the-wrong-one") {
			t.Errorf("the log has the password: %s", log)
		}
	})
}
