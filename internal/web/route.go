package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/table"
)

// Route is one method of one path: what limits it, who may call it, what serves it.
type Route struct {
	Method string // GET includes HEAD, and every path responds to OPTIONS
	Path   string // variable segments in braces: /api/gpu/{gpuName}; {path...} is the rest
	Limit  LimitClass
	Rule   access.Rule
	Serve  func(*Request) (Response, error)
	Table  *table.Schema // of its rows, which can be had as a table; nil if they cannot

	WithoutData bool         // served even before there is data
	Deprecated  *Deprecation // nil if the route stays

	traffic *traffic // set by the server
}

// Deprecation says of a route that another one has replaced it. Every response says so, also an error: a caller whose
// requests all fail has to learn it too.
type Deprecation struct {
	Since     time.Time
	Sunset    time.Time // when the route may be removed
	Successor string    // the path to use instead
}

// announce sets the headers of RFC 9745 and RFC 8594.
func (d *Deprecation) announce(r *Request) {
	if d == nil {
		return
	}
	r.SetHeader("Deprecation", "@"+strconv.FormatInt(d.Since.Unix(), 10))
	r.SetHeader("Sunset", d.Sunset.Format(http.TimeFormat))
	r.SetHeader("Link", "<"+d.Successor+`>; rel="successor-version"`)
}

// LimitClass says which rate limit a route has.
type LimitClass uint8

// The rate limits.
const (
	Unlimited  LimitClass = iota
	PerAddress            // by client address, before authentication; by account with a session
	PerKey                // by key, after authentication; by account with a session
	PerCaller             // by key or session, or by address without either
)

// Group is routes that serve the same callers.
type Group struct {
	Routes []Route
	// Private routes are for the pages of this server only: no other origin may call them, and when they fail for a reason
	// that is not the caller's, the response is a 503.
	Private bool
	// Posts is set for routes to which programs post, and which look at keys themselves: a page of another origin may only
	// if it is one of those that may send keys. It is never set together with Private.
	Posts bool
	// Session returns the caller whose session a request's cookie names.
	Session func(r *Request, token string) (assay.Caller, bool)
	// WatchSession returns what finds out whose session it is later on. It must not count as a use of the session.
	WatchSession func(token string) func(now int64) (assay.Caller, bool)
}

// resource is a path with all of its routes.
type resource struct {
	group       *Group
	routes      []Route
	allow       string // the header Allow
	methods     string // the same in a sentence
	withoutData bool
	public      bool // no route asks who calls
}

// resources collects the routes of a group by path, in the order of the group.
func (g *Group) resources() (list []*resource) {
	byPath := map[string]*resource{}
	for _, route := range g.Routes {
		found := byPath[route.Path]
		if found == nil {
			found = &resource{group: g, withoutData: route.WithoutData, public: true}
			byPath[route.Path] = found
			list = append(list, found)
		}
		found.routes = append(found.routes, route)
		found.public = found.public && route.Rule == access.Public
	}
	for _, r := range list {
		methods := r.listMethods()
		r.methods = JoinWords(methods, "and")
		r.allow = strings.Join(append(methods, http.MethodOptions), ", ")
	}
	return list
}

func (r *resource) listMethods() (methods []string) {
	for _, route := range r.routes {
		methods = append(methods, route.Method)
		if route.Method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	return methods
}

// route finds the route of a method. Another method counts as the first route, for the rate limit and the log.
func (r *resource) route(method string) (found *Route, ok bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for i := range r.routes {
		if r.routes[i].Method == method {
			return &r.routes[i], true
		}
	}
	return &r.routes[0], false
}

// wrongMethod refuses a method on a path that has others.
func wrongMethod(methods, given string) error {
	return &assay.Error{
		Kind: assay.MethodNotAllowed, Code: "method_not_allowed",
		Message: fmt.Sprintf("This path takes %s, not %s.", methods, shown(given)),
	}
}
