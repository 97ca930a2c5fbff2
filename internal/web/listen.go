package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/assaydata/assay/internal/http1"
)

// Limits of a connection beside those of conns.
const (
	drainTimeout   = 30 * time.Second
	maxHeaderBytes = 64 << 10
)

// Serve serves requests on a listener until the context ends, and then lets requests in flight finish.
func (s *Server) Serve(ctx context.Context, l net.Listener) error { return s.serveOn(ctx, l, nil) }

// serveOn is Serve, with TLS if it is configured.
func (s *Server) serveOn(ctx context.Context, l net.Listener, config *tls.Config) error {
	conns := s.watch(ctx)
	both := newServers(s, conns.changed, s.config.Log, s.config.StandardHTTP)
	both.closeStreams = s.closeStreams
	refuse := s.refuse
	if config != nil {
		both.addTLS(config, s.plainRefused)
		refuse = reset // a client that waits for a handshake understands nothing else
	}
	return both.serve(ctx, listener{l, conns, refuse, s.inOurShape})
}

// watch makes what watches the connections of a listener until the context ends.
func (s *Server) watch(ctx context.Context) *conns {
	conns := newConns(s.connectionLimits, s.trusts)
	s.listenersMu.Lock()
	s.listeners = append(s.listeners, conns)
	s.listenersMu.Unlock()
	go conns.run(ctx, s.config.Log)
	return conns
}

// servers are those that share the connections. A connection begins at http1, unless that is switched off, and
// continues at net/http when it needs that. One with HTTP/2, which needs TLS, is second's from the handshake on.
type servers struct {
	fast      *http1.Server
	standard  *standardServer
	second    *standardServer // nil without TLS
	serveConn func(net.Conn)  // with HTTP/1.1, in the clear or after the handshake
	changed   func(net.Conn, http.ConnState)
	handler   http.Handler
	log       *slog.Logger

	tls          *tls.Config // nil without TLS
	plainRefused func() []byte

	closeStreams func(context.Context) // nil without streams
}

func newServers(
	handler http.Handler, changed func(net.Conn, http.ConnState), log *slog.Logger, standardOnly bool,
) *servers {
	b := &servers{
		standard: newStandardServer(&http.Server{ //nolint:gosec // G112: conns bounds the time a request may take to arrive
			Handler: handler, ConnState: changed, ConnContext: withConn, MaxHeaderBytes: maxHeaderBytes,
			ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
			DisableGeneralOptionsHandler: true, // its response to OPTIONS * has no id and no line in the log
		}),
		changed: changed, handler: handler, log: log,
	}
	b.fast = &http1.Server{Handler: handler, Changed: changed, HandOff: b.handOff, Log: log}
	b.serveConn = b.fast.ServeConn
	if standardOnly {
		b.serveConn = func(nc net.Conn) { b.handOff(nc, nil) }
	}
	return b
}

// addTLS makes TLS of all connections. Those that send a request in the clear get plainRefused.
func (b *servers) addTLS(config *tls.Config, plainRefused func() []byte) {
	b.tls, b.plainRefused = config, plainRefused
	b.second = newSecond(b.handler, b.changed, b.log)
}

func (b *servers) serve(ctx context.Context, l net.Listener) error {
	drained := make(chan error, 1)
	go func() {
		<-ctx.Done()
		b.log.Info("shutting down")
		_ = l.Close() // ends acceptAll
		drained <- b.drain(context.WithoutCancel(ctx))
	}()
	var serving sync.WaitGroup
	serving.Go(b.standard.run)
	serveConn := b.serveConn
	if b.tls != nil {
		serving.Go(b.second.run)
		handshaking, stop := context.WithCancel(ctx)
		defer stop()
		serveConn = func(nc net.Conn) { b.secure(handshaking, connOf(nc)) }
	}
	err := b.acceptAll(l, serveConn)
	if ctx.Err() == nil {
		b.close()
	} else {
		err = <-drained
	}
	serving.Wait()
	return err
}

// saidEvery is how often the log says that connections cannot be accepted, while that lasts.
const saidEvery = 10 * time.Second

// acceptAll serves connections until the listener fails.
func (b *servers) acceptAll(l net.Listener, serve func(net.Conn)) error {
	var wait time.Duration
	var said time.Time
	for {
		nc, err := l.Accept()
		if err == nil {
			wait = 0
			go serve(nc)
			continue
		}
		// Such as too many open files. net/http waits likewise.
		if failed, ok := errors.AsType[net.Error](err); !ok || !failed.Temporary() { //nolint:staticcheck // no other way
			return err
		}
		if time.Since(said) > saidEvery {
			said = time.Now()
			b.log.Error("cannot accept connections; trying again", "error", err)
		}
		wait = min(max(5*time.Millisecond, 2*wait), time.Second)
		time.Sleep(wait)
	}
}

// handOff gives a connection to net/http, with what was read from it.
func (b *servers) handOff(nc net.Conn, unread []byte) {
	if c := connOf(nc); c != nil {
		c.unread = unread
	}
	b.standard.handOff(nc)
}

// drain lets the requests in flight finish.
func (b *servers) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	const others = 2
	ended := make(chan error, others)
	go func() { ended <- b.fast.Shutdown(ctx) }()
	go func() {
		if b.second == nil {
			ended <- nil
			return
		}
		ended <- b.second.Shutdown(ctx) // asks the clients to leave
	}()
	if b.closeStreams != nil {
		b.closeStreams(ctx)
	}
	err := errors.Join(b.standard.Shutdown(ctx), <-ended, <-ended)
	if err != nil {
		err = fmt.Errorf("requests in flight did not finish within %v: %w", drainTimeout, err)
		b.close()
	}
	return err
}

func (b *servers) close() {
	b.fast.Close()
	_ = b.standard.Close() // fails if a connection has ended
	if b.second != nil {
		_ = b.second.Close() // likewise
	}
}

// standardServer is net/http with the connections that it is given.
type standardServer struct {
	*http.Server
	given handedOff
}

func newStandardServer(s *http.Server) *standardServer {
	return &standardServer{s, handedOff{conns: make(chan net.Conn), closed: make(chan struct{})}}
}

// run serves until the server is shut down.
func (s *standardServer) run() { _ = s.Serve(&s.given) }

// handOff gives it a connection.
func (s *standardServer) handOff(nc net.Conn) {
	select {
	case s.given.conns <- nc:
	case <-s.given.closed:
		_ = nc.Close() // the server stops
	}
}

// handedOff is a listener of the connections that continue at net/http.
type handedOff struct {
	conns   chan net.Conn
	closing sync.Once
	closed  chan struct{}
}

func (h *handedOff) Accept() (net.Conn, error) {
	select {
	case nc := <-h.conns:
		return nc, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

func (h *handedOff) Close() error {
	h.closing.Do(func() { close(h.closed) })
	return nil
}

// Addr is for the interface; no one can connect to it.
func (*handedOff) Addr() net.Addr { return &net.TCPAddr{} }
