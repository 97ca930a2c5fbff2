package sharedlimit

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// senders is how many round trips to one server are under way at a time. More would make smaller batches; with only
	// one, a lost reply would hold up every request.
	senders = 2
	// batchSize bounds what one round trip decides. A server takes a millisecond for that many, so the first of a burst
	// need not wait for the last.
	batchSize = 64
	// backgroundSize bounds what a round trip does that no request waits for: the server makes the others wait meanwhile.
	backgroundSize = 32
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

	mu         sync.Mutex
	waiting    []*call // guarded by mu
	background []*call // that no request waits for; guarded by mu
	posting    bool    // a sender is busy with those, and the others are for requests; guarded by mu
}

// call is one call of the script. The sender writes the result and then done, or passes it to finish; a caller that has
// stopped waiting reads neither.
type call struct {
	request   request
	abandoned atomic.Bool // the caller has decided without Redis

	reply  reply
	err    error
	done   chan struct{}
	timer  *time.Timer
	finish func(reply, error) // of a call in the background
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

// ask waits for the reply of Redis, at most so long.
func (l *lane) ask(q request, most time.Duration) (reply, error) {
	c := l.redis.calls.Get().(*call)
	c.request = q
	c.timer.Reset(most)
	l.mu.Lock()
	l.waiting = append(l.waiting, c)
	l.mu.Unlock()
	l.wakeSender()
	select {
	case <-c.done:
		c.timer.Stop()
		reply, err := c.reply, c.err
		l.redis.calls.Put(c)
		return reply, err
	case <-c.timer.C:
		c.abandoned.Store(true) // and not reused: a sender may hold it
		return reply{}, errLate
	}
}

// post makes a call in the background. finish gets the reply. An urgent call is one that a request at another node
// waits for.
func (l *lane) post(q request, urgent bool, finish func(reply, error)) {
	c := &call{request: q, finish: finish}
	l.mu.Lock()
	if urgent {
		l.waiting = append(l.waiting, c)
	} else {
		l.background = append(l.background, c)
	}
	l.mu.Unlock()
	l.wakeSender()
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
		batch, posting := l.take(buffer[:0])
		if len(batch) == 0 && !posting {
			select {
			case <-l.redis.open.Done():
				return
			case <-l.wake:
			}
			continue
		}
		if l.redis.Mode() == Shared {
			l.roundTrip(batch, posting)
		} else {
			for _, c := range batch {
				c.err = errLost
			}
		}
		if posting {
			l.mu.Lock()
			l.posting = false
			l.mu.Unlock()
		}
		for _, c := range batch {
			c.deliver()
		}
	}
}

// deliver passes the result on to who made the call.
func (c *call) deliver() {
	if c.finish != nil {
		c.finish(c.reply, c.err)
		return
	}
	c.done <- struct{}{}
}

// take appends the calls that have waited longest to the batch: those in the background unless another sender is busy
// with them, else those of requests. It wakes another sender if more are left.
func (l *lane) take(batch []*call) (taken []*call, posting bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.background) > 0 && !l.posting {
		l.posting, posting = true, true
		batch = takeFrom(&l.background, batch, backgroundSize)
	} else {
		batch = takeFrom(&l.waiting, batch, batchSize)
	}
	if len(l.waiting) > 0 || len(l.background) > 0 && !l.posting {
		l.wakeSender()
	}
	return batch, posting
}

// takeFrom moves calls from the front of a queue to the batch, until that is full. It leaves abandoned ones out.
func takeFrom(queue *[]*call, batch []*call, full int) []*call {
	taken := 0
	for _, c := range *queue {
		if len(batch) == full {
			break
		}
		taken++
		if !c.abandoned.Load() {
			batch = append(batch, c)
		}
	}
	left := copy(*queue, (*queue)[taken:])
	clear((*queue)[left:])
	*queue = (*queue)[:left]
	return batch
}

// roundTrip sends a whole batch at once, and judges by the replies whether Redis can be relied on. Calls that no
// request waits for have more time.
func (l *lane) roundTrip(batch []*call, posting bool) {
	wait := l.redis.Wait
	if posting {
		wait = max(wait, dialTimeout)
	}
	ctx, cancel := context.WithTimeout(l.redis.open, wait)
	defer cancel()
	sent := l.redis.since()
	commands := make([]redis.Cmder, len(batch))
	for i, c := range batch {
		commands[i] = l.redis.command(ctx, c.request)
	}
	sendAll(ctx, l.client.Load(), commands)
	l.redis.retryUndecided(ctx, commands)
	var late, failed error
	replied := false
	for i, c := range batch {
		c.reply, c.err = readReply(commands[i].(*redis.IntSliceCmd))
		switch {
		case c.err == nil:
			replied = true
		case isLate(c.err):
			late, c.err = c.err, errLate
		default:
			failed = c.err
		}
	}
	l.judge(sent, wait, replied, late, failed)
}

// judge makes the node fall back if a round trip shows that Redis is slow or away. sent is when the round trip began,
// and wait how long it was allowed to take.
func (l *lane) judge(sent, wait time.Duration, replied bool, late, failed error) {
	now := l.redis.since()
	if replied {
		l.lastReply.Store(int64(now))
	}
	if failed != nil {
		l.redis.epoch.Add(1) // the server may have restarted without its data; one that is only slow has not
		l.redis.fallBack(failed)
		return
	}
	if late == nil {
		l.lateTrips.Store(0)
		return
	}
	silent := l.lastReply.Load() < int64(sent)
	if silent && now-sent < wait+ownDelay || l.lateTrips.Add(1) >= maxLateTrips {
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
