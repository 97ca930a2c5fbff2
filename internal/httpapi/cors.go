package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/jub0bs/cors"
)

// crossOrigin lets pages of other origins read: without a key those of all, with one those that are listed.
type crossOrigin struct {
	anonymous *cors.Middleware
	keyed     *cors.Middleware // nil when no origin is listed
}

// exposed are the response headers that scripts may read.
var exposed = []string{"X-Request-Id", "X-Assay-Synthetic", "RateLimit", "RateLimit-Policy", "Retry-After", "ETag", "Deprecation", "Sunset", "Link"}

func newCORS(origins []string) (c crossOrigin, err error) {
	c.anonymous, err = cors.NewMiddleware(cors.Config{
		Origins: []string{"*"}, Methods: []string{http.MethodGet, http.MethodHead},
		RequestHeaders: []string{"X-Request-Id", "If-None-Match"}, ResponseHeaders: exposed,
	})
	if err != nil || len(origins) == 0 {
		return c, err
	}
	c.keyed, err = cors.NewMiddleware(cors.Config{
		Origins: origins, Methods: []string{http.MethodGet, http.MethodHead},
		RequestHeaders: []string{"Authorization", "X-Request-Id", "If-None-Match"}, ResponseHeaders: exposed,
	})
	if err != nil {
		return c, fmt.Errorf("origins that may send keys: %w", err)
	}
	return c, nil
}

// wrap puts the CORS headers around a handler.
func (c crossOrigin) wrap(next http.Handler) http.Handler {
	anonymous, keyed := c.anonymous.Wrap(next), next
	if c.keyed != nil {
		keyed = c.keyed.Wrap(next)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case withKey(r):
			keyed.ServeHTTP(w, r)
		case len(r.Header["Origin"]) == 0:
			next.ServeHTTP(w, r)
		default:
			anonymous.ServeHTTP(w, r)
		}
	})
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
