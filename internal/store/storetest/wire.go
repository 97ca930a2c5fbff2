package storetest

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Wire leads to a server, and can be broken. Cut, what goes over it breaks off, and nobody gets through; stalled, nothing comes
// through, and nobody is told. Both last until it is mended.
type Wire struct {
	listener net.Listener
	to       string

	mu      sync.Mutex
	moved   *sync.Cond // of mu: cut or stalled has changed
	cut     bool
	stalled bool
	conns   map[net.Conn]bool
}

// NewWire lays a wire to the server of an address; it goes away with the test.
func NewWire(t testing.TB, address string) *Wire {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal("the address of the server is none")
	}
	w := &Wire{to: u.Host, conns: map[net.Conn]bool{}}
	w.moved = sync.NewCond(&w.mu)
	if w.listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := w.listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { w.carry(t.Context(), conn) })
		}
	})
	t.Cleanup(func() {
		_ = w.listener.Close()
		w.Cut()
		running.Wait()
	})
	return w
}

// Of is an address of the server, over the wire.
func (w *Wire) Of(address string) string { return at(address, w.listener.Addr().String()) }

// Cut ends all connections, and lets none through.
func (w *Wire) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	w.moved.Broadcast()
	for conn := range w.conns {
		_ = conn.Close()
	}
}

// Stall holds back what goes over the wire; the connections stay.
func (w *Wire) Stall() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stalled = true
}

// Mend lets everything through again.
func (w *Wire) Mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut, w.stalled = false, false
	w.moved.Broadcast()
}

// carry brings what comes on one side to the other, until either ends.
func (w *Wire) carry(ctx context.Context, near net.Conn) {
	defer func() { _ = near.Close() }()
	if !w.hold(near) {
		return
	}
	defer w.release(near)
	far, err := (&net.Dialer{}).DialContext(ctx, "tcp", w.to)
	if err != nil {
		return
	}
	defer func() { _ = far.Close() }()
	if !w.hold(far) {
		return
	}
	defer w.release(far)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(far, held{near, w})
		_ = far.Close()
	}()
	_, _ = io.Copy(near, held{far, w})
	_ = near.Close()
	<-done
}

// held is one side of a wire, which hands over nothing while the wire is stalled.
type held struct {
	io.Reader
	wire *Wire
}

func (h held) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	h.wire.mu.Lock()
	defer h.wire.mu.Unlock()
	for h.wire.stalled && !h.wire.cut {
		h.wire.moved.Wait()
	}
	return n, err
}

func (w *Wire) hold(conn net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.cut {
		w.conns[conn] = true
	}
	return !w.cut
}

func (w *Wire) release(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, conn)
}
