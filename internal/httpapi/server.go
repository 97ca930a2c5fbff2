// Package httpapi serves the API. One table of routes says for each path what limits it, who may call it and what serves
// it; the same table registers the mux, drives the access test and is compared with openapi.yaml.
//
// A request goes through plain calls in this order: public limiter, route, the caller's key, is this tier allowed on the
// route at all, parameters, window and item access, data. Handlers return an answer or an error; only respond.go writes.
// Everything is read from one snapshot in memory, loaded once per request: this package does not know the database. Only
// the determination records, many and seldom asked for, come from a function it is given. Accounts and sessions are known in
// memory too; who changes something about them waits for the account room, which knows the database.
//
// A server may begin before there is a snapshot: until then it answers /health alone, and everything else with 503.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/dashboard"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/limit/sharedlimit"
	"github.com/assaydata/assay/internal/oidc"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/usage"
)

// Config is what a server needs.
type Config struct {
	Snapshots      *snapshot.Holder
	Keys           *keys.Keyring
	Ping           func(context.Context) error // is the database there
	Now            func() time.Time
	Requests       io.Writer    // takes one line a request; nil for none
	Log            *slog.Logger // takes what goes wrong on our side
	Version        string
	TrustedProxies []netip.Prefix     // peers whose word on the client's address is taken
	CORSOrigins    []string           // origins that may send keys
	KeyLimit       int                // requests a minute of one key on keyed routes
	Limits         *sharedlimit.Redis // counts for all nodes together; nil when this one counts by itself

	Role   assay.NodeRole       // what this node is for; one that publishes alone answers nothing but /health
	Behind func() time.Duration // how long ago the snapshot was last compared with the database; nil where there is none

	Accounts  *account.Service
	Usage     *usage.Counter
	OIDC      *oidc.Provider       // nil for none
	OIDCName  string               // what people know the provider as
	PublicURL string               // scheme and host that browsers know this server by; empty when it was not told
	Dashboard *dashboard.Dashboard // the web pages; nil for none

	// Determinations reads all revisions of a slot's record, oldest first; none when nothing was published there.
	Determinations func(ctx context.Context, line assay.Line, grain assay.Grain, at int64) ([]assay.Determination, error)
}

// Limits of section 8 of the contract.
const (
	publicLimit = 60
	limitWindow = time.Minute
	// maxAddresses and maxKeys bound the limiters' memory on this node; the worst case of a full table is about 80 MB.
	maxAddresses = 131_072
	maxKeys      = 65_536
)

// maxURI is the longest request target that is read; none of ours needs a tenth of it.
const maxURI = 8 << 10

// Server answers requests.
type Server struct {
	Config
	started   time.Time
	contact   contact
	mux       *http.ServeMux
	proxies   *proxies
	byAddress *sharedlimit.Limiter[netip.Addr]
	byKey     *sharedlimit.Limiter[string]
	guesses   guesses
	origins   *http.CrossOriginProtection

	publicPolicy, keyPolicy policy

	requests atomic.Uint64
	idPrefix string
	calls    sync.Pool
	catalogs atomic.Pointer[catalogBodies]
	caching  atomic.Pointer[caching]
	schedule atomic.Pointer[index.Schedule] // the methodology's versions
}

// New makes a server.
func New(config Config) (*Server, error) {
	s := &Server{Config: config, started: config.Now(), mux: http.NewServeMux(), idPrefix: newIDPrefix()}
	s.contact.heard.Store(s.started.UnixMilli())
	s.calls.New = func() any { return new(call) }
	s.schedule.Store(&index.Schedule{index.Plain()}) // until a snapshot brings the operator's own
	s.byAddress = sharedlimit.New(config.Limits, "public", publicLimit, limitWindow, maxAddresses, netip.Addr.String)
	s.byKey = sharedlimit.New(config.Limits, "key", config.KeyLimit, limitWindow, maxKeys, strings.Clone)
	s.publicPolicy, s.keyPolicy = newPolicy("public", publicLimit, limitWindow, perMinute), newPolicy("key", config.KeyLimit, limitWindow, perMinute)
	s.guesses = newGuesses(config.Limits)
	s.proxies = newProxies(config.TrustedProxies)
	s.origins = http.NewCrossOriginProtection()
	if config.PublicURL != "" {
		if err := s.origins.AddTrustedOrigin(config.PublicURL); err != nil {
			return nil, fmt.Errorf("the public address: %w", err)
		}
	}
	cors, err := newCORS(config.CORSOrigins)
	if err != nil {
		return nil, err
	}
	for _, r := range resources(routes, false) {
		s.mux.Handle(r.routes[0].path, cors.wrap(s.handler(r)))
	}
	for _, r := range resources(ownRoutes, true) {
		s.mux.Handle(r.routes[0].path, s.handler(r))
	}
	s.mux.Handle("/", s.elsewhere(cors.wrap(http.HandlerFunc(unknownPath))))
	return s, nil
}

// ServeHTTP answers one request: it gives it an id, guards against panics, and logs one line when it is done.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := s.calls.Get().(*call)
	c.begin(s, w, r)
	defer s.finish(c)
	switch {
	case len(r.RequestURI) > maxURI:
		c.fail(&assay.Error{Kind: assay.URITooLong, Code: "uri_too_long", Message: fmt.Sprintf("The request target is longer than %d bytes.", maxURI)})
	case !cleanPath(r):
		c.fail(&assay.Error{Kind: assay.NotFound, Code: "unknown_path", Message: "There is no such path: it has an empty or a dot segment."})
	case c.snap == nil && r.URL.Path != healthPath:
		c.fail(c.notServing())
	default:
		s.mux.ServeHTTP(c, r)
	}
}

// cleanPath tells whether the mux will take the path as it is. It would redirect any other, and a redirect is a surprise
// to a program.
func cleanPath(r *http.Request) bool {
	if p := r.URL.Path; !strings.Contains(p, "//") && !strings.Contains(p, "/.") {
		return strings.HasPrefix(p, "/")
	}
	for segment := range strings.SplitSeq(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/") {
		if segment == "" || segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

// finish ends a call: a panic becomes a 500, the line is logged, the call goes back to the pool.
func (s *Server) finish(c *call) {
	if p := recover(); p != nil {
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p)
		}
		c.fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	}
	if c.caller.KeyID != "" {
		s.Usage.Count(c.caller.KeyID, c.route.path, c.status, c.now.UnixMilli())
	}
	c.log()
	c.end()
	s.calls.Put(c)
}

// handler runs the routes of a path.
func (s *Server) handler(r *resource) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		c := w.(*call)
		c.resource, c.r = r, req
		if err := c.serve(); err != nil { //nolint:contextcheck // the call has the request, and with it the context
			c.fail(err)
		}
	})
}

// elsewhere answers a path that is no route of the API: with a page or a file of the dashboard, or not at all.
func (s *Server) elsewhere(unknown http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := w.(*call)
		switch {
		case s.Dashboard == nil || !s.Dashboard.Has(r):
			unknown.ServeHTTP(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			c.set("Allow", "GET, HEAD")
			c.fail(wrongMethod("GET and HEAD", r.Method))
		default:
			s.Dashboard.ServeHTTP(w, r)
		}
	})
}

func unknownPath(w http.ResponseWriter, _ *http.Request) {
	c := w.(*call)
	c.fail(&assay.Error{Kind: assay.NotFound, Code: "unknown_path", Message: "There is no such path. The API is described at /openapi.json."})
}

// follow takes over the methodology's versions, as far as they can be read. They were checked when they were adopted.
func (s *Server) follow(files []assay.MethodologyFile) {
	if len(files) == 0 || len(files) == len(*s.schedule.Load()) && files[len(files)-1].Version == (*s.schedule.Load())[len(files)-1].Version {
		return
	}
	schedule, err := index.ParseSchedule(files)
	if err != nil {
		s.Log.Error("read the methodology", "error", err)
		return
	}
	s.schedule.Store(&schedule)
}

// Warm makes ready the answers that will be asked most, before a snapshot is swapped in.
func (s *Server) Warm(snap *snapshot.Snapshot) {
	if old := s.catalogs.Load(); old == nil || old.version != snap.CatalogVersion {
		made := newCatalogBodies(snap, s.Now().UnixMilli())
		if _, err := made.description(); err != nil {
			s.Log.Error("describe the API", "error", err)
		}
		s.catalogs.Store(made)
	}
	s.follow(snap.Methodologies)
	memoryModelOf(snap, math.MaxInt64)
	codingModelOf(snap, math.MaxInt64)
	s.tokenModelOf(snap, math.MaxInt64)
	warmSites(snap)
	for _, gpu := range snap.Catalog.GPUs {
		warmPrice(snap.Line(gpu.Name, assay.Global))
		warmHistory(snap.Line(gpu.Name, assay.Global), assay.MonthsBack(s.Now().UnixMilli(), 3))
	}
}
