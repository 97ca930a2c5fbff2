package sharedlimit

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/assaydata/assay/internal/limit"
)

const (
	// senders is how many round trips to one server are under way at a time. More would make smaller batches; with one alone, an
	// answer that is lost on the way would hold up everybody.
	senders = 2
	// batchSize bounds what one round trip decides. A server takes a millisecond for so many, so the first of a burst need not
	// wait for the last.
	batchSize = 64
	// ownDelay is by how much a node may notice the end of a wait too late, and still blame Redis for it.
	ownDelay = 5 * time.Millisecond
	// lateInRow is how many round trips may be late one after another, though answers came meanwhile.
	lateInRow = 3
)

// lane is the way to one Redis server: requests that come while round trips are under way gather, and go out together.
type lane struct {
	redis  *Redis
	client atomic.Pointer[redis.Client] // a cluster's client may make a new one for the same server
	wake   chan struct{}                // holds one when there may be somebody waiting
	heard  atomic.Int64                 // when the server last answered, on the clock of Redis.since
	late   atomic.Int64                 // round trips that were late since the last that was not

	mu      sync.Mutex
	waiting []*question // guarded by mu
}

// question is one request's. The sender writes the answer and then done; a caller who has left reads neither.
type question struct {
	name   string
	most   int
	window time.Duration
	left   atomic.Bool // the caller has decided without Redis

	answer limit.Decision
	err    error
	done   chan struct{}
	timer  *time.Timer
}

func newQuestion() any {
	q := &question{done: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	q.timer.Stop()
	return q
}

var (
	errLate = errors.New("Redis did not answer in time") //nolint:staticcheck // a name
	errLost = errors.New("Redis is lost")                //nolint:staticcheck // a name
)

// lane is the one to the server that has the window of that name.
func (r *Redis) lane(name string) (*lane, error) {
	client, single := r.client.(*redis.Client)
	if !single {
		var err error // it knows the cluster from the probe, and asks nobody
		if client, err = r.client.(*redis.ClusterClient).MasterForKey(r.open, name); err != nil {
			return nil, err
		}
	}
	address := client.Options().Addr
	known, ok := r.lanes.Load(address)
	if !ok {
		known = r.newLane(address)
	}
	l := known.(*lane)
	if l.client.Load() != client {
		l.client.Store(client)
	}
	return l, nil
}

func (r *Redis) newLane(address string) any {
	l := &lane{redis: r, wake: make(chan struct{}, 1)}
	known, other := r.lanes.LoadOrStore(address, l)
	if !other {
		for range senders {
			r.senders.Go(l.send)
		}
	}
	return known
}

// ask waits for the answer of Redis, at most as long as a request may.
func (l *lane) ask(name string, most int, window time.Duration) (limit.Decision, error) {
	q := l.redis.questions.Get().(*question)
	q.name, q.most, q.window = name, most, window
	q.timer.Reset(l.redis.Wait)
	l.mu.Lock()
	l.waiting = append(l.waiting, q)
	l.mu.Unlock()
	l.rouse()
	select {
	case <-q.done:
		q.timer.Stop()
		answer, err := q.answer, q.err
		l.redis.questions.Put(q)
		return answer, err
	case <-q.timer.C:
		q.left.Store(true) // and not used again: a sender may hold it
		return limit.Decision{}, errLate
	}
}

// rouse wakes a sender, if one sleeps.
func (l *lane) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// send makes one round trip after the other while anybody waits.
func (l *lane) send() {
	var room [batchSize]*question
	for {
		batch := l.take(room[:0])
		if len(batch) == 0 {
			select {
			case <-l.redis.open.Done():
				return
			case <-l.wake:
			}
			continue
		}
		if l.redis.Mode() == Shared {
			l.roundTrip(batch)
		} else {
			for _, q := range batch {
				q.err = errLost
			}
		}
		for _, q := range batch {
			q.done <- struct{}{}
		}
	}
}

// take appends those who have waited longest to the batch, and sees to it that another sender comes for the rest.
func (l *lane) take(batch []*question) []*question {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := 0
	for _, q := range l.waiting {
		if len(batch) == batchSize {
			break
		}
		taken++
		if !q.left.Load() {
			batch = append(batch, q)
		}
	}
	left := copy(l.waiting, l.waiting[taken:])
	clear(l.waiting[left:])
	l.waiting = l.waiting[:left]
	if left > 0 {
		l.rouse()
	}
	return batch
}

// roundTrip asks for a whole batch at once, and judges by the answers whether Redis can be relied on.
func (l *lane) roundTrip(batch []*question) {
	ctx, cancel := context.WithTimeout(l.redis.open, l.redis.Wait)
	defer cancel()
	sent := l.redis.since()
	commands := make([]redis.Cmder, len(batch))
	for i, q := range batch {
		commands[i] = l.redis.command(ctx, q.name, q.most, q.window)
	}
	sendAll(ctx, l.client.Load(), commands)
	l.redis.askAgain(ctx, commands)
	var late, failed error
	answered := false
	for i, q := range batch {
		q.answer, q.err = decision(commands[i].(*redis.IntSliceCmd))
		switch {
		case q.err == nil:
			answered = true
		case isLate(q.err):
			late, q.err = q.err, errLate
		default:
			failed = q.err
		}
	}
	l.judge(sent, answered, late, failed)
}

// judge turns the node to its own limiters if a round trip that began then tells that Redis is slow or away.
func (l *lane) judge(sent time.Duration, answered bool, late, failed error) {
	now := l.redis.since()
	if answered {
		l.heard.Store(int64(now))
	}
	if failed != nil {
		l.redis.fallBack(failed)
		return
	}
	if late == nil {
		l.late.Store(0)
		return
	}
	silent := l.heard.Load() < int64(sent)
	if silent && now-sent < l.redis.Wait+ownDelay || l.late.Add(1) >= lateInRow {
		l.late.Store(0)
		l.redis.fallBack(late)
	}
}

func isLate(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout() || errors.Is(err, redis.ErrPoolTimeout)
}
