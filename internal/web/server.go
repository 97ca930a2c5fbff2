// Package web is the HTTP transport: connections, requests, parameters, responses, content encodings, caching, rate
// limits, CORS and the request log. It knows no market data; the routes come from internal/api and internal/console.
//
// A request passes plain calls in this order: public rate limit, method, origin, caller, per-key rate limit, may this
// caller use the route at all, handler. Handlers receive a *Request and return a Response or an error; only this
// package writes to the connection.
//
// A server may start before there is data. Until then it serves the routes that need none and responds 503 to the rest.
package web

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/limit/sharedlimit"
	"github.com/assaydata/assay/internal/push"
	"github.com/assaydata/assay/internal/tracing"
)

// Config is what a server needs.
type Config struct {
	Settings
	Now         func() time.Time
	Requests    io.Writer          // receives one line per request; nil for none
	LogText     bool               // the line is text, not JSON
	Log         *slog.Logger       // receives failures of the server
	CORSOrigins []string           // origins that may send keys
	PublicURL   string             // scheme and host that browsers use for this server; may be empty
	Limits      *sharedlimit.Redis // counts for all nodes together; nil when this node counts alone
	Status      *NodeStatus
	// StandardHTTP leaves all connections to net/http.
	StandardHTTP bool
	Pages        Pages           // the dashboard; nil for none
	Traces       *tracing.Tracer // nil: requests are not traced
	// Hub has the streams; nil for a server without routes that have any.
	Hub *push.Hub

	// Data describes what is being served. It is called once per request.
	Data func() DataState
	// Key returns the caller that a key belongs to. It must not wait for the database.
	Key func(text string, now int64) (assay.Caller, error)
	// WatchKey returns what finds out later on whose key it is, and whether it is still valid.
	WatchKey func(text string) func(now int64) (assay.Caller, bool)
	// Count records a finished request of a key. It must not wait for the database.
	Count func(keyID, route string, status int, now int64)
}

// DataState describes the data that a server serves.
type DataState struct {
	Loaded    bool // without data only routes that need none are served
	Synthetic bool // responses say that the data is not real
}

// Pages serves paths that are not routes, such as a web page.
type Pages interface {
	Has(r *http.Request) bool
	// ServePage serves a request for which Has is true. The origin is that of absolute links to this server.
	ServePage(w http.ResponseWriter, r *http.Request, origin string)
}

// Limits of section 8 of the contract.
const (
	publicLimit = 60
	limitWindow = time.Minute
	// sessionLimit is for the browsers of an account together: sixty views a minute of a page that sends twenty requests.
	sessionLimit = 1200
	// KeysPerAccount is how many keys of one account can use their limits fully at the same time, unless configured.
	KeysPerAccount = 10
	// maxAddresses and maxKeys bound the limiters' memory on this node; a full table takes about 80 MB.
	maxAddresses = 131_072
	maxKeys      = 65_536
)

// maxURI is the longest accepted request target; our own are less than a tenth of it.
const maxURI = 8 << 10

// Server serves requests.
type Server struct {
	config       Config
	started      time.Time
	router       router
	settings     atomic.Pointer[settings]
	cors         crossOrigin
	sameOrigin   *http.CrossOriginProtection
	byAddress    *Limiter[netip.Addr]
	bySession    *Limiter[string] // by the names of accounts, on public and on keyed routes
	requestCount atomic.Uint64
	finished     atomic.Int64 // requests, for the log
	idPrefix     string
	pool         sync.Pool // of *Request
	cacheControl cacheControl

	routes         []*Route // in the order of the groups
	pages, unknown traffic
	inFlight       atomic.Int64
	listenersMu    sync.Mutex
	listeners      []*conns // guarded by listenersMu
}

// New makes a server of the given routes.
func New(config Config, groups ...Group) (*Server, error) {
	s := &Server{
		config:   config,
		started:  config.Now(),
		idPrefix: newIDPrefix(),
	}
	s.pool.New = func() any { return &Request{scratch: make([]byte, 0, 512)} }
	s.byAddress = NewLimiter(config.Limits, LimitConfig{
		Name: "public", Limit: publicLimit, Window: limitWindow, MaxKeys: maxAddresses, Counted: requestsPerMinute,
	}, netip.Addr.String)
	s.bySession = NewLimiter(config.Limits, LimitConfig{
		Name: "session", Limit: sessionLimit, Window: limitWindow, MaxKeys: maxKeys, Counted: requestsPerMinute,
	}, strings.Clone)
	s.Apply(config.Settings)
	s.sameOrigin = http.NewCrossOriginProtection()
	if config.PublicURL != "" {
		if err := s.sameOrigin.AddTrustedOrigin(config.PublicURL); err != nil {
			return nil, fmt.Errorf("the public address: %w", err)
		}
	}
	var err error
	if s.cors, err = newCORS(config.CORSOrigins); err != nil {
		return nil, err
	}
	for i := range groups {
		for _, resource := range groups[i].resources() {
			s.router.add(resource)
			for i := range resource.routes {
				resource.routes[i].traffic = &traffic{}
				s.routes = append(s.routes, &resource.routes[i])
			}
		}
	}
	return s, nil
}

// ServeHTTP serves one request: it gives it an id, recovers from panics, and logs one line at the end.
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	if last := s.serveRequest(w, hr); last != nil { //nolint:contextcheck // the request has the context
		last()
	}
}

// serveRequest returns what is left to do when the request has ended; nil for nothing.
func (s *Server) serveRequest(w http.ResponseWriter, hr *http.Request) (last func()) {
	s.inFlight.Add(1)
	r := s.pool.Get().(*Request)
	data := s.config.Data()
	r.begin(s, w, hr, data) //nolint:contextcheck // the request has the context
	defer s.finish(r)
	if err := s.dispatch(r, data); err != nil { //nolint:contextcheck // the request has the context
		r.fail(err)
	}
	return r.last
}

// dispatch finds the route and serves it.
func (s *Server) dispatch(r *Request, data DataState) error {
	if len(r.http.RequestURI) > maxURI {
		return &assay.Error{
			Kind: assay.URITooLong, Code: "uri_too_long",
			Message: fmt.Sprintf("The request target is longer than %d bytes.", maxURI),
		}
	}
	if !cleanPath(r.http) {
		return errUncleanPath
	}
	found := s.router.find(r)
	switch {
	case !data.Loaded && (found == nil || !found.withoutData):
		return s.config.Status.notServing()
	case found == nil && s.config.Pages != nil && s.config.Pages.Has(r.http):
		return s.servePage(r)
	case found != nil && found.group.Private:
		return r.serve(found)
	case found != nil && found.group.Posts:
		return s.cors.servePosts(r, found)
	}
	return s.cors.serve(r, found)
}

var (
	errUncleanPath = &assay.Error{
		Kind: assay.NotFound, Code: "unknown_path", Message: "There is no such path: it has an empty or a dot segment.",
	}
	errUnknownPath = &assay.Error{
		Kind: assay.NotFound, Code: "unknown_path", Message: "There is no such path. The API is described at /openapi.json.",
	}
)

// servePage serves a page or a file of the dashboard.
func (s *Server) servePage(r *Request) error {
	if method := r.http.Method; method != http.MethodGet && method != http.MethodHead {
		r.SetHeader("Allow", "GET, HEAD")
		return wrongMethod("GET and HEAD", method)
	}
	r.page = true
	s.config.Pages.ServePage(&r.out, r.http, r.Origin())
	return nil
}

// finish ends a request: a panic becomes a 500 or, if the response has begun, the end of the connection; the line is
// logged, the request returns to the pool.
func (s *Server) finish(r *Request) {
	defer s.inFlight.Add(-1)
	abort := false
	if p := recover(); p != nil {
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p)
		}
		abort = r.out.status != 0
		r.fail(&panicError{p, debug.Stack()})
	}
	if r.caller.KeyID != "" {
		s.config.Count(r.caller.KeyID, r.route.Path, r.out.status, r.now.UnixMilli())
	}
	r.took = s.config.Now().Sub(r.now)
	r.endSpan()
	s.trafficOf(r).count(r.caller.Tier, r.out.status, r.took)
	r.log()
	r.skipBody()
	r.end()
	s.pool.Put(r)
	if abort {
		// The client must not take what it has for the whole body, so the connection ends in the middle of it.
		panic(http.ErrAbortHandler)
	}
}

// panicError is a panic of a handler.
type panicError struct {
	value any
	stack []byte
}

// Error names the value and where it came from, for the log.
func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }
