// Package push sends server-sent events to many connections at once. It knows nothing of what the events say.
//
// A connection costs a small struct and a parked goroutine, which notices that the client has gone. There is no timer
// and no buffer for each: one loop sends the heartbeats, and the bytes of an event are made once for all connections
// that get the same and shared by them. A send never waits. What a connection does not take at once waits in its queue,
// and a goroutine that exists only until then writes it. A connection whose queue grows too long, or that takes nothing
// for too long, ends with a last event that says why, and no other connection notices.
package push

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// HeartbeatEvery is how often every connection gets a comment, so that proxies between do not take it for dead. The
	// idle timeouts of nginx and HAProxy are a minute by default.
	HeartbeatEvery = 15 * time.Second
	// checkEvery is how often the connections are checked for callers who have lost their access. It is promised that
	// their streams end within a second, of which noticing the change takes a part.
	checkEvery = 250 * time.Millisecond
	// lifetime is how long a connection lasts, so that after a while every node has its share of them again. Each gets up
	// to a tenth more.
	lifetime = 24 * time.Hour
	// stall is how long a connection may take nothing while something waits for it.
	stall = 30 * time.Second
	// grace is how long a connection that ends may take for what is left to send.
	grace = 5 * time.Second
	// MaxQueue is how many bytes may wait for a connection: a publication of a thousand GPU models in all regions, or what
	// a client has missed that comes back.
	MaxQueue = 4 << 20
	// tightQueue replaces MaxQueue while more than maxQueued bytes wait for all connections together.
	tightQueue = 64 << 10
	maxQueued  = 128 << 20
)

// turns is how many turns the heartbeats take: each connection has one, so that they are spread over the time.
const turns = int(HeartbeatEvery / time.Second)

// Class says which connections get the same events. It must be comparable.
type Class any

// Hub has the connections.
type Hub struct {
	now func() time.Time

	mu      sync.Mutex
	members [turns]map[*Member]struct{} // guarded by mu
	next    int                         // whose turn the next member gets; guarded by mu
	places  map[string]int              // taken, by the name under which they are counted; guarded by mu
	closed  bool                        // guarded by mu
	gone    sync.WaitGroup              // of the members

	queued atomic.Int64 // bytes that wait, of all members
}

// NewHub makes a hub.
func NewHub(now func() time.Time) *Hub {
	h := &Hub{now: now, places: map[string]int{}}
	for i := range h.members {
		h.members[i] = map[*Member]struct{}{}
	}
	return h
}

// Take takes one of so many places under a name, such as a key or an address. leave gives it back.
func (h *Hub) Take(name string, places int) (leave func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.places[name] >= places {
		return nil, false
	}
	h.places[name]++
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.places[name]--; h.places[name] == 0 {
			delete(h.places, name)
		}
	}), true
}

// Len is how many connections there are.
func (h *Hub) Len() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, turn := range h.members {
		n += len(turn)
	}
	return n
}

// Add adds a connection, and sends what it gets first. Everything that is sent to its class afterwards follows.
func (h *Hub) Add(m *Member) {
	m.hub, m.since = h, h.now()
	m.spread = uint8(rand.Uint32()) //nolint:gosec // G404: it spreads load
	m.enqueueLocked(m.First)        // no one else knows the member yet
	m.First = nil
	h.mu.Lock()
	closed := h.closed
	if !closed {
		m.turn = h.next
		h.next = (h.next + 1) % turns
		h.members[m.turn][m] = struct{}{}
		h.gone.Add(1)
		m.counted = true
	}
	h.mu.Unlock()
	m.flush()
	if closed {
		m.end(Shutdown)
		return
	}
	go m.watch()
}

// remove forgets a member.
func (h *Hub) remove(m *Member) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.members[m.turn][m]; ok {
		delete(h.members[m.turn], m)
		h.gone.Done()
	}
}

// Audience are the connections of a moment, with their classes.
type Audience []memberClass

// Audience returns the current connections: those that get what is sent next.
func (h *Hub) Audience() Audience {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all Audience
	for _, turn := range h.members {
		for m := range turn {
			all = append(all, memberClass{m, m.Class})
		}
	}
	return all
}

type memberClass struct {
	*Member
	class Class
}

// Classes counts the connections of each class.
func (all Audience) Classes() map[Class]int {
	classes := map[Class]int{}
	for _, m := range all {
		classes[m.class]++
	}
	return classes
}

// Reclassify moves the members of a class to another one.
func (h *Hub) Reclassify(from, to Class) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, turn := range h.members {
		for m := range turn {
			if m.Class == from {
				m.Class = to
			}
		}
	}
}

// Send sends each connection what events returns for its class, which is called once for each. It returns when every
// connection has it, or it waits in the connection's queue.
func (all Audience) Send(events func(Class) []byte) {
	texts := map[Class][]byte{}
	for _, m := range all {
		if _, ok := texts[m.class]; !ok {
			texts[m.class] = events(m.class)
		}
	}
	workers := runtime.GOMAXPROCS(0)
	var sending sync.WaitGroup
	for worker := range workers {
		sending.Go(func() {
			for i := worker; i < len(all); i += workers {
				if text := texts[all[i].class]; len(text) > 0 {
					all[i].send(text)
				}
			}
		})
	}
	sending.Wait()
}

// Run sends heartbeats, and ends the connections whose callers have lost their access or whose time is over, until the
// context ends.
func (h *Hub) Run(ctx context.Context) error {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	perSecond := int(time.Second / checkEvery)
	for tick := 0; ; tick++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		h.check()
		if tick%perSecond == 0 {
			h.beat(tick / perSecond % turns)
		}
	}
}

// check ends the connections of callers who have lost their access.
func (h *Hub) check() {
	for _, m := range h.Audience() {
		if m.Ended == nil {
			continue
		}
		if bye, ended := m.Ended(); ended {
			m.end(bye)
		}
	}
}

var heartbeat = []byte(": heartbeat\n\n")

// beat sends the heartbeats of a turn.
func (h *Hub) beat(turn int) {
	h.mu.Lock()
	list := make([]*Member, 0, len(h.members[turn]))
	for m := range h.members[turn] {
		list = append(list, m)
	}
	h.mu.Unlock()
	now := h.now()
	for _, m := range list {
		if now.Sub(m.since) > lifetime+time.Duration(m.spread)*lifetime/2560 {
			m.end(Lifetime)
			continue
		}
		m.send(heartbeat)
	}
}

// Close ends all connections, and waits until they have got what was sent to them, or the context ends.
func (h *Hub) Close(ctx context.Context) {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	for _, m := range h.Audience() {
		m.end(Shutdown)
	}
	gone := make(chan struct{})
	go func() { h.gone.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-ctx.Done():
	}
}
