package web

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/assaydata/assay"
)

// conns watches the connections of a server. It bounds how many there are (connlimit.go), and it closes those that wait
// too long for a request, whether none arrives or one arrives too slowly, and those whose response takes too long. The
// timeouts of http.Server would set several timers per request, which costs more than serving it; here a request costs
// two atomic stores, and one sweep per second checks all connections.
type conns struct {
	limits  func() ConnectionLimits
	trusted func(netip.Addr) bool // proxies, which have the connections of many clients
	now     atomic.Int64          // seconds since the start, moved by the sweep

	mu        sync.Mutex
	all       map[*conn]struct{} // guarded by mu
	addresses map[netip.Addr]int // how many connections each has; guarded by mu
	attempts  map[netip.Addr]int // how many each has tried to open since the last sweep; guarded by mu
	refused   int                // since the last report; guarded by mu

	refusedEver int // since the start; guarded by mu

	failed      int   // TLS handshakes since the last report; guarded by mu
	failedEver  int   // since the start; guarded by mu
	lastFailure error // of the last of them since the last report; guarded by mu
}

// Limits in seconds: of the wait for the first request, of the wait for the next, and of a response.
const (
	newTimeout      = 10
	idleTimeout     = 120
	responseTimeout = 150
)

// conn is a connection that has a deadline.
type conn struct {
	net.Conn              // what is read and written: raw, or TLS over it
	raw      net.Conn     // the connection of the system; any goroutine may close it
	secure   bool         // Conn is TLS; set before the connection is served
	held     atomic.Int32 // streams of HTTP/2, which have limits of time of their own
	owner    *conns
	address  netip.Addr   // what the client counts as
	exempt   bool         // from the limit of one address
	deadline atomic.Int64 // second at which it is closed
	waiting  atomic.Bool  // for a request
	lingers  atomic.Bool  // before it closes, because the client may still send a body
	unread   []byte       // what was read from it before net/http has got it
	reshape  func(written []byte, secure bool) []byte
}

// connOf returns the connection below what the HTTP servers have of it; nil for one of a test.
func connOf(nc net.Conn) *conn {
	switch nc := nc.(type) {
	case *conn:
		return nc
	case *secureConn:
		return nc.conn
	case *tls.Conn:
		if raw, ok := nc.NetConn().(*rawConn); ok {
			return raw.conn
		}
	}
	return nil
}

// Write writes what net/http sends, or in its place what reshape returns, unless that is nil.
func (c *conn) Write(p []byte) (int, error) {
	reshaped := c.reshape(p, c.secure)
	if reshaped == nil {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(reshaped); err != nil {
		return 0, err
	}
	return len(p), nil
}

// SyscallConn is for those who make the system calls of the connection themselves.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		return tcp.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// Read reads what was read before, then the connection.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.unread) > 0 {
		n := copy(p, c.unread)
		c.unread = c.unread[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// lingerTime is how long a connection waits for the rest of a body that no one wants: as long as net/http does.
const lingerTime = 500 * time.Millisecond

// Close closes the connection. If the client may still send a body, it first reads what comes: closing with unread
// bytes would reset the connection, and the client would lose the response.
func (c *conn) Close() error {
	if !c.lingers.Swap(false) {
		return c.Conn.Close()
	}
	err := c.CloseWrite()
	if err == nil {
		err = c.SetReadDeadline(time.Now().Add(lingerTime))
	}
	if err == nil {
		_, _ = io.CopyN(io.Discard, c.raw, maxSkipped) // whether it ends or not
	}
	return c.Conn.Close()
}

// CloseWrite is how the server ends a connection of which it has not read everything, so that its last response is not
// lost.
func (c *conn) CloseWrite() error {
	if secured, ok := c.Conn.(*tls.Conn); ok {
		if err := secured.CloseWrite(); err != nil {
			return err
		}
	}
	if tcp, ok := c.raw.(*net.TCPConn); ok {
		return tcp.CloseWrite()
	}
	return nil
}

type connKey struct{}

func withConn(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, connOf(nc))
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
	conns   *conns
	refuse  func(net.Conn, *assay.Error)             // responds to a connection over a limit, and closes it
	reshape func(written []byte, secure bool) []byte // see conn.Write
}

// Accept waits for the next connection that is within the limits.
func (l listener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: nc, raw: nc, owner: l.conns, reshape: l.reshape}
		refusal := l.conns.admit(c)
		if refusal == nil {
			return c, nil
		}
		l.refuse(nc, refusal)
	}
}

// changed is called when a connection changes its state.
func (cs *conns) changed(nc net.Conn, state http.ConnState) {
	c := connOf(nc)
	if c == nil {
		return
	}
	switch state {
	case http.StateNew: // admitted before
	case http.StateActive:
		c.waiting.Store(false)
		c.deadline.Store(cs.now.Load() + responseTimeout)
	case http.StateIdle:
		c.deadline.Store(cs.now.Load() + idleTimeout)
		c.waiting.Store(true)
	case http.StateHijacked: // a stream, which is still a connection
	case http.StateClosed:
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
			if failed, why := cs.takeFailed(); failed > 0 {
				log.Warn("TLS handshakes have failed", "failed", failed, "last_error", why)
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

// takeFailed returns how many TLS handshakes have failed since the last call, and why the last of them did.
func (cs *conns) takeFailed() (failed int, why error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	failed, why = cs.failed, cs.lastFailure
	cs.failed, cs.lastFailure = 0, nil
	return failed, why
}

// sweep advances the time by a second and closes what has taken too long.
func (cs *conns) sweep() {
	now := cs.now.Add(1)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	clear(cs.attempts)
	for c := range cs.all {
		if c.deadline.Load() <= now && c.held.Load() == 0 {
			_ = c.raw.Close() // the server notices and forgets the connection
		}
	}
}
