// Package http1 serves the requests that nearly every client sends, plain GET and HEAD over HTTP/1.1, at about half the
// cost of net/http.
//
// It reads a request in one system call, understands only a strict grammar (parse.go), fills a request that it uses
// again and again, calls the handler on the goroutine of the connection, and sends head and body in one system call,
// for several requests together if the client has sent several. None of this needs a timer, a second goroutine or,
// apart from the text of the head, an allocation.
//
// What is not in the grammar is not wrong: a body, another method, an older version, an unusual header. The connection
// is handed to net/http with the bytes that were read, and stays there. So this package rejects nothing, and it must
// not accept what net/http would reject or read differently. A fuzz test compares the two.
//
// Handlers are those of net/http, with three restrictions that save copies: they do not change the header of a request,
// they keep nothing of it when they return, and they name the content type of a body.
package http1

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// Server serves connections.
type Server struct {
	Handler http.Handler
	// Changed gets the states of a connection, like ConnState of http.Server.
	Changed func(net.Conn, http.ConnState)
	// HandOff takes over a connection whose next request is not for this package, with what was read of that.
	HandOff func(nc net.Conn, unread []byte)
	Log     *slog.Logger

	stopping atomic.Bool
	mu       sync.Mutex
	conns    map[*conn]struct{} // guarded by mu
	empty    chan struct{}      // closed when the last connection of a server that stops has ended; guarded by mu
}

// ServeConn serves a connection until it ends or is handed off.
func (s *Server) ServeConn(nc net.Conn) {
	s.Changed(nc, http.StateNew)
	c := newConn(s, nc)
	handOff, unread := false, []byte(nil)
	if s.add(c) {
		unread, handOff = c.serve()
		s.remove(c)
	}
	if c.taken != nil {
		go c.taken(nc) // on a stack that no handler has made large
		return
	}
	if handOff {
		s.HandOff(nc, unread)
		return
	}
	_ = nc.Close() // there is no one to tell
	s.Changed(nc, http.StateClosed)
}

// add registers a connection, unless the server stops.
func (s *Server) add(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		return false
	}
	if s.conns == nil {
		s.conns = map[*conn]struct{}{}
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.tellEmptyLocked()
}

func (s *Server) tellEmptyLocked() {
	if s.empty != nil && len(s.conns) == 0 {
		close(s.empty)
		s.empty = nil
	}
}

// Shutdown ends the connections that wait for a request, lets the others finish the one they serve, and returns when
// all have ended or the context does. After that the server serves nothing.
func (s *Server) Shutdown(ctx context.Context) error {
	empty := make(chan struct{})
	s.mu.Lock()
	s.stopping.Store(true)
	for c := range s.conns {
		if c.idle.Load() {
			c.wake()
		}
	}
	s.empty = empty
	s.tellEmptyLocked()
	s.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes all connections.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping.Store(true)
	for c := range s.conns {
		_ = c.nc.Close() // its goroutine notices
	}
}
