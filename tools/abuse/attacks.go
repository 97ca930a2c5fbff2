//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/target"
)

// attack is a way to tie the server up. It lasts until the context ends.
type attack struct {
	name string
	run  func(ctx context.Context, a *arena) error
}

var attacks = []attack{
	{"slow readers", slowReaders},
	{"slow request headers", slowHeaders},
	{"slow request bodies", slowBodies},
	{"half-open connections", halfOpen},
	{"connection flood", connectionFlood},
	{"a new address for each request", manyAddresses},
	{"another key for each request", manyKeys},
}

// arena is where an attack takes place.
type arena struct {
	campaign    *campaign
	cast        *cast
	server      string
	connections int // that an attack holds at a time
	rate        int // requests a second of a flood

	opened atomic.Int64 // connections
	sent   atomic.Int64 // requests
	want   int64        // requests that the attack consists of; 0: any number
}

// attackers is from how many addresses connections are opened.
const attackers = 16

// dial opens a connection from one of the attackers' addresses, which the server does not trust.
func (a *arena) dial(ctx context.Context, n int) (*net.TCPConn, error) {
	dialer := target.Dialer(net.IPv4(127, 0, 1, byte(1+n%attackers)))
	dialer.Timeout = 10 * time.Second
	choosePort := dialer.Control
	dialer.Control = func(network, address string, raw syscall.RawConn) error {
		err := raw.Control(func(fd uintptr) { // a small window, so that a slow reader slows the server down at once
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		})
		return errors.Join(err, choosePort(network, address, raw))
	}
	conn, err := dialer.DialContext(ctx, "tcp", a.server)
	if err != nil {
		return nil, err
	}
	a.opened.Add(1)
	return conn.(*net.TCPConn), nil
}

// hold keeps many connections busy. One that the server closes is opened again.
func (a *arena) hold(ctx context.Context, use func(ctx context.Context, conn *net.TCPConn)) error {
	var group sync.WaitGroup
	for n := range a.connections {
		group.Go(func() {
			for ctx.Err() == nil {
				if conn, err := a.dial(ctx, n); err == nil {
					stop := context.AfterFunc(ctx, func() { conn.Close() })
					use(ctx, conn)
					stop()
					conn.Close()
				}
				target.Pause(ctx, time.Second)
			}
		})
	}
	group.Wait()
	return nil
}

// slowPause is how long slow clients wait after each byte. The server's limits are longer.
const slowPause = 500 * time.Millisecond

// slowReaders request a large response and read it byte by byte.
func slowReaders(ctx context.Context, a *arena) error {
	request := "GET /api/gpu/H100%20SXM/hourly HTTP/1.1\r\nHost: assay.example\r\n" +
		"Authorization: Bearer " + a.cast.full[0] + "\r\n\r\n"
	return a.hold(ctx, func(ctx context.Context, conn *net.TCPConn) {
		if _, err := io.WriteString(conn, request); err != nil {
			return
		}
		a.sent.Add(1)
		for one := make([]byte, 1); ; {
			if _, err := conn.Read(one); err != nil || !target.Pause(ctx, slowPause) {
				return
			}
		}
	})
}

// trickle writes a byte at a time.
func trickle(ctx context.Context, conn *net.TCPConn, text string) {
	for i := range len(text) {
		if _, err := io.WriteString(conn, text[i:i+1]); err != nil || !target.Pause(ctx, slowPause) {
			return
		}
	}
}

func slowHeaders(ctx context.Context, a *arena) error {
	return a.hold(ctx, func(ctx context.Context, conn *net.TCPConn) {
		trickle(ctx, conn, "GET /api/gpu-types HTTP/1.1\r\nHost: assay.example\r\nX-Slow: "+longText)
	})
}

func slowBodies(ctx context.Context, a *arena) error {
	head := "POST /api/session HTTP/1.1\r\nHost: assay.example\r\n" +
		"Content-Type: application/json\r\nContent-Length: 4000\r\n\r\n"
	return a.hold(ctx, func(ctx context.Context, conn *net.TCPConn) {
		if _, err := io.WriteString(conn, head); err != nil {
			return
		}
		a.sent.Add(1)
		trickle(ctx, conn, longText)
	})
}

// longText takes longer to send than any attack lasts.
var longText = fmt.Sprintf("%01000d", 0)

// halfOpen opens connections and sends nothing; every other one also closes its side.
func halfOpen(ctx context.Context, a *arena) error {
	var n atomic.Int64
	return a.hold(ctx, func(_ context.Context, conn *net.TCPConn) {
		if n.Add(1)%2 == 0 {
			conn.CloseWrite()
		}
		io.Copy(io.Discard, conn)
	})
}

// connectionFlood opens connections and resets them at once, or after half a request.
func connectionFlood(ctx context.Context, a *arena) error {
	var group sync.WaitGroup
	for worker := range attackers {
		group.Go(func() {
			for n := worker; ctx.Err() == nil; n++ {
				conn, err := a.dial(ctx, n)
				if err != nil {
					continue
				}
				if n%2 == 0 {
					io.WriteString(conn, "GET /api/gpu-types HTTP/1.1\r\nHo")
				}
				conn.SetLinger(0)
				conn.Close()
			}
		})
	}
	group.Wait()
	return nil
}

// manyAddresses reads a price from every address in turn.
func manyAddresses(ctx context.Context, a *arena) error {
	return a.flood(ctx, "/api/gpu/{gpuName}", a.cast.addresses, func(n int, r *request) {
		r.header("X-Forwarded-For", address(n))
	})
}

// manyKeys reads an hour with every key in turn.
func manyKeys(ctx context.Context, a *arena) error {
	return a.flood(ctx, "/api/gpu/{gpuName}/hourly", len(a.cast.full)+len(a.cast.premium), func(n int, r *request) {
		r.header("X-Forwarded-For", address(0))
		r.query = []pair{{name: "limit", value: "1"}}
		key := a.cast.premium[n%len(a.cast.premium)]
		r.role, r.tier = premium, premiumTier
		if n < len(a.cast.full) {
			key, r.role, r.tier = a.cast.full[n], full, fullTier
		}
		r.header("Authorization", "Bearer "+key)
	})
}

// flood sends valid requests, numbered, until the context ends or each of them was sent once.
func (a *arena) flood(ctx context.Context, template string, count int, vary func(n int, r *request)) error {
	const together = 10
	operation := a.campaign.generator.description.find(template).operation("GET")
	e := func(number uint64) *exchange {
		if int(number)*together >= count {
			return nil
		}
		e := &exchange{number: number}
		for i := range together {
			r := &request{operation: operation, method: "GET", version: "HTTP/1.1", id: fmt.Sprintf("flood%d-%d", number, i)}
			r.header("Host", "assay.example")
			r.header("X-Request-Id", r.id)
			for name := range strings.SplitSeq(template[1:], "/") {
				if name[0] == '{' {
					name = "H200"
				}
				r.segments = append(r.segments, name)
			}
			vary((int(number)*together+i)%count, r)
			r.write()
			e.requests = append(e.requests, r)
		}
		return e
	}
	a.want = int64(count)
	var t tally
	var next atomic.Uint64
	err := a.campaign.carryAll(ctx, &next, e, int64(count), a.rate, &t)
	a.sent.Add(t.total.Load())
	return err
}

// thousands is 1234567 as 1,234,567.
func thousands(v int64) string {
	digits := strconv.FormatInt(v, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
