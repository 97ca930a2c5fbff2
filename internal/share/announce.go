package share

import (
	"net/http"
	"strings"

	"github.com/assaydata/assay/internal/web"
)

// announced are pages that say where the description of their embedded chart is.
type announced struct {
	web.Pages
	origin string // of the server; empty if only clients know it
}

// Announce lets the pages about GPU models say where /oembed describes their chart, with a header: all of them have the
// same document. publicURL may be empty.
func Announce(pages web.Pages, publicURL string) web.Pages { return &announced{pages, publicURL} }

// ServeHTTP serves a page.
func (a *announced) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	if name, ok := strings.CutPrefix(path, "/gpu/"); ok && name != "" && !strings.Contains(name, "/") {
		origin := a.origin
		if origin == "" {
			origin = "http://" + r.Host
		}
		w.Header().Set("Link", "<"+oEmbedPath(origin+path)+`>; rel="alternate"; type="application/json+oembed"`)
	}
	a.Pages.ServeHTTP(w, r)
}
