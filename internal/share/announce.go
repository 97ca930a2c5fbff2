package share

import (
	"net/http"
	"strings"

	"github.com/assaydata/assay/internal/web"
)

// announced are pages that say where the description of their embedded chart is.
type announced struct{ web.Pages }

// Announce lets the pages about GPU models say where /oembed describes their chart, with a header: all of them have the
// same document.
func Announce(pages web.Pages) web.Pages { return &announced{pages} }

// ServePage serves a page.
func (a *announced) ServePage(w http.ResponseWriter, r *http.Request, origin string) {
	path := r.URL.EscapedPath()
	if name, ok := strings.CutPrefix(path, "/gpu/"); ok && name != "" && !strings.Contains(name, "/") {
		w.Header().Set("Link", "<"+oEmbedPath(origin+path)+`>; rel="alternate"; type="application/json+oembed"`)
	}
	a.Pages.ServePage(w, r, origin)
}
