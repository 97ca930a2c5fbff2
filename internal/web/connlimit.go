package web

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/httperror"
)

// ConnectionLimits bound how many connections are open at a time. Each takes a descriptor, of which a process has few;
// without the limits one client could take them all, and the database and the publisher would get none.
type ConnectionLimits struct {
	Total      int // 0 for no limit
	PerAddress int // likewise; IPv6 by /64, trusted proxies exempt
}

// retryConnection is when a client over a limit may try again.
const retryConnection = 10 * time.Second

// leastRate is how many connections an address may open in a second whatever its limit.
const leastRate = 32

// perSecond is how many connections an address may open in a second. A client that opens one for each of its requests
// needs no more than that; one that opens thousands, to close them again, would keep the server from its work.
func (l ConnectionLimits) perSecond() int { return max(leastRate, l.PerAddress/2) }

// errFlood refuses a connection without a response: the address has been told often enough in this second.
var errFlood = &assay.Error{Kind: assay.TooMany, Code: "too_many_connections"}

// checkAddressLocked counts an attempt to open a connection, and refuses it if the address opens them too fast or has
// too many open.
func (cs *conns) checkAddressLocked(address netip.Addr) *assay.Error {
	cs.attempts[address]++
	limits := cs.limits()
	rate := limits.perSecond()
	switch attempts := cs.attempts[address]; {
	case attempts > 2*rate:
		return errFlood
	case attempts > rate:
		return &assay.Error{
			Kind: assay.TooMany, Code: "too_many_connections", RetryAfter: time.Second,
			Message: fmt.Sprintf("Your address has opened %d connections within a second, and may not open more. "+
				"Send several requests over each.", rate),
		}
	case cs.addresses[address] >= limits.PerAddress:
		return &assay.Error{
			Kind: assay.TooMany, Code: "too_many_connections", RetryAfter: retryConnection,
			Message: fmt.Sprintf("Your address has %d connections open, and may not have more. "+
				"Send several requests over each, or close some.", limits.PerAddress),
		}
	default:
		return nil
	}
}

// admit registers a connection, or says why it is refused.
func (cs *conns) admit(c *conn) *assay.Error {
	if peer, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		address := peer.AddrPort().Addr().Unmap().WithZone("")
		c.address, c.exempt = LimitAddress(address), cs.trusted(address)
	}
	limits := cs.limits()
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if limits.PerAddress > 0 && !c.exempt {
		if err := cs.checkAddressLocked(c.address); err != nil {
			cs.countRefusedLocked()
			return err
		}
	}
	if most := limits.Total; most > 0 && len(cs.all) >= most && !cs.makeRoomLocked(c.address) {
		cs.countRefusedLocked()
		return &assay.Error{
			Kind: assay.Unavailable, Code: "too_many_connections", RetryAfter: retryConnection,
			Message: "The server has as many connections as it can serve. Try again later.",
		}
	}
	c.deadline.Store(cs.now.Load() + newTimeout)
	c.waiting.Store(true)
	cs.all[c] = struct{}{}
	cs.addresses[c.address]++
	return nil
}

func (cs *conns) countRefusedLocked() {
	cs.refused++
	cs.refusedEver++
}

// forgetLocked removes a connection, unless that was done before.
func (cs *conns) forgetLocked(c *conn) {
	if _, known := cs.all[c]; !known {
		return
	}
	delete(cs.all, c)
	if cs.addresses[c.address]--; cs.addresses[c.address] == 0 {
		delete(cs.addresses, c.address)
	}
}

// makeRoomLocked closes some connections that wait for a request, of the addresses that have most: at least more than
// the newcomer. So those who hold many connections without using them cannot keep others out.
func (cs *conns) makeRoomLocked(newcomer netip.Addr) bool {
	var candidates []*conn
	for c := range cs.all {
		if c.waiting.Load() && cs.addresses[c.address] > cs.addresses[newcomer]+1 && !c.exempt {
			candidates = append(candidates, c)
		}
	}
	slices.SortFunc(candidates, func(a, b *conn) int {
		return cmp.Or(
			cmp.Compare(cs.addresses[b.address], cs.addresses[a.address]),
			cmp.Compare(a.deadline.Load(), b.deadline.Load()),
		)
	})
	// A search takes a while, so it makes room for more than one.
	const share = 100
	for _, c := range candidates[:min(len(candidates), 1+cs.limits().Total/share)] {
		_ = c.raw.Close() // the server notices
		cs.forgetLocked(c)
	}
	return len(candidates) > 0
}

// reset ends a connection without a word.
func reset(nc net.Conn, _ *assay.Error) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the system forgets it at once
	}
	_ = nc.Close()
}

// refuse responds to a connection over a limit before it sends a request, and closes it. The response fits into the
// buffer of a new connection, so that this does not wait.
func (s *Server) refuse(nc net.Conn, e *assay.Error) {
	if e == errFlood {
		reset(nc, e)
		return
	}
	_, _ = nc.Write(s.closingResponse(Status(e.Kind), NewErrorBody(e, ""), e.RetryAfter, false)) // to one that may be gone
	_ = nc.Close()
}

// closingResponse is a whole response to a connection that is closed after it, because there is no request
// to respond to.
func (s *Server) closingResponse(status int, body ErrorBody, retryAfter time.Duration, secure bool) []byte {
	body.RequestID, body.DocURL = s.newRequestID(), httperror.DocURL(body.Code)
	text := body.JSON()
	b := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	b = appendLine(b, "Content-Type", jsonType)
	b = appendLine(b, "Content-Length", strconv.Itoa(len(text)))
	b = appendLine(b, "Cache-Control", noStore)
	b = appendLine(b, "Connection", "close")
	if retryAfter > 0 {
		b = appendLine(b, "Retry-After", strconv.Itoa(Seconds(retryAfter)))
	}
	if secure {
		b = appendLine(b, "Strict-Transport-Security", onlyTLS)
	}
	b = appendLine(b, "X-Content-Type-Options", "nosniff")
	b = appendLine(b, "X-Request-Id", body.RequestID)
	b = append(b, anyOrigin...)
	return append(append(b, "\r\n"...), text...)
}
