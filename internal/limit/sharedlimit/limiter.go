// Package sharedlimit counts the requests of a client on all nodes together, in Redis, and on this node alone while
// Redis is slow or away.
//
// # One window
//
// Each client has one window in Redis, and one script (window.lua) decides and counts in one step. The rule is that of
// package limit: a list of the times of admitted requests, so that no span of the window admits one too many. The times
// are those of the Redis server, so the nodes' clocks do not matter. The server deletes unused windows. Names are
// hashed: Redis shows no address and no account, but a hash of an IPv4 address can be found by trying all of them.
//
// # Leases
//
// Most requests do not call Redis. With a client's first request a node takes a lease: so many more requests, at most a
// quarter of the limit, that count as used in Redis before the node admits them. The node then admits them by itself,
// and tells Redis in the background when it did so, before the lease is used up or ends. Redis enters the true times
// into the window, and extends the lease. So the window and the leases together are within the limit at any moment, and
// what was admitted stays in the window for its whole span: no span of the window admits one too many.
//
// When another node sees the client, the script asks the nodes that have leases to give them back, by a message to
// each, and the other node repeats its call a moment later. So a client may move between nodes at any time, and is
// admitted and refused as by a single node. A client that is spread over several nodes has no lease, or under a high
// limit small ones, a 64th of what it has left, which are asked for only when they matter.
//
// A lease lasts a minute at most. A node stops using it an eighth earlier on its own clock, which therefore may run
// faster or slower but is never compared with another. If a node dies, what it had on lease counts as used until the
// lease ends and for one window more: its clients lose that much, and no client gets too much. Leases are void when the
// connection to Redis is lost, which may have lost its data.
//
// # Batches
//
// A request that needs Redis does not make its own round trip. Each server has a lane with a few senders, and calls
// that arrive while the senders are busy are sent together. So a burst of hundreds costs a handful of round trips, and
// no request needs a connection.
//
// # Falling back
//
// A request waits at most callTimeout for Redis, in the queue and under way together; then the node's own limiters
// decide. That alone does not mean that Redis is lost: in a burst or on a lossy network, one reply among many may be
// late. The node falls back to its own limiters
//
//   - when a round trip fails: refused, reset, or an error as the reply;
//   - when a round trip takes longer than callTimeout and that server has sent nothing else meanwhile, unless the
//     node noticed so late that it must have been too busy to read the reply;
//   - when maxLateTrips round trips have been late one after another.
//
// Waiting requests are then released, and later ones do not call Redis until a probe in the background has been
// answered in time. So no client is locked out, and a failure delays only the requests that were under way.
//
// The node's own limiters also count what is admitted by Redis or by lease through this node, and a request must pass
// both. Normally they agree, because Redis counts all that they count, and a client that floods one node is refused
// there without a call to Redis. It matters around a failure: a client never gets more than the limit from one node in
// any window, whether Redis, the node or both counted it. So while nodes fall back or return, a client can get at most
// the limit times the number of nodes in a window.
package sharedlimit

import (
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/assaydata/assay/internal/limit"
)

// keyPrefix begins the names of all windows. The number is that of the format: a node that does not know it would fail.
const keyPrefix = "assay:limit:2:"

// Limiter admits at most limit requests of each key in any span of window, on all nodes that use the same Redis. It
// is safe for concurrent use.
type Limiter[K comparable] struct {
	local  *limit.Limiter[K]
	leases *table[K] // nil without Redis
	redis  *Redis
	prefix string
	text   func(K) string
}

// New makes a limiter. Nodes share the windows of limiters with the same name; text must differ between keys. With a
// nil Redis the node counts alone. The rest is as with limit.New; maxKeys bounds what this node remembers.
func New[K comparable](
	redis *Redis, name string, most int, window time.Duration, maxKeys int, text func(K) string,
) *Limiter[K] {
	l := &Limiter[K]{
		local:  limit.New[K](most, window, maxKeys, nil),
		redis:  redis,
		prefix: keyPrefix + name + ":",
		text:   text,
	}
	if redis != nil {
		l.leases = newTable[K](redis, l.local.Window(), maxKeys)
		redis.addTable(l.leases)
	}
	return l
}

// Allow decides on a request of key at now, in nanoseconds of this node's monotonic clock, and counts it if it is
// admitted.
func (l *Limiter[K]) Allow(key K, now int64) limit.Decision { return l.AllowMany(key, now, 1) }

// AllowMany is Allow for a request that counts as cost requests, which are admitted together or not at all. The cost is
// at most the limit.
func (l *Limiter[K]) AllowMany(key K, now int64, cost int) limit.Decision {
	return l.AllowUpTo(key, now, cost, l.local.Limit())
}

// AllowUpTo is AllowMany for a key with a limit of its own.
func (l *Limiter[K]) AllowUpTo(key K, now int64, cost, most int) limit.Decision {
	if l.redis.Mode() == Local {
		l.redis.countAlone(nil)
		return l.local.AllowUpTo(key, now, cost, most)
	}
	e := l.leases.find(key)
	if d, ok := l.spend(e, key, now, cost, most); ok {
		return d
	}
	here, refused := l.local.RefusedUpTo(key, now, cost, most)
	if refused {
		return here
	}
	name := ""
	if e != nil {
		name = e.name
	} else {
		name = l.name(key)
		e = l.leases.open(key, name, most)
	}
	return l.ask(e, key, now, request{name: name, most: most, window: l.local.Window(), cost: cost})
}

// spend admits a request by a lease, which may be nil. The decision is that of the node's own limiter if that knows all
// requests of the client.
func (l *Limiter[K]) spend(e *lease, key K, now int64, cost, most int) (limit.Decision, bool) {
	if e == nil {
		return limit.Decision{}, false
	}
	d, alone, fresh, ok := e.spend(cost, most)
	if !ok {
		return d, false
	}
	here := l.local.AllowUpTo(key, now, cost, most)
	if !here.Allowed {
		e.giveBack(cost)
		return here, true
	}
	l.redis.counts.shared.Add(1)
	if fresh {
		alone = here.Remaining <= d.Remaining
		e.setAlone(alone)
	}
	if alone || here.Remaining < d.Remaining || d.Reset <= 0 {
		d.Remaining, d.Reset = min(here.Remaining, d.Remaining), here.Reset
		if alone {
			d.Remaining = here.Remaining
		}
	}
	return d, true
}

// ask lets Redis decide on a request, together with what there is to say about the client's lease, which may be nil.
func (l *Limiter[K]) ask(e *lease, key K, now int64, q request) limit.Decision {
	for began := time.Now(); ; {
		var settles, grows bool
		q.lease = settlement{}
		if e != nil {
			q.lease, settles, grows = e.begin(q.most)
		}
		waited := time.Since(began)
		q.hurry = waited > l.redis.Wait/3*2
		sent := l.redis.now()
		r, err := l.redis.ask(q, l.redis.Wait-waited)
		if settles {
			e.finish(sent, r, err)
		}
		switch {
		case err != nil:
			l.redis.countAlone(err)
			return l.local.AllowUpTo(key, now, q.cost, q.most)
		case r.recalls:
			time.Sleep(recallPause)
		case !r.Allowed && grows: // what it lacks may just have been put on lease to this node
		default:
			return l.decide(e, key, now+int64(time.Since(began)), q, r, settles)
		}
		if d, ok := l.spend(e, key, now, q.cost, q.most); ok {
			return d
		}
	}
}

// decide counts what Redis has admitted.
func (l *Limiter[K]) decide(e *lease, key K, now int64, q request, r reply, settles bool) limit.Decision {
	l.redis.counts.shared.Add(1)
	d := r.Decision
	if e != nil {
		d.Remaining += e.leftNow(r.Remaining, settles)
	}
	if !d.Allowed {
		return d
	}
	// Counted here at the time of the reply, which is not before Redis counted it. So when this node says that a request
	// has left its window, it has left that of Redis too.
	here := l.local.AllowUpTo(key, now, q.cost, q.most)
	if here.Remaining < d.Remaining || !here.Allowed {
		return here
	}
	return d
}

// DropIdle forgets what this node need not remember, as limit.Limiter does.
func (l *Limiter[K]) DropIdle(now int64) { l.local.DropIdle(now) }

// RefusedUpTo reports whether this node alone would refuse a request, as limit.Limiter does. It counts nothing.
func (l *Limiter[K]) RefusedUpTo(key K, now int64, cost, most int) (d limit.Decision, refused bool) {
	return l.local.RefusedUpTo(key, now, cost, most)
}

// Refund takes back the request of key that was counted last: it turned out to be one that does not count. If Redis
// does not respond in time, the request stays counted there.
func (l *Limiter[K]) Refund(key K) {
	l.local.Refund(key)
	if l.redis.Mode() == Local {
		return
	}
	e := l.leases.find(key)
	if e != nil && e.giveBack(1) {
		return
	}
	q := request{name: l.name(key), most: l.local.Limit(), window: l.local.Window(), cost: -1}
	r, err := l.redis.ask(q, l.redis.Wait)
	if e != nil && err == nil { // whether Redis can be relied on, the decisions show
		e.leftNow(r.Remaining, false)
	}
}

// name is the key's name in Redis. The braces make a cluster choose the server by the hash alone.
func (l *Limiter[K]) name(key K) string {
	sum := sha256.Sum256([]byte(l.prefix + l.text(key)))
	var buffer [64]byte
	name := append(buffer[:0], l.prefix...)
	name = append(name, '{')
	name = base64.RawURLEncoding.AppendEncode(name, sum[:16])
	return string(append(name, '}'))
}
