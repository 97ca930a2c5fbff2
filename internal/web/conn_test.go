package web

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"
)

// watchedServer is a server on loopback whose sweeps the test makes by hand: no test waits for a second to pass.
type watchedServer struct {
	*conns
	address string
	states  chan http.ConnState // every state that conns has received
	release chan struct{}       // lets one response at /slow continue
}

func newWatchedServer(t *testing.T, standardOnly bool) *watchedServer {
	t.Helper()
	return newLimitedServer(t, standardOnly, ConnectionLimits{})
}

// newLimitedServer makes a server that trusts the proxy 127.0.0.9.
func newLimitedServer(t *testing.T, standardOnly bool, limits ConnectionLimits) *watchedServer {
	t.Helper()
	trusted := func(address netip.Addr) bool { return address == netip.MustParseAddr("127.0.0.9") }
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := newConns(func() ConnectionLimits { return limits }, trusted)
	s := &watchedServer{conns, l.Addr().String(), make(chan http.ConnState, 100), make(chan struct{})}
	both := newServers(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-s.release
		}
		_, _ = io.WriteString(w, "answer")
	}), func(conn net.Conn, state http.ConnState) {
		s.changed(conn, state)
		s.states <- state
	}, slog.New(slog.DiscardHandler), standardOnly)
	served := make(chan error)
	go func() {
		watched := listener{l, s.conns, new(Server).refuse, new(Server).inOurShape}
		served <- both.serve(context.Background(), watched)
	}()
	t.Cleanup(func() {
		close(s.release)
		_ = l.Close()
		<-served
	})
	return s
}

// onBothPaths runs a test with http1 before net/http, and with net/http alone.
func onBothPaths(t *testing.T, test func(t *testing.T, standardOnly bool)) {
	t.Helper()
	t.Parallel()
	for name, standardOnly := range map[string]bool{"fast": false, "standard": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, standardOnly)
		})
	}
}

// client is the other end of a connection.
type client struct {
	net.Conn
	*bufio.Reader
	t *testing.T
}

func (s *watchedServer) dial(t *testing.T) *client {
	t.Helper()
	c := s.dialFrom(t, "127.0.0.1")
	s.waitFor(t, http.StateNew)
	return c
}

// dialFrom connects from an address of loopback.
func (s *watchedServer) dialFrom(t *testing.T, address string) *client {
	t.Helper()
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	conn, err := from.DialContext(t.Context(), "tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	// A test that would hang fails instead.
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &client{conn, bufio.NewReader(conn), t}
}

// waitFor waits until the server reports a state.
func (s *watchedServer) waitFor(t *testing.T, want http.ConnState) {
	t.Helper()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case state := <-s.states:
			if state == want {
				return
			}
		case <-timeout:
			t.Fatalf("no connection has become %s", want)
		}
	}
}

func (s *watchedServer) sweeps(n int) {
	for range n {
		s.sweep()
	}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.t.Fatal(err)
	}
}

// answered reads a response.
func (c *client) answered() {
	c.t.Helper()
	response, err := http.ReadResponse(c.Reader, nil)
	if err != nil {
		c.t.Fatalf("no answer: %v", err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "answer" {
		c.t.Fatalf("answered %q, %v", body, err)
	}
}

// closed checks that the server has closed the connection without a word, and forgotten it.
func (c *client) closed(s *watchedServer) {
	c.t.Helper()
	if b, err := c.ReadByte(); err == nil {
		c.t.Fatalf("the server says %q where it should have closed the connection", b)
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatal("the connection is open")
	}
	s.waitFor(c.t, http.StateClosed)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) != 0 {
		c.t.Errorf("%d connections are remembered", len(s.all))
	}
}

const (
	someRequest  = "GET / HTTP/1.1\r\nHost: assay\r\n\r\n"
	slowRequest  = "GET /slow HTTP/1.1\r\nHost: assay\r\n\r\n"
	longRequest  = "GET / HTTP/1.1\r\nHost: assay\r\nX-Padding: " // continues byte by byte
	withoutBody  = "POST / HTTP/1.1\r\nHost: assay\r\nContent-Length: 5\r\n\r\n"
	endOfRequest = "\r\n\r\n"
)

func TestConns_FirstRequest(t *testing.T) {
	onBothPaths(t, func(t *testing.T, standardOnly bool) {
		s := newWatchedServer(t, standardOnly)
		c := s.dial(t)
		s.sweeps(newTimeout - 1)
		c.send(someRequest)
		c.answered()
		s.waitFor(t, http.StateIdle)
		s.sweeps(idleTimeout)
		c.closed(s)

		c = s.dial(t)
		s.sweeps(newTimeout)
		c.closed(s)
	})
}

func TestConns_DropByDrop(t *testing.T) {
	onBothPaths(t, func(t *testing.T, standardOnly bool) {
		s := newWatchedServer(t, standardOnly)
		c := s.dial(t)
		c.send(longRequest)
		for range newTimeout - 1 {
			c.send("x")
			s.sweep()
		}
		c.send(endOfRequest)
		c.answered()
		s.waitFor(t, http.StateIdle)

		// The second request of a connection has the time of its wait.
		c.send(longRequest)
		for range idleTimeout {
			c.send("x")
			s.sweep()
		}
		c.closed(s)

		c = s.dial(t)
		c.send(longRequest)
		for range newTimeout {
			c.send("x")
			s.sweep()
		}
		c.closed(s)
	})
}

func TestConns_NextRequest(t *testing.T) {
	onBothPaths(t, func(t *testing.T, standardOnly bool) {
		s := newWatchedServer(t, standardOnly)
		c := s.dial(t)
		for range 3 {
			c.send(someRequest)
			c.answered()
			s.waitFor(t, http.StateIdle)
			s.sweeps(idleTimeout - 1)
		}
		s.sweep()
		c.closed(s)
	})
}

func TestConns_WhileResponding(t *testing.T) {
	onBothPaths(t, func(t *testing.T, standardOnly bool) {
		s := newWatchedServer(t, standardOnly)
		c := s.dial(t)
		c.send(slowRequest)
		s.waitFor(t, http.StateActive)
		s.sweeps(responseTimeout - 1) // longer than any wait for a request
		s.release <- struct{}{}
		c.answered()
		s.waitFor(t, http.StateIdle)
		s.sweeps(idleTimeout)
		c.closed(s)
	})
}

// net/http waits for a request's body before it responds, although no handler reads it.
func TestConns_BodyNeverComes(t *testing.T) {
	onBothPaths(t, func(t *testing.T, standardOnly bool) {
		s := newWatchedServer(t, standardOnly)
		c := s.dial(t)
		c.send(withoutBody)
		s.waitFor(t, http.StateActive)
		s.sweeps(responseTimeout)
		c.closed(s)
	})
}

// A server that has not read all of a request says its last word, ends its side and waits a little, so that the word is
// not lost. For that it must be able to end one side of the connection.
func TestConns_LastWordIsRead(t *testing.T) {
	onBothPaths(t, func(t *testing.T, standardOnly bool) {
		s := newWatchedServer(t, standardOnly)
		c := s.dial(t)
		c.send("POST / HTTP/1.1\r\nHost: assay\r\nContent-Length: 10000000\r\n\r\n" + strings.Repeat("x", 100_000))
		c.answered()
		if _, err := c.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("the answer ends with %v, not with the end of the connection", err)
		}
	})
}
