package web

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/push"
)

// A stream is a response that lasts. Once its route has decided what the caller gets, the connection leaves the request
// and becomes a member of the hub: the request, its buffers and its goroutine are free for others. The body has no
// length and no chunks, and ends with the connection.

// Streams bound how many streams are open at a time. Each takes a connection for as long as its client likes.
type Streams struct {
	PerKey     int // of one key, or of the sessions of one account
	PerAddress int // of callers without either; IPv6 by /64
}

// eventStream is the content type of streams.
const eventStream = "text/event-stream"

// Stream responds with a stream. join adds the member to the hub: it sets the class and what the member gets after the
// head of the response.
func Stream(join func(*push.Member)) Response { return Response{form: stream, join: join} }

// sendStream hands the connection over to the hub.
func (r *Request) sendStream(a *Response) error {
	r.out.headers.contentType = eventStream
	r.SetHeader("Vary", "Authorization, Cookie")
	r.SetHeader("Cache-Control", noStore)
	r.SetHeader("X-Accel-Buffering", "no") // nginx would collect events
	if r.http.Method == http.MethodHead {
		r.out.WriteHeader(http.StatusOK)
		return nil
	}
	leave, err := r.takePlace()
	if err != nil {
		return err
	}
	m := &push.Member{Ended: r.ended(), Closed: leave}
	join := a.join
	if r.http.ProtoMajor == 2 {
		r.streamOverHTTP2(m, join)
		return nil
	}
	m.First = r.streamHead()
	take := func(nc net.Conn) {
		if c := connOf(nc); c != nil {
			c.stream()
			m.Closed = func() { leave(); c.ended() }
		}
		_ = nc.SetDeadline(time.Time{}) // fails for a connection that has ended
		m.Conn = nc
		join(m)
	}
	r.out.status = http.StatusOK
	if r.out.fast != nil {
		r.out.fast.Take(take)
		return nil
	}
	nc, _, err := http.NewResponseController(r.out.ResponseWriter).Hijack()
	if err != nil {
		leave()
		r.out.status = 0
		return fmt.Errorf("take over the connection of a stream: %w", err)
	}
	go take(nc)
	return nil
}

// takePlace takes one of the places of the caller.
func (r *Request) takePlace() (leave func(), err error) {
	name, places, whose := "address "+LimitAddress(r.client).String(), r.settings.Streams.PerAddress, "Your address"
	switch {
	case r.caller.KeyID != "":
		name, places, whose = r.limitName(), r.settings.Streams.PerKey, "Your key"
	case r.caller.AccountID != 0:
		name, places, whose = r.limitName(), r.settings.Streams.PerKey, "Your account"
	}
	leave, ok := r.server.config.Hub.Take(name, places)
	if !ok {
		return nil, &assay.Error{
			Kind: assay.TooMany, Code: "too_many_streams", RetryAfter: retryConnection,
			Message: fmt.Sprintf("%s has %d streams open, and may not have more. "+
				"Read everything from one, or close some.", whose, places),
		}
	}
	return leave, nil
}

// The last events of callers whose access has ended, or is another one.
var (
	byeRevoked = push.Bye{Reason: "key_revoked", Message: "Your key or session is no longer valid."}
	byeChanged = push.Bye{
		Reason: push.Lifetime.Reason, Message: "Your access has changed. Connect again to continue with what you have now.",
	}
)

// ended returns what finds out whether the caller still has the access of this request; nil without a key or session.
// It does not have the key, only what it takes to find it.
func (r *Request) ended() func() (push.Bye, bool) {
	caller, config := r.caller, &r.server.config
	var current func(now int64) (assay.Caller, bool)
	switch {
	case caller.KeyID != "":
		key, err := bearer(r.http.Header["Authorization"])
		if err != nil {
			return nil // it was read before
		}
		current = config.WatchKey(key)
	case caller.AccountID != 0:
		current = r.resource.group.WatchSession(r.SessionToken())
	default:
		return nil
	}
	return func() (push.Bye, bool) {
		now, valid := current(config.Now().UnixMilli())
		switch {
		case !valid:
			return byeRevoked, true
		case now.Tier != caller.Tier || now.AccountID != caller.AccountID:
			return byeChanged, true
		}
		return push.Bye{}, false
	}
}

// streamHead is the head of the response.
func (r *Request) streamHead() []byte {
	h := &r.out.headers
	b := append(make([]byte, 0, 1024), "HTTP/1.1 200 OK\r\n"...)
	b = append(append(b, h.lines...), h.rateLimit...)
	for name, values := range r.out.Header() { // of the CORS middleware
		for _, value := range values {
			if !slices.Contains([]string{"Connection", "Content-Length", "Transfer-Encoding", "Date"}, name) {
				b = appendLine(b, name, value)
			}
		}
	}
	b = appendLine(b, "Content-Type", h.contentType)
	b = appendLine(b, "Date", time.Now().UTC().Format(http.TimeFormat))
	return append(b, "Connection: close\r\n\r\n"...)
}

// stream exempts the connection from the limits of time, because the hub has its own, and counts it as one in use.
func (c *conn) stream() {
	c.waiting.Store(false)
	c.deadline.Store(math.MaxInt64)
}

// ended forgets a connection that has left the HTTP servers.
func (c *conn) ended() { c.owner.changed(c, http.StateClosed) }

// closeStreams ends all streams with an event that says so.
func (s *Server) closeStreams(ctx context.Context) {
	if s.config.Hub != nil {
		s.config.Hub.Close(ctx)
	}
}

// List returns a parameter that may be given several times, and have several values with commas between.
func (r *Request) List(name string) (values []string, err error) {
	if r.http.URL.RawQuery == "" {
		return nil, nil
	}
	if err := r.parseParams(); err != nil {
		return nil, err
	}
	r.asked = append(r.asked, name)
	for i := range r.params {
		if p := &r.params[i]; p.name == name {
			p.known = true
			for value := range strings.SplitSeq(p.value, ",") {
				if value = strings.TrimSpace(value); value != "" && !slices.Contains(values, value) {
					values = append(values, value)
				}
			}
		}
	}
	return values, nil
}
