// Package relay stands between a program and a server that it leans on, and spoils what passes the way networks do. Tests and
// drills use it to see what becomes of the program.
//
// A relay passes bytes until it is told of a fault. It knows nothing of what it carries, so it does for any protocol over TCP.
package relay

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Fault is what happens to connections, those that are there and new ones.
type Fault string

// The faults.
const (
	None    Fault = ""        // everything passes
	Silent  Fault = "silent"  // connections are made and stay, and nothing passes; what was sent arrives once the fault is over
	Slow    Fault = "slow"    // everything arrives slowBy later
	Trickle Fault = "trickle" // one byte at a time, trickleEvery apart
	Reset   Fault = "reset"   // every connection is reset
	Down    Fault = "down"    // every connection is reset, and no new one can be made
)

// Faults are all but None.
var Faults = []Fault{Silent, Slow, Trickle, Reset, Down}

const (
	slowBy       = 200 * time.Millisecond
	trickleEvery = 20 * time.Millisecond
)

// Relay is one address that leads to a server. It is safe for concurrent use.
type Relay struct {
	address string
	target  string
	work    sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // nil while down
	fault    Fault
	changed  chan struct{} // closed when the fault changes
	conns    map[net.Conn]bool
	closed   bool
}

// Open listens on a spare port of loopback for connections to target, which is HOST:PORT.
func Open(target string) (*Relay, error) {
	r := &Relay{address: "127.0.0.1:0", target: target, changed: make(chan struct{}), conns: map[net.Conn]bool{}}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r, r.listenLocked()
}

// Address is where the relay listens, as HOST:PORT. It stays the same.
func (r *Relay) Address() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.address
}

// Set begins a fault, or ends it with None. It takes effect at once, also on what is on its way.
func (r *Relay) Set(fault Fault) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return net.ErrClosed
	}
	r.fault = fault
	close(r.changed)
	r.changed = make(chan struct{})
	if fault == Reset || fault == Down {
		r.resetLocked()
	}
	if fault == Down {
		return r.hushLocked()
	}
	return r.listenLocked()
}

// Close ends all connections, and returns once nothing is left running.
func (r *Relay) Close() error {
	r.mu.Lock()
	r.closed = true
	close(r.changed)
	r.resetLocked()
	err := r.hushLocked()
	r.mu.Unlock()
	r.work.Wait()
	return err
}

func (r *Relay) listenLocked() error {
	if r.listener != nil {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", r.address)
	if err != nil {
		return err
	}
	r.listener, r.address = listener, listener.Addr().String()
	r.work.Go(func() { r.accept(listener) })
	return nil
}

func (r *Relay) hushLocked() error {
	if r.listener == nil {
		return nil
	}
	err := r.listener.Close()
	r.listener = nil
	return err
}

func (r *Relay) resetLocked() {
	for conn := range r.conns {
		_ = conn.(*net.TCPConn).SetLinger(0) // so that the other side sees a reset, not an end, whoever closes it first
	}
	for conn := range r.conns {
		_ = conn.Close()
	}
	clear(r.conns)
}

func (r *Relay) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			r.work.Go(func() { r.carry(conn) })
		}
	}
}

// carry connects a client with the server until one of them ends.
func (r *Relay) carry(client net.Conn) {
	if !r.keep(client) {
		return
	}
	defer r.drop(client)
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", r.target)
	if err != nil || !r.keep(server) {
		return
	}
	defer r.drop(server)
	var back sync.WaitGroup
	back.Go(func() { r.copy(client, server) })
	r.copy(server, client)
	back.Wait()
}

// keep remembers a connection, so that a fault can end it.
func (r *Relay) keep(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[conn] = true
	if r.closed || r.fault == Reset || r.fault == Down {
		r.resetLocked()
		return false
	}
	return true
}

func (r *Relay) drop(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, conn)
	_ = conn.Close()
}

// copy carries one direction, and ends both when it ends.
func (r *Relay) copy(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	room := make([]byte, 32<<10)
	for {
		n, err := from.Read(room)
		if r.pass(to, room[:n]) != nil || err != nil {
			return
		}
	}
}
