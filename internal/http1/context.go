package http1

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"
)

// requestContext is the context of a request: it ends when the client goes away, or the request. Few handlers wait for
// anything, so that no one watches the client until a handler asks for Done.
type requestContext struct {
	conn *conn

	mu      sync.Mutex
	done    chan struct{} // nil until it is asked for; guarded by mu
	err     error         // guarded by mu
	watched chan struct{} // closed when no one watches the client any more
	early   [1]byte       // what the client has sent meanwhile: the beginning of its next request
	isEarly bool
}

// newContext gives the connection a context for its next requests, up to the first that asks for Done.
func (c *conn) newContext() {
	c.context = &requestContext{conn: c}
	c.request.init(c.context, c.nc.RemoteAddr().String(), c.tls)
}

func (r *request) init(ctx context.Context, remote string, secure *tls.ConnectionState) {
	header := r.header
	if header == nil {
		header = http.Header{}
	}
	empty := http.Request{
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Body: http.NoBody, RemoteAddr: remote,
		TLS: secure,
	}
	r.header, r.fields = header, *empty.WithContext(ctx)
}

// Deadline is for the interface; there is none.
func (*requestContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value is for the interface; there is none.
func (*requestContext) Value(any) any { return nil }

// Done begins to watch the client. Who asks for it is going to wait, so what is ready for the client is sent first.
func (x *requestContext) Done() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.done == nil {
		x.done, x.watched = make(chan struct{}), make(chan struct{})
		x.conn.sendEarlier()
		go x.watch()
	}
	return x.done
}

// Err returns why Done is closed, or nil.
func (x *requestContext) Err() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.err
}

// watch waits until the client goes away or sends its next request, as net/http does, or closeContext ends it.
func (x *requestContext) watch() {
	defer close(x.watched)
	n, err := x.conn.nc.Read(x.early[:])
	if x.isEarly = n == 1; !x.isEarly && !errors.Is(err, os.ErrDeadlineExceeded) {
		x.cancel()
	}
}

func (x *requestContext) cancel() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err == nil {
		x.err = context.Canceled
		close(x.done)
	}
}

// opened reports whether someone has asked for Done.
func (x *requestContext) opened() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.done != nil
}

// closeContext ends the context of a request that has been served, and makes another for the next.
func (c *conn) closeContext() {
	x := c.context
	c.wake()
	<-x.watched
	_ = c.nc.SetReadDeadline(time.Time{}) // fails for a connection that has ended
	x.cancel()
	if x.isEarly {
		c.in = append(c.in, x.early[0])
	}
	c.newContext()
}
