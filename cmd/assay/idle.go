package main

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// idleConns closes connections that wait too long for a request, be it that none comes or that one comes drop by drop.
// The server's own timeouts would set several timers a request, which costs more than our answer to it; here a request
// costs two atomic stores, and one sweep a second looks at all connections.
type idleConns struct {
	now   atomic.Int64 // seconds since the start, moved by the sweep
	mu    sync.Mutex
	conns map[*idleConn]struct{} // guarded by mu
}

// Limits of the wait for a request, in seconds: for the first one, and for the next.
const (
	newTimeout  = 10
	idleTimeout = 120
)

// idleConn is a connection that knows until when it may wait.
type idleConn struct {
	net.Conn
	deadline atomic.Int64 // second at which it is closed; 0 while a request is being answered
}

func newIdleConns() *idleConns { return &idleConns{conns: map[*idleConn]struct{}{}} }

// idleListener accepts connections that can be watched.
type idleListener struct{ net.Listener }

// Accept waits for the next connection.
func (l idleListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &idleConn{Conn: conn}, nil
}

// changed is the server's word on what a connection does: it is active from the moment a request has been read until its
// answer is written, and waits otherwise.
func (i *idleConns) changed(conn net.Conn, state http.ConnState) {
	c, ok := conn.(*idleConn)
	if !ok {
		return
	}
	switch state {
	case http.StateNew:
		c.deadline.Store(i.now.Load() + newTimeout)
		i.mu.Lock()
		i.conns[c] = struct{}{}
		i.mu.Unlock()
	case http.StateActive:
		c.deadline.Store(0)
	case http.StateIdle:
		c.deadline.Store(i.now.Load() + idleTimeout)
	case http.StateClosed, http.StateHijacked:
		i.mu.Lock()
		delete(i.conns, c)
		i.mu.Unlock()
	}
}

// run sweeps once a second until the context ends; the shutdown closes the rest.
func (i *idleConns) run(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			i.sweep()
		}
	}
}

// sweep moves the time on by a second and closes what has waited too long.
func (i *idleConns) sweep() {
	now := i.now.Add(1)
	i.mu.Lock()
	defer i.mu.Unlock()
	for c := range i.conns {
		if deadline := c.deadline.Load(); deadline != 0 && deadline <= now {
			_ = c.Close() // the server hears of it and forgets the connection
		}
	}
}
