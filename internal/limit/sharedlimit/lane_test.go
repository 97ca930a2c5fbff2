package sharedlimit

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// newLane returns a lane without senders.
func newLane() *lane {
	r := &Redis{Wait: callTimeout, opened: time.Now(), log: slog.New(slog.DiscardHandler), lost: make(chan struct{}, 1)}
	r.calls.New = newCall
	r.shared.Store(true)
	return &lane{redis: r, wake: make(chan struct{}, 1)}
}

// TestLane_WaitIsBounded shows on a fake clock that a request waits callTimeout to the nanosecond, however many come,
// even if no sender takes its call.
func TestLane_WaitIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLane()
		for range 512 {
			go func() {
				began := time.Now()
				_, err := l.ask(request{name: "ada", most: 60, window: time.Minute, cost: 1}, l.redis.Wait)
				if took := time.Since(began); !errors.Is(err, errLate) || took != callTimeout {
					t.Errorf("error %v after %v", err, took)
				}
			}()
		}
		synctest.Wait()
		time.Sleep(callTimeout) // of the fake clock, as in the tests below: it takes no real time
		synctest.Wait()
		if batch, _ := l.take(nil); len(batch) != 0 || len(l.waiting) != 0 {
			t.Errorf("%d abandoned calls are sent, %d wait", len(batch), len(l.waiting))
		}
	})
}

func TestLane_TakesBatches(t *testing.T) {
	t.Parallel()
	l := newLane()
	for i := range 2*batchSize + 10 {
		c := newCall().(*call)
		c.request.most = i
		c.abandoned.Store(i == 0)
		l.waiting = append(l.waiting, c)
	}
	for _, want := range []struct{ first, size int }{
		{first: 1, size: batchSize},
		{first: 1 + batchSize, size: batchSize},
		{first: 1 + 2*batchSize, size: 9},
	} {
		batch, _ := l.take(nil)
		if len(batch) != want.size || batch[0].request.most != want.first {
			t.Errorf("%d from number %d, want %d from number %d", len(batch), batch[0].request.most, want.size, want.first)
		}
		select {
		case <-l.wake:
		default:
			if len(l.waiting) > 0 {
				t.Error("no sender is woken for the rest")
			}
		}
	}
}

// TestLane_LostRedisIsNotCalled shows that senders return calls that came in before the node fell back.
func TestLane_LostRedisIsNotCalled(t *testing.T) {
	t.Parallel()
	l := newLane()
	l.redis.open, l.redis.end = context.WithCancel(t.Context())
	l.redis.Wait = patience
	l.redis.fallBack(errLate)
	l.redis.senders.Go(l.send)
	_, err := l.ask(request{name: "ada", most: 60, window: time.Minute, cost: 1}, l.redis.Wait)
	if !errors.Is(err, errLost) {
		t.Errorf("error %v", err)
	}
	l.redis.end()
	l.redis.senders.Wait()
}

// trip is a round trip as judge sees it.
type trip struct {
	took         time.Duration
	replied      bool // to at least one of its calls
	late, failed error
}

func TestLane_Judge(t *testing.T) {
	t.Parallel()
	f := func(name string, want Mode, trips ...trip) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLane()
				for _, trip := range trips {
					time.Sleep(time.Second)
					sent := l.redis.since()
					time.Sleep(trip.took)
					l.judge(sent, callTimeout, trip.replied, trip.late, trip.failed)
				}
				if l.redis.Mode() != want {
					t.Errorf("mode %s, want %s", l.redis.Mode(), want)
				}
			})
		})
	}
	good := trip{took: time.Millisecond, replied: true}
	late := trip{took: callTimeout, late: errLate}
	partly := trip{took: callTimeout, replied: true, late: errLate}
	stalled := trip{took: callTimeout + ownDelay, late: errLate}
	refused := trip{took: time.Millisecond, replied: true, failed: errors.New("connection refused")}
	f("in time", Shared, good, good)
	f("silent", Local, good, late)
	f("an error other than a delay", Local, good, refused)
	f("some replies in time and some late", Shared, partly, partly, good, partly, partly)
	f("some late three times in a row", Local, partly, partly, partly)
	f("the node was late", Shared, stalled, good, stalled, stalled)
	f("the node was late three times in a row", Local, stalled, stalled, stalled)
}

// TestLane_AnotherReplyMeanwhile has two round trips under way: a late one does not matter if the other is in time.
func TestLane_AnotherReplyMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLane()
		time.Sleep(time.Second)
		sent := l.redis.since()
		time.Sleep(time.Millisecond)
		l.judge(sent, callTimeout, true, nil, nil)
		time.Sleep(callTimeout)
		l.judge(sent, callTimeout, false, errLate, nil)
		if l.redis.Mode() != Shared {
			t.Error("one late reply among others made the node fall back")
		}
	})
}
