package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/jub0bs/cors"
)

// crossOrigin puts the CORS headers around a handler: anybody may read without a key, listed origins with one.
type crossOrigin struct {
	next      http.Handler
	anonymous http.Handler
	keyed     http.Handler // nil when no origin is listed
}

// exposed are the response headers that scripts may read.
var exposed = []string{"X-Request-Id", "X-Assay-Synthetic", "RateLimit", "RateLimit-Policy", "Retry-After", "ETag", "Deprecation", "Sunset", "Link"}

func newCrossOrigin(origins []string, next http.Handler) (*crossOrigin, error) {
	anonymous, err := cors.NewMiddleware(cors.Config{
		Origins: []string{"*"}, Methods: []string{http.MethodGet, http.MethodHead},
		RequestHeaders: []string{"X-Request-Id", "If-None-Match"}, ResponseHeaders: exposed,
	})
	if err != nil {
		return nil, err
	}
	c := &crossOrigin{next: next, anonymous: anonymous.Wrap(next)}
	if len(origins) == 0 {
		return c, nil
	}
	keyed, err := cors.NewMiddleware(cors.Config{
		Origins: origins, Methods: []string{http.MethodGet, http.MethodHead},
		RequestHeaders: []string{"Authorization", "X-Request-Id", "If-None-Match"}, ResponseHeaders: exposed,
	})
	if err != nil {
		return nil, fmt.Errorf("origins that may send keys: %w", err)
	}
	c.keyed = keyed.Wrap(next)
	return c, nil
}

func (c *crossOrigin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case withKey(r) && c.keyed != nil:
		c.keyed.ServeHTTP(w, r)
	case withKey(r) || len(r.Header["Origin"]) == 0:
		c.next.ServeHTTP(w, r)
	default:
		c.anonymous.ServeHTTP(w, r)
	}
}

// withKey tells whether a request carries a key or, being a preflight, announces one.
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
