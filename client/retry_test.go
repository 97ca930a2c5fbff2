package client_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/client"
	"github.com/assaydata/assay/internal/apitest"
)

const regions = `{"success":true,"count":1,"data":[{"region":"us-east"}]}`

// busy is a server that refuses some requests before it responds.
type busy struct {
	refuse     int // how many requests
	status     int
	retryAfter string
	got        atomic.Int64
}

func (b *busy) ServeHTTP(out http.ResponseWriter, _ *http.Request) {
	if int(b.got.Add(1)) > b.refuse {
		writeJSON(out, 200, regions)
		return
	}
	if b.retryAfter != "" {
		out.Header().Set("Retry-After", b.retryAfter)
	}
	writeJSON(out, b.status, `{"error":"Too many requests","code":"rate_limited","message":"Slow down.","request_id":"r"}`)
}

func TestRetries(t *testing.T) {
	t.Parallel()
	f := func(name string, b *busy, requests int, ok bool, check func([]time.Duration) bool, options ...client.Option) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sleeper{}
			c := newClient(t, serve(t, b), append([]client.Option{client.WithKey(""), s.option()}, options...)...)
			_, err := c.Regions(t.Context())
			if (err == nil) != ok || int(b.got.Load()) != requests || !check(s.waits) {
				t.Errorf("%d requests, waits %v, error %v; want %d requests", b.got.Load(), s.waits, err, requests)
			}
		})
	}
	exactly := func(want ...time.Duration) func([]time.Duration) bool {
		return func(got []time.Duration) bool { return slices.Equal(got, want) }
	}
	growing := func(n int) func([]time.Duration) bool {
		return func(got []time.Duration) bool {
			for i, wait := range got {
				if wait <= 0 || wait > min(500*time.Millisecond<<i, 16*time.Second) {
					return false
				}
			}
			return len(got) == n
		}
	}
	f("429 with a time", &busy{refuse: 1, status: 429, retryAfter: "7"}, 2, true, exactly(7*time.Second))
	f("503 with a time, twice", &busy{refuse: 2, status: 503, retryAfter: "5"}, 3, true, exactly(5*time.Second, 5*time.Second))
	f("503 without a time", &busy{refuse: 3, status: 503}, 4, true, growing(3))
	f("a time that is no time", &busy{refuse: 1, status: 503, retryAfter: "soon"}, 2, true, growing(1))
	f("too often", &busy{refuse: 9, status: 503}, 4, false, growing(3))
	f("many retries", &busy{refuse: 8, status: 503}, 9, true, growing(8), client.WithRetries(8), client.WithMaxWait(time.Hour))
	f("none wanted", &busy{refuse: 1, status: 429, retryAfter: "1"}, 1, false, exactly(), client.WithRetries(0))
	f("longer than the patience", &busy{refuse: 1, status: 429, retryAfter: "61"}, 1, false, exactly())
	f("longer than the patience together", &busy{refuse: 2, status: 429, retryAfter: "31"}, 2, false, exactly(31*time.Second))
	f("more patience", &busy{refuse: 1, status: 429, retryAfter: "61"}, 2, true, exactly(61*time.Second), client.WithMaxWait(time.Hour))
	f("as long as can be said", &busy{refuse: 1, status: 429, retryAfter: "9223372036854775807"}, 1, false, exactly())
	f("a fault of the server", &busy{refuse: 1, status: 500, retryAfter: "1"}, 1, false, exactly())
	f("a proxy's fault", &busy{refuse: 1, status: 502}, 1, false, exactly())
	f("a refusal", &busy{refuse: 1, status: 403}, 1, false, exactly())
}

// An error says how long the server asks to wait, also as an instant, by the server's clock.
func TestRetries_RetryAfter(t *testing.T) {
	t.Parallel()
	f := func(header string, want time.Duration) {
		t.Helper()
		c := respond(t, func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Date", "Sun, 01 Jan 1984 00:00:00 GMT")
			out.Header().Set("Retry-After", header)
			writeJSON(out, 429, `{"error":"Too many requests","code":"rate_limited","message":"Slow down.","request_id":"r"}`)
		}, client.WithRetries(0))
		_, err := c.Regions(t.Context())
		if e := failure(t, err); e.RetryAfter != want || e.Kind != assay.TooMany {
			t.Errorf("%s is read as %v, want %v", header, e.RetryAfter, want)
		}
	}
	f("90", 90*time.Second)
	f("0", 0)
	f("-1", 0)
	f("Sun, 01 Jan 1984 00:02:00 GMT", 2*time.Minute)
	f("Sat, 31 Dec 1983 00:00:00 GMT", 0)
	f("99999999999999999999999", 0)
}

// The real server's limit: the request after the wait succeeds.
func TestRetries_RateLimit(t *testing.T) {
	t.Parallel()
	r := &rig{Rig: apitest.New(t)}
	r.url = serve(t, r.Server)
	s := &sleeper{}
	s.then = func() { r.Clock = r.Clock.Add(s.waits[len(s.waits)-1]) }
	c := newClient(t, r.url, client.WithKey(""), s.option())
	for range 61 {
		if _, err := c.GPUPrice(t.Context(), "H200", nil); err != nil {
			t.Fatal(err)
		}
	}
	if want := []time.Duration{time.Minute}; !slices.Equal(s.waits, want) {
		t.Errorf("it waits %v, want %v", s.waits, want)
	}
}

// A connection that fails before a response is tried again.
func TestRetries_Connection(t *testing.T) {
	t.Parallel()
	var got atomic.Int64
	c := respond(t, func(out http.ResponseWriter, _ *http.Request) {
		if got.Add(1) < 3 {
			panic(http.ErrAbortHandler)
		}
		writeJSON(out, 200, regions)
	})
	if _, err := c.Regions(t.Context()); err != nil || got.Load() < 3 {
		t.Errorf("after %d requests: %v", got.Load(), err)
	}
}

func TestRetries_NoServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	s := &sleeper{}
	_, err = newClient(t, "http://"+address, client.WithKey("secret"), s.option()).Regions(t.Context())
	e := failure(t, err)
	if e.Code != "connection" || e.Kind != assay.Unavailable || len(s.waits) != 3 || !strings.Contains(err.Error(), address) {
		t.Errorf("waits %v, error %+v", s.waits, e)
	}
}

// A certificate that is not trusted will not be trusted a second later.
func TestRetries_Certificate(t *testing.T) {
	t.Parallel()
	server := newTLSServer(t)
	s := &sleeper{}
	_, err := newClient(t, server, client.WithKey("secret"), s.option()).Regions(t.Context())
	if e := failure(t, err); e.Code != "connection" || len(s.waits) != 0 || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("waits %v, error %v", s.waits, err)
	}
}

// While it waits, a client notices the end of the context; and it does not begin a wait that the context does not
// allow.
func TestRetries_Context(t *testing.T) {
	t.Parallel()
	b := &busy{refuse: 9, status: 503, retryAfter: "30"}
	url := serve(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	s := &sleeper{then: cancel}
	_, err := newClient(t, url, client.WithKey(""), s.option()).Regions(ctx)
	if e := failure(t, err); e.Code != "canceled" || !strings.Contains(e.Message, "Slow down.") || e.RetryAfter != 30*time.Second {
		t.Errorf("got %+v", e)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s = &sleeper{}
	_, err = newClient(t, url, client.WithKey(""), s.option()).Regions(ctx)
	if e := failure(t, err); e.Code != "rate_limited" || len(s.waits) != 0 {
		t.Errorf("waits %v, error %+v", s.waits, e)
	}
}

// The client's own way to wait.
func TestRetries_Sleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := newClient(t, "http://assay.example", client.WithKey(""), client.WithHTTPClient(&http.Client{Transport: never{}}))
		_, err := c.Regions(t.Context())
		if after := time.Since(began); failure(t, err).Status != 503 || after != 21*time.Second {
			t.Errorf("after %v: %v", after, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			pass(ctx, time.Second)
			cancel()
		}()
		began = time.Now()
		_, err = c.Regions(ctx)
		if after := time.Since(began); failure(t, err).Code != "canceled" || after != time.Second {
			t.Errorf("after %v: %v", after, err)
		}
	})
}

// never is a transport to a server that asks for seven seconds, each time.
type never struct{}

func (never) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 503, Header: http.Header{"Retry-After": {"7"}}, Body: http.NoBody, Request: request,
	}, nil
}
