//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/target"
)

// carrier carries exchanges to the server, one after the other, and reads what comes back.
type carrier struct {
	server string // host:port
	check  func(*request, *received) error
	count  func(*request, *received) // called for every response, and with nil for a request without one
	conn   net.Conn                  // nil between connections
	in     *bufio.Reader
	buffer []byte
	client *http.Client
}

// exchangePatience is how long an exchange may take. The server's own limits are shorter, except for an idle
// connection.
const exchangePatience = time.Minute

// failed says what went wrong with a request of an exchange, with all that is needed to understand it.
func failed(e *exchange, index int, a *received, err error) error {
	r := e.requests[index]
	text := fmt.Sprintf("exchange %d, request %d (%s; %s): %v\n  request  %s", e.number, index+1, r.role,
		strings.Join(r.mutations, ", "), err, r.shown())
	if a != nil {
		text += "\n  response " + a.shown()
	}
	return errors.New(text)
}

// carry sends all requests of an exchange and checks all responses. Requests behind one with which the server closes
// the connection are sent again on the next.
func (c *carrier) carry(ctx context.Context, e *exchange) error {
	if e.form == byClient {
		return c.carryByClient(ctx, e)
	}
	for at, to := 0, len(e.requests); at < len(e.requests); to = len(e.requests) {
		if err := c.connect(ctx); err != nil {
			return err
		}
		next, err := c.carryPart(e, at, to)
		if errors.Is(err, errLost) {
			next, err = c.carryAlone(ctx, e, next)
		}
		if err != nil {
			c.hangUp()
			return err
		}
		at = next
	}
	if e.halfCloses() {
		c.hangUp()
	}
	return nil
}

// errLost says that a response was lost because the server has closed the connection at a later request: closing resets
// a connection on which more had been sent.
var errLost = errors.New("the response was lost")

// carryAlone sends one request of an exchange on a connection of its own.
func (c *carrier) carryAlone(ctx context.Context, e *exchange, index int) (next int, err error) {
	c.hangUp()
	if err := c.connect(ctx); err != nil {
		return 0, err
	}
	return c.carryPart(e, index, index+1)
}

func (c *carrier) connect(ctx context.Context) (err error) {
	if c.conn != nil {
		return nil
	}
	if c.conn, err = dialFrom(proxyFrom)(ctx, "tcp", c.server); err != nil {
		return err
	}
	if c.in == nil {
		c.in = bufio.NewReaderSize(c.conn, 64<<10)
	}
	c.in.Reset(c.conn)
	return nil
}

// dialFrom opens connections from an address of this machine.
func dialFrom(address string) func(ctx context.Context, network, to string) (net.Conn, error) {
	dialer := target.Dialer(net.ParseIP(address))
	dialer.Timeout = exchangePatience
	return dialer.DialContext
}

func (c *carrier) close() {
	c.hangUp()
	c.client.CloseIdleConnections()
}

func (c *carrier) hangUp() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// carryPart sends a part of an exchange, and reads responses until the last or until the connection ends. It returns
// the index of the first request that has to be sent again.
func (c *carrier) carryPart(e *exchange, from, to int) (next int, err error) {
	c.conn.SetDeadline(time.Now().Add(exchangePatience))
	sent := make(chan error, 1)
	go func() { sent <- c.send(e, from, to) }()
	for i := from; i < to; i++ {
		r := e.requests[i]
		a, err := readResponse(c.in, r.isHead(), c.buffer)
		c.buffer = a.body
		if err != nil {
			c.hangUp()
			<-sent
			return c.noResponse(e, i, to, err)
		}
		if err := c.check(r, &a); err != nil {
			<-sent
			return 0, failed(e, i, &a, err)
		}
		c.count(r, &a)
		if r.ends {
			if r.isHead() && a.status >= http.StatusBadRequest {
				c.skipRefusal(&a)
			}
			return i + 1, c.finish(e, i, sent)
		}
		if a.closes {
			c.hangUp()
			<-sent
			return i + 1, nil
		}
	}
	if err := <-sent; err != nil {
		return 0, failed(e, to-1, nil, fmt.Errorf("send: %w", err))
	}
	return to, nil
}

// noResponse decides what it means that the connection has ended before a response.
func (c *carrier) noResponse(e *exchange, index, to int, err error) (next int, _ error) {
	later := e.requests[index+1 : to]
	switch r := e.requests[index]; {
	case r.broken && isEnd(err):
		c.count(r, nil)
		return index + 1, nil
	case isEnd(err) && slices.ContainsFunc(later, (*request).mayReset):
		return index, errLost
	}
	return 0, failed(e, index, nil, fmt.Errorf("no response: %w", err))
}

// send writes the requests in one piece, and closes the client's side if nothing more follows.
func (c *carrier) send(e *exchange, from, to int) error {
	conn := c.conn
	var all []byte
	for _, r := range e.requests[from:to] {
		all = append(all, r.raw...)
	}
	if _, err := conn.Write(all); err != nil {
		return err
	}
	if to == len(e.requests) && e.halfCloses() {
		return conn.(*net.TCPConn).CloseWrite()
	}
	return nil
}

// skipRefusal reads the body of a response to HEAD, if it has one: the server does not know the method of what it
// cannot parse.
func (c *carrier) skipRefusal(a *received) {
	if next, _ := c.in.Peek(1); string(next) == "{" {
		length, _ := strconv.Atoi(a.get("Content-Length"))
		_, _ = c.in.Discard(length)
	}
}

// finish reads what comes after the response to a request that ends the connection: nothing, or the refusal of what is
// left of it.
func (c *carrier) finish(e *exchange, index int, sent chan error) error {
	defer c.hangUp()
	for {
		a, err := readResponse(c.in, false, c.buffer)
		c.buffer = a.body
		if err != nil {
			<-sent
			if isEnd(err) {
				return nil
			}
			return failed(e, index, nil, fmt.Errorf("after the response: %w", err))
		}
		if !isRefusal(&a) {
			<-sent
			return failed(e, index, &a, errors.New("a second response to one request"))
		}
	}
}

// isEnd tells that the server has closed the connection, which may also reset it if the client was still sending.
func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, net.ErrClosed)
}

// carryByClient sends the requests with the client of net/http, which keeps its connections.
func (c *carrier) carryByClient(ctx context.Context, e *exchange) error {
	for i, r := range e.requests {
		a, err := c.roundTrip(ctx, r)
		if err != nil {
			return failed(e, i, nil, err)
		}
		if err := c.check(r, &a); err != nil {
			return failed(e, i, &a, err)
		}
		c.count(r, &a)
	}
	return nil
}

func (c *carrier) roundTrip(ctx context.Context, r *request) (a received, err error) {
	hr, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.server, nil)
	if err != nil {
		return a, err
	}
	hr.Method, hr.URL.Opaque = r.method, r.target
	for _, h := range r.headers {
		if h.name == "Host" {
			hr.Host = h.value
			continue
		}
		hr.Header[http.CanonicalHeaderKey(h.name)] = append(hr.Header[http.CanonicalHeaderKey(h.name)], h.value)
	}
	if r.framing != noBody {
		hr.Body = io.NopCloser(strings.NewReader(string(r.body)))
		hr.ContentLength = int64(len(r.body))
		if r.framing == chunked {
			hr.ContentLength = -1
		}
	}
	response, err := c.client.Do(hr)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	a.status, a.closes = response.StatusCode, response.Close
	for name, values := range response.Header {
		for _, value := range values {
			a.headers = append(a.headers, field{name, value})
		}
	}
	a.body, err = io.ReadAll(response.Body)
	return a, err
}
