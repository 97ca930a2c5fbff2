//go:build !race

// With the race detector a pool loses a part of what it is given.

package web_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/http1"
)

// A request for what is asked most costs two allocations: the text of its head, and its id.
func TestAllocations_OfHotRoutes(t *testing.T) {
	r := hotRig(t)
	for _, target := range []string{
		"/api/gpu/H100%20SXM", "/api/gpu/H200", "/api/gpu-types", "/api/regions", "/api/gpu/H200/index-history",
		"/api/gpu/H200/index-history?startDate=2026-01-01", "/api/gpu/H200/index-history?granularity=hourly",
	} {
		for _, encoding := range []string{"identity", "gzip"} {
			conn := newRepeating(r, target, "Authorization: Bearer "+r.Keys["full"]+"\r\nAccept-Encoding: "+encoding+"\r\n")
			server := http1.Server{Handler: r, Changed: func(net.Conn, http.ConnState) {}}
			const requests = 2 * clients
			server.ServeConn(conn.send(requests)) // makes what is made once
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			server.ServeConn(conn.send(requests))
			runtime.ReadMemStats(&after)
			if !bytes.HasPrefix(conn.response, []byte("HTTP/1.1 200 OK\r\n")) {
				t.Fatalf("%s: %s", target, conn.response)
			}
			// The connection itself costs some, and so does what a pool has lost to the collector.
			if each := float64(after.Mallocs-before.Mallocs) / requests; each > 2.1 {
				t.Errorf("%s in %s: %.1f allocations", target, encoding, each)
			}
		}
	}
}

func hotRig(t testing.TB) *rig {
	t.Helper()
	r := newRig(t, apitest.TrustProxies("192.0.2.0/24"), func(c *apitest.Config) { c.Web.KeyLimit = 1_000_000 })
	r.LogTo(io.Discard)
	return r
}

// repeating is a connection in memory on which a request arrives again and again, from a client each that has not
// reached its limit.
type repeating struct {
	net.Conn
	rig           *rig
	request       []byte
	digits        int // where the digits of the address are
	count, repeat int
	response      []byte // the beginning of the last one
}

// clients is how many take turns.
const clients = 1000

func newRepeating(r *rig, target, headers string) *repeating {
	const address = "10.111.111.111"
	text := "GET " + target + " HTTP/1.1\r\nHost: assay\r\n" + headers + "X-Forwarded-For: " + address + "\r\n\r\n"
	return &repeating{rig: r, request: []byte(text), digits: strings.Index(text, address)}
}

// send makes the request arrive so many times more.
func (c *repeating) send(times int) *repeating { c.repeat = times; return c }

func (c *repeating) Read(p []byte) (int, error) {
	if c.repeat == 0 {
		return 0, io.EOF
	}
	c.repeat--
	c.count++
	for i, divisor := range [...]int{100, 10, 1} { // no number begins with a zero
		c.request[c.digits+[...]int{8, 9, 13}[i]] = '0' + byte(c.count%clients/divisor%10)
	}
	c.rig.Clock = c.rig.Clock.Add(time.Millisecond)
	return copy(p, c.request), nil
}

func (c *repeating) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("HTTP/")) {
		c.response = append(c.response[:0], p[:min(len(p), 200)]...)
	}
	return len(p), nil
}

func (*repeating) Close() error         { return nil }
func (*repeating) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

func BenchmarkPrice(b *testing.B) {
	r := hotRig(b)
	server := http1.Server{Handler: r, Changed: func(net.Conn, http.ConnState) {}}
	conn := newRepeating(r, "/api/gpu/H200", "")
	server.ServeConn(conn.send(clients))
	b.ReportAllocs()
	b.ResetTimer()
	server.ServeConn(conn.send(b.N))
}
