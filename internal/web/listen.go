package web

import (
	"context"
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
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	conns := newConns(s.connectionLimits, s.trusts)
	s.listenersMu.Lock()
	s.listeners = append(s.listeners, conns)
	s.listenersMu.Unlock()
	go conns.run(ctx, s.config.Log)
	both := newServers(s, conns.changed, s.config.Log)
	both.closeStreams = s.closeStreams
	return both.serve(ctx, listener{l, conns, s.refuse, s.inOurShape}, s.config.StandardHTTP)
}

// servers are the two that share the connections. A connection begins at http1, unless that is switched off, and
// continues at net/http when it needs that.
type servers struct {
	fast      *http1.Server
	standard  *http.Server
	handedOff handedOff
	log       *slog.Logger

	closeStreams func(context.Context) // nil without streams
}

func newServers(handler http.Handler, changed func(net.Conn, http.ConnState), log *slog.Logger) *servers {
	b := &servers{
		standard: &http.Server{ //nolint:gosec // G112: conns bounds the time a request may take to arrive
			Handler: handler, ConnState: changed, ConnContext: withConn, MaxHeaderBytes: maxHeaderBytes,
			ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
			DisableGeneralOptionsHandler: true, // its response to OPTIONS * has no id and no line in the log
		},
		handedOff: handedOff{conns: make(chan net.Conn), closed: make(chan struct{})},
		log:       log,
	}
	b.fast = &http1.Server{Handler: handler, Changed: changed, HandOff: b.handOff, Log: log}
	return b
}

func (b *servers) serve(ctx context.Context, l net.Listener, standardOnly bool) error {
	drained := make(chan error, 1)
	go func() {
		<-ctx.Done()
		b.log.Info("shutting down")
		_ = l.Close() // ends acceptAll
		drained <- b.drain(context.WithoutCancel(ctx))
	}()
	var standard sync.WaitGroup
	standard.Go(func() { _ = b.standard.Serve(&b.handedOff) }) // until it is shut down
	serveConn := b.fast.ServeConn
	if standardOnly {
		serveConn = func(nc net.Conn) { b.handOff(nc, nil) }
	}
	err := acceptAll(l, serveConn)
	if ctx.Err() == nil {
		b.close()
	} else {
		err = <-drained
	}
	standard.Wait()
	return err
}

// acceptAll serves connections until the listener fails.
func acceptAll(l net.Listener, serve func(net.Conn)) error {
	var wait time.Duration
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
		wait = min(max(5*time.Millisecond, 2*wait), time.Second)
		time.Sleep(wait)
	}
}

// handOff gives a connection to net/http, with what was read from it.
func (b *servers) handOff(nc net.Conn, unread []byte) {
	if c, ok := nc.(*conn); ok {
		c.unread = unread
	}
	select {
	case b.handedOff.conns <- nc:
	case <-b.handedOff.closed:
		_ = nc.Close() // the server stops
	}
}

// drain lets the requests in flight finish.
func (b *servers) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	fast := make(chan error, 1)
	go func() { fast <- b.fast.Shutdown(ctx) }()
	if b.closeStreams != nil {
		b.closeStreams(ctx)
	}
	err := errors.Join(b.standard.Shutdown(ctx), <-fast)
	if err != nil {
		err = fmt.Errorf("requests in flight did not finish within %v: %w", drainTimeout, err)
		b.close()
	}
	return err
}

func (b *servers) close() {
	b.fast.Close()
	_ = b.standard.Close() // fails if a connection has ended
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
