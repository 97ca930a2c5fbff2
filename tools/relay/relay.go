// Package relay forwards TCP connections between a program and a server, and injects network faults: silence, delay,
// resets. Tests and drills use it to see how the program copes. It works with any protocol over TCP.
package relay

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Fault is what happens to connections, both open and new ones.
type Fault string

// The faults.
const (
	None    Fault = ""        // everything is forwarded
	Silent  Fault = "silent"  // connections stay open, and bytes are held until the fault is over
	Slow    Fault = "slow"    // everything is delayed by slowBy
	Trickle Fault = "trickle" // one byte at a time, trickleEvery apart
	Reset   Fault = "reset"   // every connection is reset
	Down    Fault = "down"    // every connection is reset, and new ones are refused
)

// Faults are all but None.
var Faults = []Fault{Silent, Slow, Trickle, Reset, Down}

const (
	slowBy       = 200 * time.Millisecond
	trickleEvery = 20 * time.Millisecond
)

// Relay is an address that forwards to a server. It is safe for concurrent use.
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

// Open listens on a spare loopback port and forwards connections to target, which is HOST:PORT.
func Open(target string) (*Relay, error) {
	r := &Relay{address: "127.0.0.1:0", target: target, changed: make(chan struct{}), conns: map[net.Conn]bool{}}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r, r.listenLocked()
}

// Address is where the relay listens, as HOST:PORT. It never changes.
func (r *Relay) Address() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.address
}

// Set begins a fault, or ends it with None. It takes effect immediately, also on bytes in transit.
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
		return r.stopListeningLocked()
	}
	return r.listenLocked()
}

// Close ends all connections and returns when all goroutines have ended.
func (r *Relay) Close() error {
	r.mu.Lock()
	r.closed = true
	close(r.changed)
	r.resetLocked()
	err := r.stopListeningLocked()
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

func (r *Relay) stopListeningLocked() error {
	if r.listener == nil {
		return nil
	}
	err := r.listener.Close()
	r.listener = nil
	return err
}

func (r *Relay) resetLocked() {
	for conn := range r.conns {
		_ = conn.(*net.TCPConn).SetLinger(0) // so that the other side sees a reset, not an orderly end
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
			r.work.Go(func() { r.forward(conn) })
		}
	}
}

// forward connects a client with the server until one of them ends.
func (r *Relay) forward(client net.Conn) {
	if !r.register(client) {
		return
	}
	defer r.remove(client)
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", r.target)
	if err != nil || !r.register(server) {
		return
	}
	defer r.remove(server)
	var back sync.WaitGroup
	back.Go(func() { r.copy(client, server) })
	r.copy(server, client)
	back.Wait()
}

// register adds a connection, so that a fault can end it. It returns false if a fault ended it.
func (r *Relay) register(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[conn] = true
	if r.closed || r.fault == Reset || r.fault == Down {
		r.resetLocked()
		return false
	}
	return true
}

func (r *Relay) remove(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, conn)
	_ = conn.Close()
}

// copy forwards one direction, and ends both when it ends.
func (r *Relay) copy(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if r.write(to, buffer[:n]) != nil || err != nil {
			return
		}
	}
}
