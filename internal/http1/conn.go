package http1

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay/internal/memfile"
)

// conn is a connection.
type conn struct {
	server *Server
	nc     net.Conn
	socket socket
	files  fileSocket  // the same if it can send files, else nil
	idle   atomic.Bool // it waits for a request, or for the rest of one

	*buffers // nil while it is idle and nothing was read
	request  request
	response Response
	context  *requestContext
	closing  bool           // it ends after this response
	taken    func(net.Conn) // who has taken it over; nil for no one

	servedAny bool                 // a request
	tls       *tls.ConnectionState // nil without TLS

	sending sync.Mutex
	earlier []byte // the responses in out that are complete and not sent; guarded by sending
	skip    int    // how much of out was sent before its time; guarded by sending
	err     error  // of sending; guarded by sending while a handler runs
}

// buffers are what a connection needs while it has something to do. Most connections wait most of the time.
type buffers struct {
	in   []byte // what was read and not served yet
	out  []byte // responses that wait to be sent
	body []byte // the beginning of a body whose length is not known yet
}

const (
	// maxHead is how long a head may be here; net/http takes more.
	maxHead = 16 << 10
	// firstRead is how much is read first; few heads are longer.
	firstRead = 4 << 10
	// maxOut is how much may wait to be sent while further requests are there already.
	maxOut = 32 << 10
	// maxCopied is the size up to which a piece of a body is copied behind its head. A longer one is sent from where it
	// is, in the same call.
	maxCopied = 16 << 10
)

var bufferPool = sync.Pool{New: func() any {
	return &buffers{in: make([]byte, 0, firstRead), out: make([]byte, 0, maxOut)}
}}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{server: s, nc: nc, socket: newSocket(nc)}
	if secured, ok := nc.(interface{ ConnectionState() tls.ConnectionState }); ok {
		state := secured.ConnectionState()
		c.tls = &state
	}
	c.files, _ = c.socket.(fileSocket)
	c.response.conn = c
	c.newContext()
	return c
}

// longAgo as a deadline wakes what waits for a connection.
var longAgo = time.Unix(1, 0)

// wake ends the wait for a request.
func (c *conn) wake() { _ = c.nc.SetReadDeadline(longAgo) } // fails for a connection that has ended

// serve serves requests until the connection ends. Otherwise it returns what it has read of a request that is not for
// this package.
func (c *conn) serve() (unread []byte, handOff bool) {
	for c.read() {
		served, ok := c.serveAll()
		if c.flush(); c.taken != nil {
			c.release()
			return nil, false
		}
		if c.err != nil || c.closing {
			break
		}
		if !ok {
			defer c.release()
			return bytes.Clone(c.in[served:]), true
		}
		c.in = append(c.in[:0], c.in[served:]...)
		if len(c.in) == 0 {
			c.release()
		}
	}
	if c.buffers == nil {
		return nil, false
	}
	defer c.release()
	// A client that ends its side within a request may still want to hear what is wrong with it.
	return bytes.Clone(c.in), len(c.in) >= c.least() && c.err == nil && !c.closing && !c.server.stopping.Load()
}

// least is how many bytes net/http wants to see before it begins to read a request: after the first request, those of a
// line end that does not belong there should not count as one.
func (c *conn) least() int {
	if c.servedAny {
		return 4
	}
	return 1
}

func (c *conn) release() {
	if cap(c.in) <= maxHead && cap(c.out) <= 2*maxOut {
		c.in, c.out, c.body = c.in[:0], c.out[:0], c.body[:0]
		bufferPool.Put(c.buffers)
	}
	c.buffers = nil
}

// read waits for bytes and adds them to c.in. It reports false at the end of the connection.
func (c *conn) read() bool {
	c.idle.Store(true)
	if c.server.stopping.Load() { // after idle was set: either this or Shutdown sees the other
		return false
	}
	err := c.socket.read(c)
	c.idle.Store(false)
	return err == nil
}

// room returns where the next bytes go.
func (c *conn) room() []byte {
	if c.buffers == nil {
		c.buffers = bufferPool.Get().(*buffers)
	}
	if len(c.in) == cap(c.in) {
		c.in = append(make([]byte, 0, maxHead), c.in...)
	}
	return c.in[len(c.in):cap(c.in)]
}

var endOfHead = []byte("\r\n\r\n")

// serveAll serves the complete requests that were read, and returns how many bytes they had. It is not ok if what
// follows them is not for this package.
func (c *conn) serveAll() (served int, ok bool) {
	for served < len(c.in) && !c.closing && c.taken == nil && c.err == nil {
		rest := c.in[served:]
		size := bytes.Index(rest, endOfHead)
		if size < 0 {
			return served, len(rest) < c.least() || len(rest) < maxHead && c.request.plausible(rest)
		}
		size += len(endOfHead)
		if !c.request.parse(rest[:size]) {
			return served, false
		}
		served += size
		c.servedAny = true
		c.serveOne()
	}
	return served, true
}

// serveOne calls the handler for the request that was parsed.
func (c *conn) serveOne() {
	c.server.Changed(c.nc, http.StateActive)
	start := len(c.out)
	c.earlier = c.out[c.skip:start:start]
	c.closing = c.request.fields.Close || c.server.stopping.Load()
	c.response.reset()
	if returned := c.callHandler(); returned && c.taken == nil {
		c.response.finish()
	} else if !returned { // what was sent must not be taken for the whole
		c.closing = true
		if c.response.sent {
			start = 0
		}
		c.out = c.out[:start]
	}
	if c.context.opened() {
		c.closeContext()
	}
	c.earlier = nil
	if c.taken != nil {
		return
	}
	if len(c.out) > maxOut {
		c.flush()
	}
	c.server.Changed(c.nc, http.StateIdle)
}

// callHandler reports whether the handler returned, rather than panicked.
func (c *conn) callHandler() (returned bool) {
	defer func() {
		if returned {
			return
		}
		// A handler that panics with ErrAbortHandler wants no more than the end of the connection.
		if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // net/http compares it like this
			c.server.Log.Warn("panic of a handler", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	c.server.Handler.ServeHTTP(&c.response, c.request.fresh())
	return true
}

// flush sends what waits to be sent.
func (c *conn) flush() {
	if len(c.out) > 0 {
		c.send(nil)
	}
}

// send sends what waits to be sent, and pieces of a body after it.
func (c *conn) send(pieces [][]byte) {
	c.sending.Lock()
	defer c.sending.Unlock()
	if c.err == nil {
		c.err = c.socket.write(c.out[c.skip:], pieces)
	}
	c.sentLocked()
}

// sendFile sends what waits to be sent, and a file after it.
func (c *conn) sendFile(f *memfile.File) {
	c.sending.Lock()
	defer c.sending.Unlock()
	if c.err == nil {
		c.err = c.files.writeFile(c.out[c.skip:], f)
	}
	c.sentLocked()
}

// sentLocked notes that everything was sent.
func (c *conn) sentLocked() {
	c.response.sent = true
	c.earlier, c.skip = nil, 0
	c.out = c.out[:0]
}

// sendEarlier sends the responses before the one that a handler is working on, because that is going to take a while.
// Any goroutine of the handler may call it.
func (c *conn) sendEarlier() {
	c.sending.Lock()
	defer c.sending.Unlock()
	if len(c.earlier) > 0 && c.err == nil {
		c.err = c.socket.write(c.earlier, nil)
		c.skip += len(c.earlier)
	}
	c.earlier = nil
}

var errNotSent = errors.New("the connection has failed")
