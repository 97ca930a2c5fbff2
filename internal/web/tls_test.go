package web

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/assaydata/assay/internal/certtest"
)

// newTLSServer is newLimitedServer with TLS. It returns what a client needs.
func newTLSServer(
	t *testing.T, standardOnly bool, limits ConnectionLimits, handler http.HandlerFunc,
) (s *watchedServer, client *tls.Config) {
	t.Helper()
	authority := certtest.New(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := newConns(func() ConnectionLimits { return limits }, func(netip.Addr) bool { return false })
	s = &watchedServer{conns, l.Addr().String(), make(chan http.ConnState, 1000), make(chan struct{})}
	all := newServers(handler, func(conn net.Conn, state http.ConnState) {
		s.changed(conn, state)
		select {
		case s.states <- state:
		default: // the test does not look
		}
	}, slog.New(slog.DiscardHandler), standardOnly)
	all.addTLS(&tls.Config{
		Certificates: []tls.Certificate{authority.Pair("assay.example")}, NextProtos: []string{"h2", "http/1.1"},
		MinVersion: tls.VersionTLS12,
	}, new(Server).plainRefused)
	served := make(chan error)
	ctx, stop := context.WithCancel(context.Background())
	go func() { served <- all.serve(ctx, listener{l, conns, reset, new(Server).inOurShape}) }()
	t.Cleanup(func() {
		close(s.release)
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s, &tls.Config{RootCAs: authority.Pool(), ServerName: "assay.example", MinVersion: tls.VersionTLS12}
}

// whether is what a handler says of the connection.
func whether(w http.ResponseWriter, r *http.Request) {
	text := r.Proto + " in the clear"
	if r.TLS != nil && r.TLS.HandshakeComplete {
		text = r.Proto + " over TLS"
	}
	_, _ = io.WriteString(w, text)
}

// speak makes the handshake of HTTP/1.1 on a connection.
func (c *client) speak(config *tls.Config) *client {
	c.t.Helper()
	secured := tls.Client(c.Conn, config)
	if err := secured.HandshakeContext(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	return &client{secured, bufio.NewReader(secured), c.t}
}

func (c *client) says(want string) *http.Response {
	c.t.Helper()
	response, err := http.ReadResponse(c.Reader, nil)
	if err != nil {
		c.t.Fatalf("no response: %v", err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != want {
		c.t.Fatalf("the response is %q, %v; want %q", body, err, want)
	}
	return response
}

// A client that does not finish the handshake is closed as one that sends no request, and is counted like any other.
func TestTLS_HandshakeStalls(t *testing.T) {
	t.Parallel()
	f := func(name string, begin func(c *client, config *tls.Config)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, config := newTLSServer(t, false, ConnectionLimits{PerAddress: 1}, whether)
			c := s.dialFrom(t, "127.0.0.1")
			begin(c, config)
			s.admitted(t, 1)
			if other, err := net.Dial("tcp", s.address); err == nil { // over the limit: it is reset, now or a little later
				if _, err := other.Read(make([]byte, 1)); err == nil {
					t.Error("a second connection gets a response")
				}
				other.Close()
			}
			s.sweeps(newTimeout - 1)
			s.admitted(t, 1)
			s.sweep()
			_, _ = io.Copy(io.Discard, c.Conn) // what the server said before it closed the connection
			s.admitted(t, 0)
			if failed, err := s.takeFailed(); failed != 1 || err == nil {
				t.Errorf("%d handshakes have failed (%v), want 1", failed, err)
			}
		})
	}
	f("silent", func(*client, *tls.Config) {})
	f("within the first message", func(c *client, _ *tls.Config) { c.send("\x16\x03\x01\x02\x00\x01\x00") })
	f("before the last message", func(c *client, config *tls.Config) {
		// It sends its first message and reads no reply.
		if err := tls.Client(&deaf{c.Conn}, config).HandshakeContext(c.t.Context()); err == nil {
			c.t.Error("the handshake ends without a reply")
		}
	})
}

// deaf is a connection whose client does not read and that it cannot close.
type deaf struct{ net.Conn }

func (*deaf) Read([]byte) (int, error) { return 0, io.EOF }

func (*deaf) Close() error { return nil }

// admitted waits until so many connections are there.
func (s *watchedServer) admitted(t *testing.T, want int) {
	t.Helper()
	for timeout := time.After(10 * time.Second); ; {
		s.mu.Lock()
		got := len(s.all)
		s.mu.Unlock()
		if got == want {
			return
		}
		select {
		case <-timeout:
			t.Fatalf("there are %d connections, want %d", got, want)
		case <-time.After(time.Millisecond):
		}
	}
}

// HTTP/1.1 over TLS is what it is without: requests one after the other, deadlines, and the change to net/http.
func TestTLS_HTTP1(t *testing.T) {
	onBothPaths(t, func(t *testing.T, standardOnly bool) {
		s, config := newTLSServer(t, standardOnly, ConnectionLimits{}, whether)
		c := s.dialFrom(t, "127.0.0.1").speak(config)
		for range 3 {
			c.send(someRequest)
			c.says("HTTP/1.1 over TLS")
			s.waitFor(t, http.StateIdle)
			s.sweeps(idleTimeout - 1)
		}
		c.send(someRequest + someRequest)
		c.says("HTTP/1.1 over TLS")
		c.says("HTTP/1.1 over TLS")
		c.send("POST / HTTP/1.1\r\nHost: assay\r\nContent-Length: 2\r\n\r\n{}")
		c.says("HTTP/1.1 over TLS")
		c.send("GET / HTTP/1.0\r\n\r\n")
		c.says("HTTP/1.0 over TLS")
		c.closed(s)
	})
}

// A request that is no HTTP gets the error in the shape of all, with the header that all have over TLS.
func TestTLS_MalformedRequest(t *testing.T) {
	onBothPaths(t, func(t *testing.T, standardOnly bool) {
		s, config := newTLSServer(t, standardOnly, ConnectionLimits{}, whether)
		c := s.dialFrom(t, "127.0.0.1").speak(config)
		c.send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
		response, err := http.ReadResponse(c.Reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		if response.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), `"malformed_request"`) ||
			response.Header.Get("Strict-Transport-Security") != onlyTLS {
			t.Errorf("%s %v %s", response.Status, response.Header, body)
		}
	})
}

// A client that begins without TLS gets an error in HTTP, which it understands.
func TestTLS_RequestInTheClear(t *testing.T) {
	t.Parallel()
	f := func(request string) {
		t.Helper()
		t.Run(strings.Fields(request)[0], func(t *testing.T) {
			t.Parallel()
			s, _ := newTLSServer(t, false, ConnectionLimits{}, whether)
			c := s.dialFrom(t, "127.0.0.1")
			c.send(request)
			response, err := http.ReadResponse(c.Reader, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "speaks HTTPS") ||
				response.Header.Get("Strict-Transport-Security") != "" {
				t.Errorf("%s, %v: %s (%v)", response.Status, response.Header, body, err)
			}
			if failed, _ := s.takeFailed(); failed != 0 {
				t.Error("it counts as a failed handshake")
			}
		})
	}
	f(someRequest)
	f("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100_000))
	f("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
}

// newSecondClient speaks HTTP/2 over one connection.
func newSecondClient(t *testing.T, s *watchedServer, config *tls.Config) *http.Client {
	t.Helper()
	transport := &http.Transport{
		TLSClientConfig: config, ForceAttemptHTTP2: true, MaxConnsPerHost: 1,
		HTTP2: &http.HTTP2Config{StrictMaxConcurrentRequests: true},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, s.address)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

func get(ctx context.Context, client *http.Client, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://assay.example"+path, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// A connection of HTTP/2 lasts as long as it is used, by several requests at a time, and is closed when it is idle.
func TestTLS_HTTP2(t *testing.T) {
	t.Parallel()
	const together = 20
	var held sync.WaitGroup
	held.Add(together)
	hold := make(chan struct{})
	s, config := newTLSServer(t, false, ConnectionLimits{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			held.Done()
			<-hold
		}
		whether(w, r)
	})
	client := newSecondClient(t, s, config)
	f := func(path string) {
		t.Helper()
		if text, err := get(t.Context(), client, path); err != nil || text != "HTTP/2.0 over TLS" {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	for range 3 { // longer than any one request may take
		f("/")
		s.waitFor(t, http.StateIdle)
		s.sweeps(idleTimeout - 1)
	}
	var waiting sync.WaitGroup
	for range together {
		waiting.Go(func() { f("/hold") })
	}
	held.Wait()
	s.sweeps(responseTimeout - 1)
	s.admitted(t, 1)
	close(hold)
	waiting.Wait()
	s.waitFor(t, http.StateIdle)
	for len(s.states) > 0 {
		<-s.states
	}
	s.sweeps(idleTimeout)
	s.waitFor(t, http.StateClosed)
	s.admitted(t, 0)
}

// A client that has more requests at a time than it may is refused. One that opens requests only to cancel them at once
// is cut off, and so is one with headers that never end.
func TestTLS_HTTP2Abuse(t *testing.T) {
	t.Parallel()
	f := func(name string, attack func(framer *http2.Framer, i uint32) error) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			s, config := newTLSServer(t, false, ConnectionLimits{}, func(http.ResponseWriter, *http.Request) { <-release })
			defer close(release)
			config.NextProtos = []string{"h2"}
			c := s.dialFrom(t, "127.0.0.1").speak(config)
			c.send(http2.ClientPreface)
			framer := http2.NewFramer(c.Conn, c.Reader)
			if err := framer.WriteSettings(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() {
				for {
					frame, err := framer.ReadFrame()
					switch frame.(type) {
					case *http2.GoAwayFrame, *http2.RSTStreamFrame:
						err = io.EOF
					}
					if err != nil {
						ended <- err
						return
					}
				}
			}()
			for i := range uint32(100 * maxStreams) {
				if err := attack(framer, i); err != nil {
					return // the connection has ended
				}
			}
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				t.Error("the server takes everything")
			}
		})
	}
	block := headerBlock(t)
	f("too many at a time", func(framer *http2.Framer, i uint32) error {
		return framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 2*i + 1, BlockFragment: block, EndHeaders: true, EndStream: true,
		})
	})
	f("rapid reset", func(framer *http2.Framer, i uint32) error {
		id := 2*i + 1
		err := framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: id, BlockFragment: block, EndHeaders: true, EndStream: true,
		})
		return errors.Join(err, framer.WriteRSTStream(id, http2.ErrCodeCancel))
	})
	f("endless headers", func(framer *http2.Framer, i uint32) error {
		if i == 0 {
			return framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block})
		}
		return framer.WriteContinuation(1, false, block)
	})
}

func headerBlock(t *testing.T) []byte {
	t.Helper()
	var b strings.Builder
	encoder := hpack.NewEncoder(&b)
	for _, field := range [][2]string{
		{":method", "GET"}, {":scheme", "https"}, {":authority", "assay.example"}, {":path", "/"},
	} {
		if err := encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
			t.Fatal(err)
		}
	}
	return []byte(b.String())
}

// A server that stops closes those in the handshake, lets requests of HTTP/2 finish, and asks their clients to leave.
func TestTLS_Shutdown(t *testing.T) {
	t.Parallel()
	authority := certtest.New(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := newConns(func() ConnectionLimits { return ConnectionLimits{} }, func(netip.Addr) bool { return false })
	began, finish := make(chan struct{}), make(chan struct{})
	all := newServers(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(began)
		<-finish
		whether(w, r)
	}), conns.changed, slog.New(slog.DiscardHandler), false)
	all.addTLS(&tls.Config{
		Certificates: []tls.Certificate{authority.Pair("assay.example")}, NextProtos: []string{"h2"},
		MinVersion: tls.VersionTLS12,
	}, new(Server).plainRefused)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- all.serve(ctx, listener{l, conns, reset, new(Server).inOurShape}) }()
	s := &watchedServer{conns: conns, address: l.Addr().String()}

	stalled := s.dialFrom(t, "127.0.0.1")
	client := newSecondClient(t, s, &tls.Config{
		RootCAs: authority.Pool(), ServerName: "assay.example", MinVersion: tls.VersionTLS12,
	})
	text := make(chan string)
	go func() {
		body, err := get(context.Background(), client, "/")
		if err != nil {
			body = err.Error()
		}
		text <- body
	}()
	<-began
	s.admitted(t, 2)
	stop()
	if _, err := stalled.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the connection in the handshake ends with %v", err)
	}
	close(finish)
	if got := <-text; got != "HTTP/2.0 over TLS" {
		t.Errorf("the request in flight: %s", got)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
