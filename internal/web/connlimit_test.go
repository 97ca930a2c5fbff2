package web

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// refused wants a response without having sent a request, and the end of the connection.
func (c *client) refused(status int, message string) {
	c.t.Helper()
	c.refusedFor("10", status, message)
}

// refusedFor is refused with another Retry-After.
func (c *client) refusedFor(seconds string, status int, message string) {
	c.t.Helper()
	response, err := http.ReadResponse(c.Reader, nil)
	if err != nil {
		c.t.Fatalf("the connection is not refused: %v", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status || !strings.Contains(string(body), message) ||
		!strings.Contains(string(body), `"code":"too_many_connections"`) || response.Header.Get("Retry-After") != seconds {
		c.t.Errorf("refused with %s %v %s (%v), want %d and %q", response.Status, response.Header, body, err, status, message)
	}
	if _, err := c.ReadByte(); err == nil {
		c.t.Error("the connection stays open")
	}
}

func (c *client) served() {
	c.t.Helper()
	c.send(someRequest)
	c.answered()
}

// One address cannot have more connections than allowed. It does not matter to others, and a closed one makes room.
func TestConnections_PerAddress(t *testing.T) {
	onBothPaths(t, func(t *testing.T, standardOnly bool) {
		s := newLimitedServer(t, standardOnly, ConnectionLimits{Total: 100, PerAddress: 3})
		open := make([]*client, 3)
		for i := range open {
			open[i] = s.dialFrom(t, "127.0.0.2")
			open[i].served()
		}
		s.dialFrom(t, "127.0.0.2").refused(http.StatusTooManyRequests, "Your address has 3 connections open")
		s.dialFrom(t, "127.0.0.3").served()
		open[0].Close()
		s.waitFor(t, http.StateClosed)
		s.dialFrom(t, "127.0.0.2").served()
	})
}

// wantReset wants a connection to be reset, before or after it was opened.
func (s *watchedServer) wantReset(t *testing.T, address string) {
	t.Helper()
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	conn, err := from.DialContext(t.Context(), "tcp", s.address)
	if err == nil {
		defer conn.Close()
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a flood ends with %v, want a reset", err)
	}
}

// An address that opens connections too fast is refused, at first with a response, until the next second.
func TestConnections_Rate(t *testing.T) {
	onBothPaths(t, func(t *testing.T, standardOnly bool) {
		limits := ConnectionLimits{Total: 1000, PerAddress: 100}
		s := newLimitedServer(t, standardOnly, limits)
		for range 2 {
			for range limits.perSecond() {
				c := s.dialFrom(t, "127.0.0.2")
				c.served()
				c.Close()
				s.waitFor(t, http.StateClosed)
			}
			for range limits.perSecond() {
				s.dialFrom(t, "127.0.0.2").refusedFor("1", http.StatusTooManyRequests, "Your address has opened 50 connections within a second")
			}
			for range 3 {
				s.wantReset(t, "127.0.0.2")
			}
			s.dialFrom(t, "127.0.0.3").served()
			s.dialFrom(t, "127.0.0.9").served() // a trusted proxy
			s.sweep()
		}
		if refused, want := s.takeRefused(), 2*(limits.perSecond()+3); refused != want {
			t.Errorf("%d connections are reported as refused, want %d", refused, want)
		}
	})
}

// A trusted proxy has the connections of all its clients.
func TestConnections_TrustedProxy(t *testing.T) {
	onBothPaths(t, func(t *testing.T, standardOnly bool) {
		s := newLimitedServer(t, standardOnly, ConnectionLimits{Total: 100, PerAddress: 3})
		for range 10 {
			s.dialFrom(t, "127.0.0.9").served()
		}
	})
}

// When all connections are taken, those that wait for a request make room, beginning with the address that has most.
// Connections at work stay, and no one can push out others with as few connections as their own.
func TestConnections_Total(t *testing.T) {
	onBothPaths(t, func(t *testing.T, standardOnly bool) {
		s := newLimitedServer(t, standardOnly, ConnectionLimits{Total: 6, PerAddress: 6})
		busy := s.dialFrom(t, "127.0.0.2")
		busy.send(slowRequest)
		s.waitFor(t, http.StateActive)
		idle := make([]*client, 4)
		for i := range idle {
			idle[i] = s.dialFrom(t, "127.0.0.2")
			idle[i].served()
		}
		other := s.dialFrom(t, "127.0.0.3")
		other.served()
		for _, newcomer := range []string{"127.0.0.4", "127.0.0.5", "127.0.0.6"} {
			s.dialFrom(t, newcomer).served()
		}
		closed := 0
		for _, c := range idle {
			c.send(someRequest)
			if _, err := http.ReadResponse(c.Reader, nil); err != nil {
				closed++
			}
		}
		if closed != 3 {
			t.Errorf("%d idle connections were closed, want 3", closed)
		}
		other.served()
		s.release <- struct{}{}
		busy.answered()
		// 127.0.0.2 has two, all others one: no one has more than one more than a newcomer.
		s.dialFrom(t, "127.0.0.3").refused(http.StatusServiceUnavailable, "as many connections as it can serve")
		if refused := s.takeRefused(); refused != 1 {
			t.Errorf("%d connections are reported as refused, want 1", refused)
		}
	})
}
