package sharedlimit

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/assaydata/assay/internal/limit"
)

const (
	// longestLease is how long a node may use a lease, at most: what a dead node had on lease counts as used until then,
	// and a window longer.
	longestLease = time.Minute
	// leastWindow is that of the limits that have leases. What was admitted must be reported in time, and a lease is
	// looked at only once in sweepParts times sweepPause.
	leastWindow = 30 * time.Second
	// leastLimit is that of the clients that have leases: a quarter of it is the smallest lease that the script grants.
	leastLimit = 16
	// largestLease bounds what a lease allows, and so what a report lists.
	largestLease = 256
	// leastFree is how many requests must be left to ask for a lease: the script grants none otherwise.
	leastFree = 8

	sweepPause  = time.Second
	sweepParts  = 4
	leaseShards = 64 // as package limit has; sweepParts divides it
)

// lease is what this node may admit of one client without a call to Redis. What it allows was counted in Redis before.
type lease struct {
	redis  *Redis
	name   string
	window time.Duration
	length time.Duration

	mu       sync.Mutex      // guards the rest
	most     int             // the limit under which it was granted
	left     int             // requests that it still allows
	granted  int             // what it allowed when it was last extended
	until    time.Duration   // on the node's clock; not to be used from then on
	settled  time.Duration   // when the last call about it was sent that Redis has replied to
	spent    []time.Duration // when requests were admitted that Redis has not heard of, oldest first
	reported int             // how many of spent are in the call under way
	busy     bool            // a call about the lease is under way
	growing  bool            // that call may extend it
	unsure   bool            // a call got no reply: Redis may have granted what this node does not know of
	recalled bool            // another node needs it: it must be given back when the call under way has returned
	used     bool            // since the last call
	idle     bool            // not used since the last sweep
	dropped  bool            // the table has forgotten it
	epoch    int64           // of the connection to Redis, when the last call was sent

	free    int           // what Redis had left for all nodes when it last replied
	resetAt time.Duration // when the oldest request leaves the window
	alone   bool          // all requests in the window came through this node, whose own limiter knows them all
	fresh   bool          // alone must be found out
}

// leaseLength is how long a lease lasts, or 0 if the window is too short for leases.
func leaseLength(window time.Duration) time.Duration {
	if window < leastWindow {
		return 0
	}
	return min(window, longestLease)
}

// spend admits a request if the lease allows it. The decision is that of all nodes together, as far as this node knows;
// fresh says that setAlone is to be called with what the node's own limiter says.
func (e *lease) spend(cost, most int) (d limit.Decision, alone, fresh, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.left < cost || e.most != most || e.epoch != e.redis.epoch.Load() {
		return d, false, false, false
	}
	now := e.redis.now()
	if now >= e.until {
		return d, false, false, false
	}
	e.left -= cost
	for range cost {
		e.spent = append(e.spent, now)
	}
	e.used = true
	if !e.busy && e.left <= e.granted/4 && e.free >= leastFree {
		e.renewLocked(now)
	}
	fresh, e.fresh = e.fresh, false
	return limit.Decision{Allowed: true, Remaining: e.free + e.left, Reset: e.resetAt - now}, e.alone, fresh, true
}

func (e *lease) setAlone(alone bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.alone = alone
}

// giveBack takes back the requests that were admitted last, unless they are reported already.
func (e *lease) giveBack(cost int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.spent)-e.reported < cost {
		return false
	}
	e.spent = e.spent[:len(e.spent)-cost]
	e.left += cost
	return true
}

// begin makes the part of a call that is about the lease, for a request that the lease does not allow. All of the lease
// is handed in, because the rest of it may be needed for the request. It returns nothing while another call is under
// way; grows then says whether that one may extend the lease.
func (e *lease) begin(most int) (s settlement, ok, grows bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.busy || e.dropped {
		return s, false, e.busy && e.growing
	}
	want := 0
	if e.redis.hears.Load() && (e.most != most || e.free >= leastFree) {
		want = largestLease
	}
	e.most = most
	return e.settleLocked(e.redis.now(), 0, want), true, false
}

// settleLocked makes a settlement that keeps so much of what is left.
func (e *lease) settleLocked(now time.Duration, keep, want int) settlement {
	epoch := e.redis.epoch.Load()
	if e.epoch != epoch {
		e.epoch, keep = epoch, 0
	}
	e.busy, e.growing, e.used, e.left, e.reported = true, want > 0, false, keep, len(e.spent)
	ages := make([]byte, 0, 8*len(e.spent))
	for _, at := range e.spent {
		ages = appendAge(ages, now-at)
	}
	return settlement{
		sequence: e.redis.sequence.Add(1), left: keep, want: want, length: e.length, ages: string(ages),
	}
}

// finish takes the reply to a call about the lease that was sent at that time.
func (e *lease) finish(sent time.Duration, r reply, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	reported := e.reported
	e.busy, e.reported = false, 0
	if err != nil || r.overtaken || e.epoch != e.redis.epoch.Load() {
		e.unsure = true // the report is repeated: it may be counted twice, but never not at all
		return
	}
	e.spent = e.spent[:copy(e.spent, e.spent[reported:])]
	e.left = max(0, e.left+r.growth)
	e.granted = e.left
	// Redis counted from when it executed the call, which was later; an eighth is for clocks that run at another speed.
	e.until = sent + e.length - e.length/8
	e.settled, e.unsure, e.fresh = sent, false, true
	e.free, e.resetAt = r.Remaining, sent+r.Reset
	if e.recalled {
		e.recalled = false
		e.returnLocked(true)
	}
}

// renewLocked reports what was admitted, and asks for more, in the background.
func (e *lease) renewLocked(now time.Duration) {
	want := 0
	if e.redis.hears.Load() {
		want = largestLease
	}
	e.postLocked(now, e.settleLocked(now, e.left, want), false)
}

// returnLocked reports what was admitted, and gives the rest of the lease back, in the background. It is urgent if
// another node waits for it.
func (e *lease) returnLocked(urgent bool) {
	now := e.redis.now()
	e.postLocked(now, e.settleLocked(now, 0, 0), urgent)
}

func (e *lease) postLocked(now time.Duration, s settlement, urgent bool) {
	q := request{name: e.name, most: e.most, window: e.window, lease: s}
	e.redis.post(q, urgent, func(r reply, err error) { e.finish(now, r, err) })
}

// leftNow is what the lease still allows. free is what Redis has left besides: noted here if the call was not about the
// lease, which notes it otherwise.
func (e *lease) leftNow(free int, noted bool) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !noted {
		e.free = free
	}
	return e.left
}

// recall gives the lease back, because another node needs it.
func (e *lease) recall() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.busy {
		e.recalled = true
		return
	}
	e.returnLocked(true)
}

// sweep reports what was admitted before Redis takes the lease for that of a dead node, and gives back what the client
// did not use. It reports whether the table may forget the lease.
func (e *lease) sweep(now time.Duration) (drop bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	wasIdle := e.idle
	e.idle = !e.used
	switch {
	case e.busy:
	case !e.unsure && e.left == 0 && len(e.spent) == 0:
		e.dropped = e.idle && wasIdle
	case e.unsure || now >= e.settled+e.length-e.length/4:
		if e.used && now < e.until {
			e.renewLocked(now)
		} else {
			e.returnLocked(false)
		}
	}
	return e.dropped
}

// release gives the lease back when the node ends.
func (e *lease) release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.busy && (e.unsure || e.left > 0 || len(e.spent) > 0) {
		e.returnLocked(false)
	}
}

// table holds the leases of one limiter.
type table[K comparable] struct {
	redis  *Redis
	window time.Duration
	length time.Duration
	most   int // leases of each shard; the clients beyond have none
	seed   maphash.Seed
	shards [leaseShards]tableShard[K]
}

type tableShard[K comparable] struct {
	mu     sync.Mutex
	leases map[K]*lease // guarded by mu
}

func newTable[K comparable](redis *Redis, window time.Duration, maxKeys int) *table[K] {
	t := &table[K]{
		redis: redis, window: window, length: leaseLength(window),
		most: max(1, maxKeys/leaseShards), seed: maphash.MakeSeed(),
	}
	for i := range t.shards {
		t.shards[i].leases = map[K]*lease{}
	}
	return t
}

func (t *table[K]) shard(key K) *tableShard[K] {
	return &t.shards[maphash.Comparable(t.seed, key)%leaseShards]
}

// find returns the lease of a client, or nil.
func (t *table[K]) find(key K) *lease {
	s := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leases[key]
}

// open returns the lease of a client, which may be a new one that allows nothing yet. It is nil for a limit that has no
// leases, and if there are too many of them.
func (t *table[K]) open(key K, name string, most int) *lease {
	if t.length == 0 || most < leastLimit || !t.redis.hears.Load() {
		return nil
	}
	s := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.leases[key]
	if e == nil && len(s.leases) < t.most {
		e = &lease{redis: t.redis, name: name, window: t.window, length: t.length, most: most, free: most}
		s.leases[key] = e
		t.redis.byName.add(e)
	}
	return e
}

// each calls f for every lease in one of sweepParts parts, and forgets those for which it is true.
func (t *table[K]) each(part int, f func(*lease) bool) {
	for i := part; i < len(t.shards); i += sweepParts {
		s := &t.shards[i]
		s.mu.Lock()
		for key, e := range s.leases {
			if f(e) {
				delete(s.leases, key)
				t.redis.byName.remove(e)
			}
		}
		s.mu.Unlock()
	}
}

// leaseIndex finds leases by the names of their windows. It has hashes of the names, because each pointer makes work
// for the garbage collector, and there may be a hundred thousand of them. If two names have the same hash, one of the
// leases is not found, and is not given back before it ends.
type leaseIndex struct {
	mu     sync.Mutex
	leases map[uint64]*lease // guarded by mu
}

var nameSeed = maphash.MakeSeed()

func (x *leaseIndex) add(e *lease) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.leases == nil {
		x.leases = map[uint64]*lease{}
	}
	x.leases[maphash.String(nameSeed, e.name)] = e
}

func (x *leaseIndex) remove(e *lease) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if hash := maphash.String(nameSeed, e.name); x.leases[hash] == e {
		delete(x.leases, hash)
	}
}

// find returns the lease of that name, or nil.
func (x *leaseIndex) find(name string) *lease {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.leases[maphash.String(nameSeed, name)]; e != nil && e.name == name {
		return e
	}
	return nil
}
