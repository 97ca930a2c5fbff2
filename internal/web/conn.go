package web

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay"
)

// conns watches the connections of a server. It bounds how many there are (connlimit.go), and it does two things that
// net/http does at a higher price.
//
// It closes connections that wait too long for a request, whether none arrives or one arrives too slowly, and those
// whose response takes too long. The timeouts of http.Server would set several timers per request, which costs more
// than serving it; here a request costs two atomic stores, and one sweep per second checks all connections.
//
// And it sends a response of some kilobytes in one piece. net/http would split it after its buffer of 4 KiB, and the
// second system call costs as much as all the rest.
type conns struct {
	limits  func() ConnectionLimits
	trusted func(netip.Addr) bool // proxies, which have the connections of many clients
	now     atomic.Int64          // seconds since the start, moved by the sweep

	mu        sync.Mutex
	all       map[*conn]struct{} // guarded by mu
	addresses map[netip.Addr]int // how many connections each has; guarded by mu
	attempts  map[netip.Addr]int // how many each has tried to open since the last sweep; guarded by mu
	refused   int                // since the last report; guarded by mu
}

// Limits in seconds: of the wait for the first request, of the wait for the next, and of a response.
const (
	newTimeout      = 10
	idleTimeout     = 120
	responseTimeout = 150
)

// conn is a connection that has a deadline and can hold back what is written to it.
type conn struct {
	net.Conn
	address  netip.Addr   // what the client counts as
	exempt   bool         // from the limit of one address
	deadline atomic.Int64 // second at which it is closed
	waiting  atomic.Bool  // for a request
	lingers  atomic.Bool  // before it closes, because the client may still send a body

	mu      sync.Mutex
	holding bool   // guarded by mu
	lines   []byte // header lines of the next response; guarded by mu
	held    []byte // what was written while holding; guarded by mu
}

// holdMost is how much is held back. What is longer goes out together with what was held, in one system call.
const holdMost = 16 << 10

// hold keeps back the response that is going to be written until it is complete, and adds header lines to it. net/http
// would keep each of them in a map, copy, sort and check it, which for the headers of the contract costs as much as
// making the response.
func (c *conn) hold(fields []field) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holding = true
	c.lines = c.lines[:0]
	for _, f := range fields {
		c.lines = append(append(c.lines, f.name...), ": "...)
		c.lines = append(append(c.lines, f.value...), "\r\n"...)
	}
}

// addLinesLocked puts the header lines after the status line, with which a response begins, and returns the rest of it.
func (c *conn) addLinesLocked(p []byte) []byte {
	status := bytes.IndexByte(p, '\n') + 1
	c.held = append(append(c.held, p[:status]...), c.lines...)
	c.lines = c.lines[:0]
	return p[status:]
}

// Write writes, or holds back.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.holding {
		return c.Conn.Write(p)
	}
	size := len(p)
	if len(c.lines) > 0 {
		p = c.addLinesLocked(p)
	}
	if len(c.held)+len(p) <= holdMost {
		c.held = append(c.held, p...)
		return size, nil
	}
	pieces := net.Buffers{c.held, p}
	if len(c.held) == 0 {
		pieces = pieces[1:]
	}
	_, err := pieces.WriteTo(c.Conn)
	c.held = c.held[:0]
	if err != nil {
		return 0, err
	}
	return size, nil
}

// release sends what was held back.
func (c *conn) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holding = false
	if len(c.held) > 0 {
		_, _ = c.Conn.Write(c.held) // the server notices a broken connection at the next read
		c.held = c.held[:0]
	}
}

// lingerTime is how long a connection waits for the rest of a body that no one wants: as long as net/http does.
const lingerTime = 500 * time.Millisecond

// Close sends what was held back and closes. If the client may still send a body, it first reads what comes: closing
// with unread bytes would reset the connection, and the client would lose the response.
func (c *conn) Close() error {
	if !c.lingers.Swap(false) {
		c.release()
		return c.Conn.Close()
	}
	err := c.CloseWrite()
	if err == nil {
		err = c.SetReadDeadline(time.Now().Add(lingerTime))
	}
	if err == nil {
		_, _ = io.CopyN(io.Discard, c.Conn, maxSkipped) // whether it ends or not
	}
	return c.Conn.Close()
}

// CloseWrite is how the server ends a connection of which it has not read everything, so that its last response is not
// lost.
func (c *conn) CloseWrite() error {
	c.release()
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		return tcp.CloseWrite()
	}
	return nil
}

type connKey struct{}

func withConn(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, nc)
}

func newConns(limits func() ConnectionLimits, trusted func(netip.Addr) bool) *conns {
	return &conns{
		limits: limits, trusted: trusted, all: map[*conn]struct{}{}, addresses: map[netip.Addr]int{},
		attempts: map[netip.Addr]int{},
	}
}

// listener accepts connections that can be watched.
type listener struct {
	net.Listener
	conns  *conns
	refuse func(net.Conn, *assay.Error) // responds to a connection that is over a limit, and closes it
}

// Accept waits for the next connection that is within the limits.
func (l listener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: nc}
		refusal := l.conns.admit(c)
		if refusal == nil {
			return c, nil
		}
		l.refuse(nc, refusal)
	}
}

// changed is called when a connection changes its state.
func (cs *conns) changed(nc net.Conn, state http.ConnState) {
	c, ok := nc.(*conn)
	if !ok {
		return
	}
	switch state {
	case http.StateNew: // admitted before
	case http.StateActive:
		c.waiting.Store(false)
		c.deadline.Store(cs.now.Load() + responseTimeout)
	case http.StateIdle:
		c.release()
		c.deadline.Store(cs.now.Load() + idleTimeout)
		c.waiting.Store(true)
	case http.StateClosed, http.StateHijacked:
		cs.mu.Lock()
		cs.forgetLocked(c)
		cs.mu.Unlock()
	}
}

// run sweeps once a second until the context ends; the shutdown closes the rest. It reports refused connections once a
// minute at most.
func (cs *conns) run(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for reported := int64(-reportEvery); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			cs.sweep()
		}
		if now := cs.now.Load(); now-reported >= reportEvery {
			if refused := cs.takeRefused(); refused > 0 {
				log.Warn("refused connections over --max-connections or --max-connections-per-address", "refused", refused)
				reported = now
			}
		}
	}
}

// reportEvery is how many seconds there are between two reports.
const reportEvery = 60

// takeRefused returns how many connections were refused since the last call.
func (cs *conns) takeRefused() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	refused := cs.refused
	cs.refused = 0
	return refused
}

// sweep advances the time by a second and closes what has taken too long.
func (cs *conns) sweep() {
	now := cs.now.Add(1)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	clear(cs.attempts)
	for c := range cs.all {
		if c.deadline.Load() <= now {
			_ = c.Conn.Close() // the server notices and forgets the connection
		}
	}
}
