package web

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/jub0bs/cors"

	"github.com/assaydata/assay"
)

// crossOrigin lets pages of other origins read: any origin without a key, the listed ones with a key.
type crossOrigin struct {
	anonymous *cors.Middleware
	keyed     *cors.Middleware // nil when no origin is listed
	posts     *cors.Middleware // likewise
}

// exposed are the response headers that scripts may read.
var exposed = []string{
	"X-Request-Id", "X-Assay-Synthetic", "X-Assay-Stale", "X-Assay-Ignored", "RateLimit", "RateLimit-Policy",
	"Retry-After", "ETag", "Content-Disposition", "Deprecation", "Sunset", "Link", "Preference-Applied",
}

// requestHeaders are those that scripts may send. Many send Content-Type with requests that have no body.
var requestHeaders = []string{"Content-Type", "If-None-Match", "Last-Event-ID", "Prefer", "X-Request-Id"}

// anyOrigin are the header lines that let any origin read, as the middleware writes them: the names sorted and in lower
// case.
var anyOrigin = func() string {
	names := strings.Split(strings.ToLower(strings.Join(exposed, ",")), ",")
	slices.Sort(names)
	return "Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: " + strings.Join(names, ",") + "\r\n"
}()

func newCORS(origins []string) (c crossOrigin, err error) {
	c.anonymous, err = cors.NewMiddleware(cors.Config{
		Origins: []string{"*"}, Methods: []string{http.MethodGet, http.MethodHead},
		RequestHeaders: requestHeaders, ResponseHeaders: exposed,
	})
	if err != nil || len(origins) == 0 {
		return c, err
	}
	c.keyed, err = cors.NewMiddleware(cors.Config{
		Origins: origins, Methods: []string{http.MethodGet, http.MethodHead},
		RequestHeaders: append([]string{"Authorization"}, requestHeaders...), ResponseHeaders: exposed,
	})
	if err != nil {
		return c, fmt.Errorf("origins that may send keys: %w", err)
	}
	c.posts, err = cors.NewMiddleware(cors.Config{
		Origins: origins, Methods: []string{http.MethodPost},
		RequestHeaders: append(
			[]string{"Authorization", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"}, requestHeaders...),
		ResponseHeaders: exposed,
	})
	return c, err
}

// servePosts serves a route to which programs post. Browsers name the origin of the page that posts. Without this check
// a page could reach a server that only its visitor can reach, also by letting its own name lead there.
func (c *crossOrigin) servePosts(r *Request, found *resource) error {
	origin := r.http.Header["Origin"]
	switch {
	case len(origin) == 0 || len(origin) == 1 && r.server.isOwnOrigin(origin[0], r.http.Host):
		return r.serve(found)
	case c.posts == nil:
		return errOrigin
	}
	err := error(errOrigin)
	//nolint:contextcheck // the request has the context
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if w.Header().Get("Access-Control-Allow-Origin") != "" {
			err = r.serve(found)
		}
	})
	c.posts.Wrap(next).ServeHTTP(&r.out, r.http)
	if r.out.status != 0 {
		return nil // to a preflight
	}
	return err
}

var errOrigin = &assay.Error{
	Kind: assay.Forbidden, Code: "cross_origin",
	Message: "This path takes requests from programs and from pages that the operator lists, not from this page.",
}

// isOwnOrigin reports whether an origin is this server: by its public address, or by an IP address or localhost. Any
// other name may be one that a stranger has made lead here.
func (s *Server) isOwnOrigin(origin, host string) bool {
	if s.config.PublicURL != "" && origin == s.config.PublicURL {
		return true
	}
	parsed, err := url.Parse(origin)
	if err != nil || parsed.Host != host || host == "" {
		return false
	}
	_, err = netip.ParseAddr(parsed.Hostname())
	return err == nil || parsed.Hostname() == "localhost"
}

// serve serves a resource with the CORS headers that its request needs; a nil resource is an unknown path.
func (c *crossOrigin) serve(r *Request, found *resource) error {
	keyed := withKey(r.http)
	switch {
	case keyed && c.keyed != nil:
		return serveThrough(c.keyed, r, found)
	case !keyed && len(r.http.Header["Origin"]) > 0:
		return serveThrough(c.anonymous, r, found)
	case !keyed || found != nil && found.public:
		// Also without an origin: a shared cache may serve the response to a request that has one.
		r.out.headers.lines = append(r.out.headers.lines, anyOrigin...)
	}
	return serveFound(r, found)
}

// serveThrough is apart from serve so that a request without an origin costs no allocation.
func serveThrough(middleware *cors.Middleware, r *Request, found *resource) (err error) {
	//nolint:contextcheck // the request has the context
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { err = serveFound(r, found) })
	middleware.Wrap(next).ServeHTTP(&r.out, r.http)
	return err
}

func serveFound(r *Request, found *resource) error {
	if found == nil {
		return errUnknownPath
	}
	return r.serve(found)
}

// withKey reports whether a request carries a key or, being a preflight, announces one.
func withKey(r *http.Request) bool {
	if len(r.Header["Authorization"]) > 0 {
		return true
	}
	if r.Method != http.MethodOptions {
		return false
	}
	for _, line := range r.Header["Access-Control-Request-Headers"] {
		for name := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(name), "Authorization") {
				return true
			}
		}
	}
	return false
}
