package push

import (
	"bytes"
	"net"
	"sync"
	"time"
)

// Member is a connection. The fields that begin with a capital letter are set before it is added.
type Member struct {
	Conn  net.Conn
	Class Class  // guarded by the hub's lock once the member is added
	First []byte // what it gets first
	// Ended returns whether the caller has lost access, and what to say then; nil if there is nothing to lose.
	Ended func() (bye Bye, ended bool)
	// Closed is called once when the connection has ended.
	Closed func()

	hub     *Hub
	since   time.Time
	turn    int
	spread  uint8 // of the lifetime
	counted bool

	mu       sync.Mutex
	queue    [][]byte // what waits to be written; guarded by mu
	queued   int      // its bytes; guarded by mu
	within   bool     // the queue begins in the middle of an event; guarded by mu
	draining bool     // a goroutine writes the queue; guarded by mu
	ending   bool     // nothing more is taken; guarded by mu
	closed   bool     // guarded by mu
}

// maxUnread is how much a client may send that no one reads: no client has a reason to send anything.
const maxUnread = 64 << 10

// watch waits for the end of the connection.
func (m *Member) watch() {
	var text [64]byte
	for read := 0; read < maxUnread; {
		n, err := m.Conn.Read(text[:])
		if err != nil {
			break
		}
		read += n
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closeLocked()
}

// send sends a text of whole events, or lets it wait in the queue. It does not wait.
func (m *Member) send(text []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ending || m.closed {
		return
	}
	m.enqueueLocked(text)
	if !m.draining {
		m.flushLocked()
	}
	limit := MaxQueue
	if m.hub.queued.Load() > maxQueued {
		limit = tightQueue
	}
	if m.queued > limit {
		m.endLocked(SlowReader)
	}
}

func (m *Member) enqueueLocked(text []byte) {
	if len(text) == 0 {
		return
	}
	m.queue = append(m.queue, text)
	m.addQueuedLocked(len(text))
}

func (m *Member) addQueuedLocked(n int) {
	m.queued += n
	m.hub.queued.Add(int64(n))
}

// flush writes what the connection takes at once.
func (m *Member) flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flushLocked()
}

// flushLocked writes what the connection takes at once, and leaves the rest to a goroutine.
func (m *Member) flushLocked() {
	for len(m.queue) > 0 && !m.closed {
		n, err := tryWrite(m.Conn, m.queue[0])
		if err != nil {
			m.closeLocked()
			return
		}
		if n < len(m.queue[0]) {
			m.takeLocked(n)
			m.draining = true
			go m.drain()
			return
		}
		m.takeLocked(n)
	}
	if len(m.queue) == 0 {
		m.queue = nil // the next one to wait is rare
	}
}

// takeLocked removes the first bytes of the first text in the queue, and returns them.
func (m *Member) takeLocked(n int) (taken []byte) {
	taken, rest := m.queue[0][:n], m.queue[0][n:]
	if n > 0 {
		m.within = !bytes.HasSuffix(taken, endOfEvent)
	}
	if m.queue[0] = rest; len(rest) == 0 {
		m.queue[0] = nil
		m.queue = m.queue[1:]
	}
	m.addQueuedLocked(-n)
	return taken
}

// drainPiece is how much is written at a time: what is being written cannot be taken back.
const drainPiece = 16 << 10

// drain writes the queue and waits for the client.
func (m *Member) drain() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.queue) > 0 && !m.closed {
		piece := m.takeLocked(min(drainPiece, len(m.queue[0])))
		if !m.ending { // else the time is running already
			_ = m.Conn.SetWriteDeadline(time.Now().Add(stall)) // fails for a connection that has ended
		}
		m.mu.Unlock()
		_, err := m.Conn.Write(piece)
		m.mu.Lock()
		if err != nil {
			m.closeLocked()
		}
	}
	m.draining = false
	if m.ending {
		m.closeLocked()
		return
	}
	if m.queue = nil; !m.closed {
		_ = m.Conn.SetWriteDeadline(time.Time{}) // likewise
	}
}

// end ends the connection with a last event.
func (m *Member) end(bye Bye) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endLocked(bye)
}

// endLocked replaces what waits by the last event, after the one that is being written.
func (m *Member) endLocked(bye Bye) {
	if m.ending || m.closed {
		return
	}
	m.ending = true
	rest := []byte(nil)
	if m.within && len(m.queue) > 0 {
		rest = afterEvent(m.queue[0])
	}
	m.addQueuedLocked(-m.queued)
	m.queue = nil
	m.enqueueLocked(rest)
	m.enqueueLocked(bye.event())
	_ = m.Conn.SetWriteDeadline(time.Now().Add(grace)) // also of the write that is under way
	if m.draining {
		return
	}
	if m.flushLocked(); !m.draining {
		m.closeLocked()
	}
}

// closeLocked ends the connection. The client notices last: when it connects again, its place is free.
func (m *Member) closeLocked() {
	if m.closed {
		return
	}
	m.closed, m.ending = true, true
	m.addQueuedLocked(-m.queued)
	m.queue = nil
	if m.counted {
		m.hub.remove(m)
	}
	if m.Closed != nil {
		m.Closed()
	}
	_ = m.Conn.Close() // there is no one to tell
}
