package sharedlimit

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// listenPause is how often the subscription is checked while no message comes.
	listenPause = 5 * time.Second
	// recallPause is how long a request waits before it asks again whether other nodes have given their leases back:
	// somewhat more than they need.
	recallPause = 300 * time.Microsecond
)

// listen gives leases back that other nodes ask for, until the context ends. Without a subscription the node takes no
// leases.
func (r *Redis) listen(ctx context.Context) {
	pause := firstPause
	for {
		if r.subscribe(ctx) {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}

// subscribe listens until the subscription fails. It reports whether there was one.
func (r *Redis) subscribe(ctx context.Context) (subscribed bool) {
	defer func() {
		r.hears.Store(false)
		r.epoch.Add(1) // a server that was restarted, or replaced by its replica, ends the subscription
	}()
	subscription := r.client.Subscribe(ctx, recallChannel+r.id)
	stop := context.AfterFunc(ctx, func() { _ = subscription.Close() }) // a read does not end with the context
	defer func() {
		if stop() {
			_ = subscription.Close()
		}
	}()
	for pinged := false; ; {
		message, err := subscription.ReceiveTimeout(ctx, listenPause)
		switch message := message.(type) {
		case *redis.Subscription:
			subscribed = true
			r.hears.Store(true)
		case *redis.Message:
			if e := r.byName.find(message.Payload); e != nil {
				e.recall()
			}
		}
		switch {
		case err == nil:
			pinged = false
		case !isLate(err) || pinged || !subscribed || subscription.Ping(ctx) != nil:
			return subscribed
		default:
			pinged = true
		}
	}
}

// leaseSet is the leases of a limiter, in sweepParts parts.
type leaseSet interface {
	each(part int, f func(*lease) (forget bool))
}

// sweepRepeatedly looks after the leases until the context ends, one part after the other.
func (r *Redis) sweepRepeatedly(ctx context.Context) {
	ticks := time.NewTicker(sweepPause)
	defer ticks.Stop()
	for part := 0; ; part = (part + 1) % sweepParts {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			r.sweep(part)
		}
	}
}

// sweep looks after one part of all leases.
func (r *Redis) sweep(part int) {
	if r.Mode() != Shared {
		return // what they allow is not used meanwhile
	}
	now := r.now()
	r.eachLease(part, func(e *lease) bool { return e.sweep(now) })
}

// eachLease calls f for the leases of all limiters in one part, and forgets those for which it is true.
func (r *Redis) eachLease(part int, f func(*lease) bool) {
	r.tablesMu.Lock()
	tables := r.tables
	r.tablesMu.Unlock()
	for _, leases := range tables {
		leases.each(part, f)
	}
}

// addTable makes the leases of a limiter known.
func (r *Redis) addTable(leases leaseSet) {
	r.tablesMu.Lock()
	defer r.tablesMu.Unlock()
	r.tables = append(r.tables, leases)
}

// releaseAll gives all leases back, so that no client misses them when the node ends. It does not wait long for Redis.
func (r *Redis) releaseAll() {
	if r.Mode() != Shared {
		return
	}
	for part := range sweepParts {
		r.eachLease(part, func(e *lease) bool {
			e.release()
			return false
		})
	}
	late := time.NewTimer(dialTimeout)
	defer late.Stop()
	for r.posted.Load() > 0 {
		select {
		case <-r.delivered:
		case <-late.C:
			return
		}
	}
}

// post makes a call in the background, as lane.post does.
func (r *Redis) post(q request, urgent bool, finish func(reply, error)) {
	l, err := r.lane(q.name)
	if err != nil {
		r.fallBack(err)
		go finish(reply{}, err) // the caller may hold what finish needs
		return
	}
	r.posted.Add(1)
	l.post(q, urgent, func(reply reply, err error) {
		finish(reply, err)
		r.posted.Add(-1)
		select {
		case r.delivered <- struct{}{}:
		default:
		}
	})
}
