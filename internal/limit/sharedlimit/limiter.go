// Package sharedlimit counts the requests of a client on all nodes together, in Redis, and on this node alone while Redis
// is slow or away.
//
// # One window
//
// Each client has one window in Redis, and each request is one call of one script (window.lua) that decides and counts at
// once. The rule is that of package limit: a list of the times of admitted requests, so that no span of the window lets one too
// many through. The times are those of the Redis server, so the nodes' clocks do not matter. A window that nobody uses is
// deleted by the server. Names are hashed: no address and no account can be read in Redis, though whoever tries every IPv4
// address can find one.
//
// # Batches
//
// A request is no round trip of its own: each server has a lane with a few senders, and what comes while they are under way
// gathers and goes out together. So a burst of hundreds costs a handful of round trips, and no request needs a connection.
//
// # Falling back
//
// A request waits at most callTimeout for Redis, in the queue and under way together; then the node decides by its own limiters.
// That alone does not mean that Redis is lost: in a burst, on a lossy network, one answer may be late among many that are not.
// The node turns to its own limiters
//
//   - when a round trip fails: refused, reset, an error for an answer;
//   - when one takes longer than callTimeout and nothing at all has come from that server meanwhile, unless the node noticed so
//     late that it must have been too busy to read the answer;
//   - when lateInRow of them have been late one after another.
//
// Those that wait are then let go, and those that follow do not ask Redis at all until a probe in the background has been
// answered in time. So nobody is locked out, and a failure costs only the requests that were under way.
//
// The node's own limiters also count what Redis admits through this node, and a request must pass both. Normally they agree,
// as Redis counts all that they count, and a client that floods one node is refused there without a call to Redis. It matters
// around a failure: of one node a client never gets more than the limit in any window, be it counted here, there or
// partly each. So the most that a client can get in a window in which nodes changed over is the limit times the number of nodes.
package sharedlimit

import (
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/assaydata/assay/internal/limit"
)

// Limiter admits at most limit requests of each key in any span of window, on all nodes that use the same Redis. It is safe
// for concurrent use.
type Limiter[K comparable] struct {
	own    *limit.Limiter[K]
	redis  *Redis
	prefix string
	text   func(K) string
}

// New makes a limiter. Nodes share the windows of limiters of the same name; text tells keys apart. With a nil Redis the node
// counts by itself. The rest is as with limit.New; maxKeys bounds what this node remembers.
func New[K comparable](redis *Redis, name string, most int, window time.Duration, maxKeys int, text func(K) string) *Limiter[K] {
	return &Limiter[K]{limit.New[K](most, window, maxKeys, nil), redis, "assay:limit:" + name + ":", text}
}

// Allow decides on a request of key at now, in nanoseconds of this node's monotonic clock, and counts it if it is admitted.
func (l *Limiter[K]) Allow(key K, now int64) limit.Decision {
	if l.redis.Mode() == Local {
		l.redis.countAlone(nil)
		return l.own.Allow(key, now)
	}
	if d, refused := l.own.Refused(key, now); refused {
		return d
	}
	asked := time.Now()
	d, err := l.redis.allow(l.name(key), l.own.Limit(), l.own.Window())
	if err != nil {
		l.redis.countAlone(err)
		return l.own.Allow(key, now)
	}
	l.redis.counts.shared.Add(1)
	if !d.Allowed {
		return d
	}
	// Counted here as of the answer, which is not before Redis counted it: so when this node says that a request has left its
	// window, it has left that of Redis too.
	own := l.own.Allow(key, now+int64(time.Since(asked)))
	if own.Remaining < d.Remaining || !own.Allowed {
		return own
	}
	return d
}

// name is the key's name in Redis. The braces make a cluster choose the node by the hash alone.
func (l *Limiter[K]) name(key K) string {
	sum := sha256.Sum256([]byte(l.prefix + l.text(key)))
	var room [64]byte
	name := append(room[:0], l.prefix...)
	name = append(name, '{')
	name = base64.RawURLEncoding.AppendEncode(name, sum[:16])
	return string(append(name, '}'))
}
