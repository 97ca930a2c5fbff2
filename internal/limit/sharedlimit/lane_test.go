package sharedlimit

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// newLane is a lane that nobody sends on.
func newLane() *lane {
	r := &Redis{Wait: callTimeout, opened: time.Now(), log: slog.New(slog.DiscardHandler), lost: make(chan struct{}, 1)}
	r.questions.New = newQuestion
	r.shared.Store(true)
	return &lane{redis: r, wake: make(chan struct{}, 1)}
}

// TestLane_WaitIsBounded shows on a clock of its own that a request waits callTimeout to the nanosecond, however many come, even
// if nobody takes its question.
func TestLane_WaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane()
		for range 512 {
			go func() {
				began := time.Now()
				if _, err := l.ask("ada", 60, time.Minute); !errors.Is(err, errLate) || time.Since(began) != callTimeout {
					t.Errorf("error %v after %v", err, time.Since(began))
				}
			}()
		}
		synctest.Wait()
		time.Sleep(callTimeout) // of the bubble's clock, as in the tests below: nobody waits
		synctest.Wait()
		if batch := l.take(nil); len(batch) != 0 || len(l.waiting) != 0 {
			t.Errorf("%d questions of callers who have left are asked, %d wait", len(batch), len(l.waiting))
		}
	})
}

func TestLane_TakesBatches(t *testing.T) {
	l := newLane()
	for i := range 2*batchSize + 10 {
		q := newQuestion().(*question)
		q.most = i
		q.left.Store(i == 0)
		l.waiting = append(l.waiting, q)
	}
	for _, want := range []struct{ first, size int }{{1, batchSize}, {1 + batchSize, batchSize}, {1 + 2*batchSize, 9}} {
		batch := l.take(nil)
		if len(batch) != want.size || batch[0].most != want.first {
			t.Errorf("%d from the %dth on, want %d from the %dth", len(batch), batch[0].most, want.size, want.first)
		}
		select {
		case <-l.wake:
		default:
			if len(l.waiting) > 0 {
				t.Error("nobody is woken for the rest")
			}
		}
	}
}

// TestLane_LostRedisIsNotAsked has the senders hand back what came in before the node fell back.
func TestLane_LostRedisIsNotAsked(t *testing.T) {
	l := newLane()
	l.redis.open, l.redis.end = context.WithCancel(t.Context())
	l.redis.Wait = time.Minute
	l.redis.fallBack(errLate)
	l.redis.senders.Go(l.send)
	if _, err := l.ask("ada", 60, time.Minute); !errors.Is(err, errLost) {
		t.Errorf("error %v", err)
	}
	l.redis.end()
	l.redis.senders.Wait()
}

// A trip is a round trip as judge sees it: how long it took, and what came of it.
type trip struct {
	took         time.Duration
	answered     bool // somebody in it was
	late, failed error
}

func TestLane_Judge(t *testing.T) {
	refused := errors.New("connection refused")
	good, late := trip{time.Millisecond, true, nil, nil}, trip{callTimeout, false, errLate, nil}
	partly, stalled := trip{callTimeout, true, errLate, nil}, trip{callTimeout + ownDelay, false, errLate, nil}
	f := func(what string, want Mode, trips ...trip) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			l := newLane()
			for _, trip := range trips {
				time.Sleep(time.Second)
				sent := l.redis.since()
				time.Sleep(trip.took)
				l.judge(sent, trip.answered, trip.late, trip.failed)
			}
			if l.redis.Mode() != want {
				t.Errorf("%s: mode %s, want %s", what, l.redis.Mode(), want)
			}
		})
	}
	f("answered", Shared, good, good)
	f("silent", Local, good, late)
	f("an error that is no delay", Local, good, trip{time.Millisecond, true, nil, refused})
	f("some answers came, some late", Shared, partly, partly, good, partly, partly)
	f("thrice in a row", Local, partly, partly, partly)
	f("the node itself was late", Shared, stalled, good, stalled, stalled)
	f("the node itself was late, thrice in a row", Local, stalled, stalled, stalled)
}

// TestLane_AnotherAnswerMeanwhile has two round trips at a time: the one that is late says nothing if the other is answered.
func TestLane_AnotherAnswerMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane()
		time.Sleep(time.Second)
		sent := l.redis.since()
		time.Sleep(time.Millisecond)
		l.judge(sent, true, nil, nil)
		time.Sleep(callTimeout)
		l.judge(sent, false, errLate, nil)
		if l.redis.Mode() != Shared {
			t.Error("one late answer among others turned the node")
		}
	})
}
