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
	// senders is how many round trips to one server are under way at a time. More would make smaller batches; with only
	// one, a lost reply would hold up every request.
	senders = 2
	// batchSize bounds what one round trip decides. A server takes a millisecond for that many, so the first of a burst
	// need not wait for the last.
	batchSize = 64
	// ownDelay is how late a node may notice the end of a wait and still blame Redis for it.
	ownDelay = 5 * time.Millisecond
	// maxLateTrips is how many round trips in a row may be late although other replies came meanwhile.
	maxLateTrips = 3
)

// lane is the way to one Redis server: calls that arrive while round trips are under way are collected and sent
// together.
type lane struct {
	redis     *Redis
	client    atomic.Pointer[redis.Client] // a cluster's client may make a new one for the same server
	wake      chan struct{}                // holds one entry when calls may be waiting
	lastReply atomic.Int64                 // when the server last replied, on the clock of Redis.since
	lateTrips atomic.Int64                 // late round trips since the last that was in time

	mu      sync.Mutex
	waiting []*call // guarded by mu
}

// call is the call of the script for one request. The sender writes the result and then done; a caller that has
// stopped waiting reads neither.
type call struct {
	name      string
	request   request
	abandoned atomic.Bool // the caller has decided without Redis

	decision limit.Decision
	err      error
	done     chan struct{}
	timer    *time.Timer
}

func newCall() any {
	c := &call{done: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	c.timer.Stop()
	return c
}

var (
	errLate = errors.New("Redis did not answer in time") //nolint:staticcheck // a name
	errLost = errors.New("Redis is lost")                //nolint:staticcheck // a name
)

// lane returns the lane to the server that has the window of that name.
func (r *Redis) lane(name string) (*lane, error) {
	client, single := r.client.(*redis.Client)
	if !single {
		var err error // no call over the network: the client knows the cluster from the probe
		client, err = r.client.(*redis.ClusterClient).MasterForKey(r.open, name)
		if err != nil {
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

// allow waits for the decision of Redis, at most as long as a request may.
func (l *lane) allow(name string, q request) (limit.Decision, error) {
	c := l.redis.calls.Get().(*call)
	c.name, c.request = name, q
	c.timer.Reset(l.redis.Wait)
	l.mu.Lock()
	l.waiting = append(l.waiting, c)
	l.mu.Unlock()
	l.wakeSender()
	select {
	case <-c.done:
		c.timer.Stop()
		decision, err := c.decision, c.err
		l.redis.calls.Put(c)
		return decision, err
	case <-c.timer.C:
		c.abandoned.Store(true) // and not reused: a sender may hold it
		return limit.Decision{}, errLate
	}
}

// wakeSender wakes a sender, if one sleeps.
func (l *lane) wakeSender() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// send makes one round trip after another while calls are waiting.
func (l *lane) send() {
	var buffer [batchSize]*call
	for {
		batch := l.take(buffer[:0])
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
			for _, c := range batch {
				c.err = errLost
			}
		}
		for _, c := range batch {
			c.done <- struct{}{}
		}
	}
}

// take appends the calls that have waited longest to the batch, and wakes another sender if more are left.
func (l *lane) take(batch []*call) []*call {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := 0
	for _, c := range l.waiting {
		if len(batch) == batchSize {
			break
		}
		taken++
		if !c.abandoned.Load() {
			batch = append(batch, c)
		}
	}
	left := copy(l.waiting, l.waiting[taken:])
	clear(l.waiting[left:])
	l.waiting = l.waiting[:left]
	if left > 0 {
		l.wakeSender()
	}
	return batch
}

// roundTrip sends a whole batch at once, and judges by the replies whether Redis can be relied on.
func (l *lane) roundTrip(batch []*call) {
	ctx, cancel := context.WithTimeout(l.redis.open, l.redis.Wait)
	defer cancel()
	sent := l.redis.since()
	commands := make([]redis.Cmder, len(batch))
	for i, c := range batch {
		commands[i] = l.redis.command(ctx, c.name, c.request)
	}
	sendAll(ctx, l.client.Load(), commands)
	l.redis.retryUndecided(ctx, commands)
	var late, failed error
	replied := false
	for i, c := range batch {
		c.decision, c.err = decision(commands[i].(*redis.IntSliceCmd))
		switch {
		case c.err == nil:
			replied = true
		case isLate(c.err):
			late, c.err = c.err, errLate
		default:
			failed = c.err
		}
	}
	l.judge(sent, replied, late, failed)
}

// judge makes the node fall back if a round trip shows that Redis is slow or away. sent is when the round trip began.
func (l *lane) judge(sent time.Duration, replied bool, late, failed error) {
	now := l.redis.since()
	if replied {
		l.lastReply.Store(int64(now))
	}
	if failed != nil {
		l.redis.fallBack(failed)
		return
	}
	if late == nil {
		l.lateTrips.Store(0)
		return
	}
	silent := l.lastReply.Load() < int64(sent)
	if silent && now-sent < l.redis.Wait+ownDelay || l.lateTrips.Add(1) >= maxLateTrips {
		l.lateTrips.Store(0)
		l.redis.fallBack(late)
	}
}

func isLate(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, redis.ErrPoolTimeout) {
		return true
	}
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}
