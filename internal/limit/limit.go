// Package limit is an exact rate limiter: at most so many requests of one key in any span of the window.
//
// The cheap ways are not exact. A counter that is reset each minute lets 60 requests through at 0:59 and 60 more at
// 1:01; a token bucket lets a full bucket through and, within the same minute, what has dripped in since. This package
// keeps a sliding log instead: for each key the times of its admitted requests that are still inside the window. A
// request is admitted while there are fewer than limit of them, so the log never holds more than limit times and a ring
// of that size is enough. A time counts in (now-window, now]: a request exactly one window after the first is admitted
// again. Refused requests are not counted, so a caller that keeps trying is admitted as early as one that waits.
//
// # Time
//
// The package reads no clock and starts no goroutine; the time is an argument. Two goroutines may read the clock in one
// order and arrive here in the other. Therefore each shard has its own clock, the latest time it was shown, and an
// earlier time is taken as that one. The windows are exact on that clock, and it never runs backwards.
//
// # Memory
//
// Keys live in shards, each with its own lock, map and list from the most to the least recently seen. A key that called
// once costs a ring of four times; the ring doubles as needed. All times of a key lie within one window, so 32 bits
// tell them apart: the clocks advance in ticks, of which a window has at most 2^31. For a window of a minute they are
// microseconds.
//
// Every call also drops a few keys from the far end of its shard's list if their whole window has passed, so the memory
// of a flood is given back by the calls that follow it. Dropping such a key changes no decision.
//
// A full shard forgets its least recently seen key although that key may still have requests in its window; should it
// come back, it starts with an empty window. This is the one way to exceed the limit, and it takes a flood: more keys
// within one window than fit. As each shard has an equal share of maxKeys and a hash fills shards almost but not
// quite evenly, give maxKeys a tenth more than the number of keys that must be remembered.
package limit

import (
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"sync"
	"time"
)

const (
	maxShards    = 64   // far more than cores, so that two of them seldom meet at one lock
	minShardKeys = 1024 // a share this large is filled evenly: three standard deviations are a tenth of it
	firstRing    = 4    // times; most addresses that call at all call a few times
	dropsPerCall = 2    // a call brings at most one key, so two drops make the shard smaller
	minMapPeak   = 64   // keys; a smaller map is not worth rebuilding
)

// Limiter admits at most limit requests of each key in any span of window. It is safe for concurrent use.
type Limiter[K comparable] struct {
	limit  int
	window int64 // nanoseconds, whole ticks
	tick   tick
	hash   func(K) uint64
	shards []shard[K] // a power of two of them
}

// Decision is the result for one request.
type Decision struct {
	Allowed   bool
	Remaining int           // how many more requests would be admitted right now
	Reset     time.Duration // until the oldest counted request leaves the window and one more is admitted
}

// New makes a limiter that remembers at most maxKeys keys. The hash picks a key's shard; it should be seeded, or
// callers who choose their keys can crowd one shard. A nil hash is maphash.Comparable with a random seed. New panics
// unless limit, window and maxKeys are positive.
func New[K comparable](limit int, window time.Duration, maxKeys int, hash func(K) uint64) *Limiter[K] {
	if limit < 1 || window < 1 || maxKeys < 1 {
		panic(fmt.Sprintf("limit.New: limit %d, window %v and maxKeys %d must be positive", limit, window, maxKeys))
	}
	if hash == nil {
		seed := maphash.MakeSeed()
		hash = func(key K) uint64 { return maphash.Comparable(seed, key) }
	}
	shards := 1
	for shards < maxShards && maxKeys/(2*shards) >= minShardKeys {
		shards *= 2
	}
	t := tickFor(int64(window))
	l := &Limiter[K]{limit: limit, window: t.ceil(int64(window)), tick: t, hash: hash, shards: make([]shard[K], shards)}
	for i := range l.shards {
		l.shards[i].init(maxKeys / shards)
	}
	return l
}

// Limit is how many requests a key has in any span of the window.
func (l *Limiter[K]) Limit() int { return l.limit }

// Window is the span in which requests are counted.
func (l *Limiter[K]) Window() time.Duration { return time.Duration(l.window) }

// Len is how many keys are remembered.
func (l *Limiter[K]) Len() int {
	n := 0
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		n += len(s.entries)
		s.mu.Unlock()
	}
	return n
}

// DropIdle forgets all keys that have no request left in their window. Without it that happens bit by bit, as requests
// come.
func (l *Limiter[K]) DropIdle(now int64) {
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		s.clock = max(s.clock, l.tick.floor(now))
		for len(s.entries) > 0 && expired(s.list.prev.seen.newest, s.clock, l.window) {
			s.dropLocked(s.list.prev)
		}
		s.mu.Unlock()
	}
}

// Allow decides on a request of key at now, in nanoseconds of a monotonic clock, and counts it if it is admitted.
// After a refusal a call at now+Reset is admitted, and none is before.
func (l *Limiter[K]) Allow(key K, now int64) Decision { return l.AllowMany(key, now, 1) }

// AllowMany is Allow for a request that counts as cost requests, which are admitted together or not at all. The cost is
// at most the limit.
func (l *Limiter[K]) AllowMany(key K, now int64, cost int) Decision {
	return l.AllowUpTo(key, now, cost, l.limit)
}

// AllowUpTo is AllowMany for a key with a limit of its own.
func (l *Limiter[K]) AllowUpTo(key K, now int64, cost, most int) Decision {
	s := &l.shards[l.hash(key)&uint64(len(l.shards)-1)]
	s.mu.Lock()
	defer s.mu.Unlock()

	s.clock = max(s.clock, l.tick.floor(now))
	seen := &s.touchLocked(key).seen
	seen.expire(s.clock, l.window, l.tick)
	surplus := seen.count + cost - most
	if surplus <= 0 {
		for range cost {
			seen.add(s.clock, most, l.tick)
		}
	}
	// From here on the key has a time in its window, so the cleaning cannot take it.
	s.dropIdleLocked(l.window)
	return Decision{
		Allowed:   surplus <= 0,
		Remaining: max(0, most-seen.count), // less than nothing after the limit was lowered
		Reset:     time.Duration(seen.at(max(0, surplus-1), l.tick) + l.window - now),
	}
}

// Refused reports whether AllowMany would refuse a request of key at now, and its decision if so. It counts nothing.
func (l *Limiter[K]) Refused(key K, now int64, cost int) (d Decision, refused bool) {
	return l.RefusedUpTo(key, now, cost, l.limit)
}

// RefusedUpTo is Refused for a key with a limit of its own.
func (l *Limiter[K]) RefusedUpTo(key K, now int64, cost, most int) (d Decision, refused bool) {
	s := &l.shards[l.hash(key)&uint64(len(l.shards)-1)]
	s.mu.Lock()
	defer s.mu.Unlock()

	s.clock = max(s.clock, l.tick.floor(now))
	e := s.entries[key]
	if e == nil {
		return Decision{}, false
	}
	gone := 0
	for gone < e.seen.count && expired(e.seen.at(gone, l.tick), s.clock, l.window) {
		gone++
	}
	remaining := most - (e.seen.count - gone)
	if cost <= remaining {
		return Decision{}, false
	}
	last := e.seen.at(gone+cost-remaining-1, l.tick) // that has to leave the window
	return Decision{Remaining: max(0, remaining), Reset: time.Duration(last + l.window - now)}, true
}

// Refund takes back the request of key that was counted last: it turned out to be one that does not count.
func (l *Limiter[K]) Refund(key K) {
	s := &l.shards[l.hash(key)&uint64(len(l.shards)-1)]
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	if e == nil {
		return
	}
	if e.seen.count == 1 {
		s.dropLocked(e)
		return
	}
	e.seen.removeNewest(l.tick)
}

// A shard is a part of the keys under one lock, which guards all its fields.
type shard[K comparable] struct {
	mu        sync.Mutex
	clock     int64 // the latest time shown to the shard
	lastAlive int64 // newest time of the key that stopped the last cleaning
	entries   map[K]*entry[K]
	maxKeys   int
	peak      int      // most keys since the map was made: a map keeps the memory of its largest size
	list      entry[K] // sentinel: list.next was seen last, list.prev the longest ago
}

// An entry is what is known of one key, and its position in the shard's list.
type entry[K comparable] struct {
	prev, next *entry[K]
	key        K
	seen       ring
}

func (s *shard[K]) init(maxKeys int) {
	s.clock, s.lastAlive = math.MinInt64, math.MinInt64
	s.entries = make(map[K]*entry[K])
	s.maxKeys = maxKeys
	s.list.prev, s.list.next = &s.list, &s.list
}

// touchLocked finds or makes the entry of key and puts it at the front of the list.
func (s *shard[K]) touchLocked(key K) *entry[K] {
	e := s.entries[key]
	if e == nil {
		if len(s.entries) == s.maxKeys {
			s.dropLocked(s.list.prev)
		}
		e = &entry[K]{key: key}
		s.entries[key] = e
		s.peak = max(s.peak, len(s.entries))
	} else {
		e.unlink()
	}
	e.prev, e.next = &s.list, s.list.next
	e.prev.next, e.next.prev = e, e
	return e
}

// dropIdleLocked drops a few keys from the end of the list that have no request left in their window. It looks there
// only once the key it last found alive can have become idle: that entry is seldom in the processor's cache.
func (s *shard[K]) dropIdleLocked(window int64) {
	for range dropsPerCall {
		if !expired(s.lastAlive, s.clock, window) {
			return
		}
		last := s.list.prev
		if !expired(last.seen.newest, s.clock, window) {
			s.lastAlive = last.seen.newest
			return
		}
		s.dropLocked(last)
	}
}

// dropLocked forgets an entry, and moves to a smaller map when the old one is mostly empty: deleting alone frees no
// memory.
func (s *shard[K]) dropLocked(e *entry[K]) {
	e.unlink()
	delete(s.entries, e.key)
	if s.peak > minMapPeak && len(s.entries) < s.peak/4 {
		smaller := make(map[K]*entry[K], len(s.entries))
		maps.Copy(smaller, s.entries)
		s.entries, s.peak = smaller, len(smaller)
	}
}

func (e *entry[K]) unlink() { e.prev.next, e.next.prev = e.next, e.prev }

// A tick is the step of a limiter's clocks, in nanoseconds.
type tick int64

// tickFor is a nanosecond, a microsecond or more: the first of which a window has at most 2^31.
func tickFor(window int64) (t tick) {
	for t = 1; window/int64(t) > 1<<31; {
		t *= 1000
	}
	return t
}

// of is the number of the tick that an instant is in. The clock of the process begins at 0.
func (t tick) of(at int64) int64 { return at / int64(t) }

func (t tick) floor(at int64) int64 { return t.of(at) * int64(t) }

// ceil is for windows, which are positive.
func (t tick) ceil(window int64) int64 { return (window-1)/int64(t)*int64(t) + int64(t) }

// A ring holds the times of a key's counted requests, oldest first, in ticks[head], ticks[head+1] and so on, around the
// end. All were in the window when the newest came, so the low bits of their ticks say how long before it they were. A
// ring in the shard's list is never empty: a call leaves at least one time in it.
type ring struct {
	newest      int64
	ticks       []uint32
	head, count int
}

// at is the time at a position, counted from the oldest.
func (r *ring) at(position int, t tick) int64 {
	before := uint32(t.of(r.newest)) - r.ticks[r.index(position)]
	return r.newest - int64(before)*int64(t)
}

// index is where the time at a position is held.
func (r *ring) index(position int) int {
	i := r.head + position
	if i >= len(r.ticks) {
		i -= len(r.ticks)
	}
	return i
}

// expire forgets the times that have left the window.
func (r *ring) expire(now, window int64, t tick) {
	for r.count > 0 && expired(r.at(0, t), now, window) {
		r.head = r.index(1)
		r.count--
	}
}

// add appends a time, growing the ring up to limit; the caller has made sure that fewer than limit are held, all of
// them in the window.
func (r *ring) add(now int64, limit int, t tick) {
	if r.count == len(r.ticks) {
		larger := make([]uint32, min(limit, max(firstRing, 2*len(r.ticks))))
		n := copy(larger, r.ticks[r.head:])
		copy(larger[n:], r.ticks[:r.head])
		r.ticks, r.head = larger, 0
	}
	r.newest = now
	r.ticks[r.index(r.count)] = uint32(t.of(now))
	r.count++
}

// removeNewest forgets the last time; there is one before it.
func (r *ring) removeNewest(t tick) {
	r.count--
	r.newest = r.at(r.count-1, t)
}

// expired reports whether a time has left the window that ends at now, which is not before it. The difference is taken
// unsigned, where it cannot overflow.
func expired(at, now, window int64) bool {
	return uint64(now-at) >= uint64(window)
}
