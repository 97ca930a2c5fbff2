package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/push"
)

// A connection with TLS is admitted, counted and watched like any other, and its handshake counts as part of the wait
// for the first request. Afterwards HTTP/1.1 takes the same way as without TLS, and HTTP/2 is left to net/http.

// The protocols that a TLS configuration can negotiate here. An authority that checks a domain asks for alpnACME, and
// wants no more than the handshake (RFC 8737).
const (
	alpnHTTP2 = "h2"
	alpnHTTP1 = "http/1.1"
	alpnACME  = "acme-tls/1"
)

// secureConn is a connection after its handshake.
type secureConn struct{ *conn }

// ConnectionState tells the HTTP servers that the connection has TLS.
func (c *secureConn) ConnectionState() tls.ConnectionState {
	return c.Conn.(*tls.Conn).ConnectionState()
}

// WaitsToWrite is for streams: a TLS record that is written in part cannot be continued.
func (*secureConn) WaitsToWrite() bool { return true }

var _ push.Waiting = (*secureConn)(nil)

// rawConn is the connection below TLS, and knows the one above.
type rawConn struct {
	net.Conn
	conn *conn
}

// ServeTLS is Serve with TLS. The configuration must have the protocols h2 and http/1.1.
func (s *Server) ServeTLS(ctx context.Context, l net.Listener, config *tls.Config) error {
	return s.serveOn(ctx, l, config)
}

// secure makes TLS out of each connection. It returns when the handshake is over and the connection is served.
func (b *servers) secure(ctx context.Context, c *conn) {
	secured := tls.Server(&rawConn{c.raw, c}, b.tls)
	err := secured.HandshakeContext(ctx)
	if err == nil {
		b.serveSecured(c, secured)
		return
	}
	if sent, ok := errors.AsType[tls.RecordHeaderError](err); ok && sent.Conn != nil && isHTTP(sent.RecordHeader[:]) {
		c.lingers.Store(true)
		_, _ = c.raw.Write(b.plainRefused()) // to one that may be gone
	} else if ctx.Err() == nil {
		c.owner.countFailed(err)
	}
	_ = c.Close()
	b.changed(c, http.StateClosed)
}

// serveSecured serves a connection after its handshake.
func (b *servers) serveSecured(c *conn, secured *tls.Conn) {
	switch secured.ConnectionState().NegotiatedProtocol {
	case alpnHTTP2:
		b.second.handOff(secured)
	case alpnACME:
		_ = secured.Close() // there is nothing to say
		b.changed(c, http.StateClosed)
	default:
		c.Conn, c.secure = secured, true
		b.serveConn(&secureConn{c})
	}
}

// isHTTP reports whether the first bytes of a client are those of a request in the clear.
func isHTTP(first []byte) bool {
	for _, method := range []string{"GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH", "PRI *", "CONNE"} {
		if bytes.HasPrefix(first, []byte(method)) {
			return true
		}
	}
	return false
}

// errPlain is the response to a request in the clear on a port for TLS.
var errPlain = &assay.Error{
	Kind: assay.Invalid, Code: "https_required", Message: "This port speaks HTTPS: begin the address with https://.",
}

func (s *Server) plainRefused() []byte {
	return s.closingResponse(Status(errPlain.Kind), NewErrorBody(errPlain, ""), 0, false)
}

func (cs *conns) countFailed(err error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.failed++
	cs.failedEver++
	cs.lastFailure = err
}

// Limits of HTTP/2. A connection may have so many requests at a time; each has its own time, because the connection
// may always be busy with others.
const (
	maxStreams     = 100
	streamTimeout  = responseTimeout * time.Second
	maxUnsentTime  = 30 * time.Second // while nothing can be written to the connection
	goAwayBefore   = 5 * time.Second  // the connection would be closed as idle
	receiveBuffers = 256 << 10        // bytes of bodies that no handler has read, of a connection
)

// newSecond makes the server for HTTP/2.
func newSecond(handler http.Handler, changed func(net.Conn, http.ConnState), log *slog.Logger) *standardServer {
	return newStandardServer(&http.Server{ //nolint:gosec // G112: conns bounds the time a request may take to arrive
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c, ok := r.Context().Value(connKey{}).(*conn); ok && c != nil {
				c.deadline.Store(c.owner.now.Load() + responseTimeout + 1)
			}
			handler.ServeHTTP(w, r)
		}),
		ConnState: changed, ConnContext: withConn, MaxHeaderBytes: maxHeaderBytes,
		WriteTimeout: streamTimeout, IdleTimeout: idleTimeout*time.Second - goAwayBefore,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, WriteByteTimeout: maxUnsentTime,
			MaxReceiveBufferPerConnection: receiveBuffers, MaxReceiveBufferPerStream: receiveBuffers,
		},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelInfo), // what clients do wrong
	})
}

// streamOverHTTP2 lets the hub write to one stream of a connection. The goroutine of the request stays, because
// net/http takes its end for that of the response.
func (r *Request) streamOverHTTP2(m *push.Member, join func(*push.Member)) {
	w := r.out.ResponseWriter
	r.out.WriteHeader(http.StatusOK)
	c, _ := r.http.Context().Value(connKey{}).(*conn)
	s := &streamConn{
		w: w, control: http.NewResponseController(w), ended: make(chan struct{}), gone: r.http.Context().Done(),
	}
	if c != nil {
		s.Conn = c.raw
		c.held.Add(1)
	}
	_ = s.SetWriteDeadline(time.Time{}) // the hub has its own
	leave := m.Closed
	m.Closed = func() {
		leave()
		if c != nil {
			c.deadline.Store(c.owner.now.Load() + responseTimeout)
			c.held.Add(-1)
		}
	}
	m.Conn = s
	r.last = func() {
		join(m)
		s.wait()
	}
}

// streamConn is a stream of HTTP/2 as a connection for the hub.
type streamConn struct {
	net.Conn // of all streams, for its addresses
	w        http.ResponseWriter
	control  *http.ResponseController
	gone     <-chan struct{} // closed when the client has gone
	ended    chan struct{}   // closed by Close
	closing  sync.Once

	using    sync.RWMutex // held for reading by those who use w
	finished bool         // the handler may return; guarded by using
	writing  sync.Mutex
}

// WaitsToWrite says that a write may have to wait for the client.
func (*streamConn) WaitsToWrite() bool { return true }

var _ push.Waiting = (*streamConn)(nil)

func (s *streamConn) use(do func() error) error {
	s.using.RLock()
	defer s.using.RUnlock()
	if s.finished {
		return net.ErrClosed
	}
	return do()
}

// Write sends a part of the response.
func (s *streamConn) Write(p []byte) (n int, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	err = s.use(func() error {
		if n, err = s.w.Write(p); err != nil {
			return err
		}
		return s.control.Flush()
	})
	return n, err
}

// SetWriteDeadline ends the stream at that time if something waits to be written.
func (s *streamConn) SetWriteDeadline(at time.Time) error {
	return s.use(func() error { return s.control.SetWriteDeadline(at) })
}

// Read waits for the end of the stream: its client sends nothing.
func (s *streamConn) Read([]byte) (int, error) {
	select {
	case <-s.gone:
	case <-s.ended:
	}
	return 0, net.ErrClosed
}

// Close ends the response. A write under way fails.
func (s *streamConn) Close() error {
	s.closing.Do(func() {
		if s.writing.TryLock() {
			s.writing.Unlock()
		} else {
			_ = s.SetWriteDeadline(longAgo) // fails for a stream that has ended
		}
		close(s.ended)
	})
	return nil
}

// longAgo as a deadline ends what waits.
var longAgo = time.Unix(1, 0)

// wait returns when the hub has closed the stream and nothing uses it.
func (s *streamConn) wait() {
	<-s.ended
	s.using.Lock()
	defer s.using.Unlock()
	s.finished = true
}
