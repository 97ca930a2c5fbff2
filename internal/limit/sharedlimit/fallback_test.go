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

// longestWait is what a request may wait for a Redis that is lost: 20 ms, and what a busy machine adds. Without the deadline of a
// call it would be dialTimeout, several times as long.
const longestWait = 20*time.Millisecond + 200*time.Millisecond

const loadCallers = 8

// load is many clients, some thousand calls a second: as many as the machine can do would measure its scheduler. None of them
// comes near its limit, so none may be refused.
type load struct {
	stop    atomic.Bool
	calls   atomic.Int64
	done    chan struct{} // takes one for each call while somebody listens
	refused atomic.Int64
	longest atomic.Int64
	late    time.Duration // the most that the machine let somebody wait who asked for nothing; read after the end
	callers sync.WaitGroup
}

func startLoad(l *Limiter[string]) *load {
	w := &load{done: make(chan struct{})}
	w.callers.Go(func() {
		pace := time.NewTicker(time.Millisecond)
		defer pace.Stop()
		for last := time.Now(); !w.stop.Load(); last = time.Now() {
			<-pace.C
			w.late = max(w.late, time.Since(last))
		}
	})
	for caller := range loadCallers {
		w.callers.Go(func() {
			pace := time.NewTicker(time.Millisecond)
			defer pace.Stop()
			for i := 0; !w.stop.Load(); i++ {
				<-pace.C
				began := time.Now()
				if !l.Allow(strconv.Itoa(caller)+" "+strconv.Itoa(i), 0).Allowed {
					w.refused.Add(1)
				}
				took := int64(time.Since(began))
				for most := w.longest.Load(); took > most && !w.longest.CompareAndSwap(most, took); most = w.longest.Load() {
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

// more returns once at least so many further calls have been answered.
func (w *load) more(calls int) {
	for range calls {
		<-w.done
	}
}

func (w *load) end(t *testing.T) {
	t.Helper()
	w.stop.Store(true)
	w.callers.Wait()
	t.Logf("%d calls, the longest took %v; the machine was late by %v", w.calls.Load(), time.Duration(w.longest.Load()), w.late)
	if n := w.refused.Load(); n > 0 {
		t.Errorf("%d of %d requests were refused", n, w.calls.Load())
	}
	if longest := time.Duration(w.longest.Load()); longest > longestWait+2*w.late {
		t.Errorf("a request took %v, allowed is %v", longest, longestWait+2*w.late)
	}
}

func TestFallback_KilledUnderLoad(t *testing.T) {
	s := startServer(t)
	n := openShared(t, s.address())
	w := startLoad(newLimiter(n, newName(), 60, time.Minute))
	w.more(500)
	s.kill()
	n.hears(t, "Redis is slow or away")
	w.more(500)
	if !s.start() {
		t.Fatal("redis-server does not start again")
	}
	n.hears(t, "shared through Redis again")
	w.more(500)
	w.end(t)
	if n.Counts().Fallbacks == 0 {
		t.Error("no fallback was counted")
	}
}

// TestFallback_Stopped is about a Redis that is there but does not answer: connections are made, and then nothing comes.
func TestFallback_Stopped(t *testing.T) {
	s := startServer(t)
	n := openShared(t, s.address())
	w := startLoad(newLimiter(n, newName(), 60, time.Minute))
	w.more(500)
	s.signal(syscall.SIGSTOP)
	n.hears(t, "Redis is slow or away")
	w.more(500)
	s.signal(syscall.SIGCONT)
	n.hears(t, "shared through Redis again")
	w.more(500)
	w.end(t)
}

// TestFallback_Overshoot is the most that a client can get while nodes change over: the limit of each.
func TestFallback_Overshoot(t *testing.T) {
	s := startServer(t)
	n, m := openShared(t, s.address()).patient(), openShared(t, s.address()).patient()
	name := newName()
	a, b := newLimiter(n, name, 60, time.Minute), newLimiter(m, name, 60, time.Minute)
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
	if n.Mode() != Local || m.Mode() != Local || n.Counts().Fallbacks != 1 || m.Counts().Fallbacks != 1 {
		t.Fatalf("modes %s and %s, fallbacks %d and %d", n.Mode(), m.Mode(), n.Counts().Fallbacks, m.Counts().Fallbacks)
	}
	if !s.start() {
		t.Fatal("redis-server does not start again")
	}
	n.hears(t, "shared through Redis again")
	m.hears(t, "shared through Redis again")
	f(a, 0, "back and empty, the first node")
	f(b, 0, "back and empty, the second node")
	if n.Mode() != Shared || m.Mode() != Shared {
		t.Fatalf("modes %s and %s", n.Mode(), m.Mode())
	}
}

func TestOpen_AwayFromTheStart(t *testing.T) {
	s := startServer(t)
	s.kill()
	n := openNode(t, s.address())
	if n.Mode() != Local {
		t.Fatalf("mode %s", n.Mode())
	}
	n.hears(t, "until Redis answers")
	if got := admit(newLimiter(n, newName(), 60, time.Minute), "ada", 100); got != 60 {
		t.Fatalf("%d admitted, want 60", got)
	}
	if !s.start() {
		t.Fatal("redis-server does not start again")
	}
	n.hears(t, "shared through Redis again")
	if n.Mode() != Shared {
		t.Fatalf("mode %s", n.Mode())
	}
}

func TestOpen_Passwords(t *testing.T) {
	s := startServer(t, "--requirepass", "the-right-one")
	host := "127.0.0.1:" + s.port
	if n := openShared(t, "redis://:the-right-one@"+host); n.Mode() != Shared {
		t.Errorf("the right password: mode %s", n.Mode())
	}
	n := openNode(t, "redis://default:the-wrong-one@"+host)
	if line := n.hears(t, "until Redis answers"); n.Mode() != Local || strings.Contains(line, "the-wrong-one") || !strings.Contains(line, "WRONGPASS") {
		t.Errorf("the wrong password: mode %s, log %s", n.Mode(), line)
	}
}
