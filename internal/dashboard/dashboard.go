// Package dashboard serves the web pages of the program: what a browser shows, not what programs read.
//
// The pages are one application that is built into dist, beside this package, and embedded in the program. Every page
// responds with the same document, index.html, and the application shows the page of the address. The files it loads
// have a hash in their names, so a browser keeps them forever; it requests the document again each time. This package
// does not know the caller: the application reads the public API like any other program, with the session's cookie.
//
// A program that was built without the pages responds with a plain document that says how to build them.
package dashboard

import (
	"embed"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// dist is where the build puts the pages. A file that only keeps the folder always exists.
//
//go:embed all:dist
var dist embed.FS

// plain is the document of a program without the pages.
//
//go:embed plain.html
var plain []byte

// pages are the paths that respond with the document.
var pages = []string{
	"/{$}", "/gpu/{name}", "/regions", "/proof/{name}", "/memory", "/tokens", "/workload", "/coding", "/sites",
	"/settings", "/plans", "/methodology", "/corrections", "/status", "/docs", "/signin",
}

// paths knows the paths of pages; it serves nothing.
var paths = func() *http.ServeMux {
	mux := http.NewServeMux()
	for _, page := range pages {
		mux.Handle(page, http.NotFoundHandler())
	}
	return mux
}()

// Dashboard serves the pages and the files they load.
type Dashboard struct {
	document *file
	files    map[string]*file // by path
}

// New makes the dashboard of this program.
func New() (*Dashboard, error) {
	built, err := fs.Sub(dist, "dist")
	if err != nil {
		return nil, err
	}
	return newDashboard(built)
}

func newDashboard(built fs.FS) (*Dashboard, error) {
	d := &Dashboard{
		document: newFile("plain.html", plain, revalidate),
		files:    map[string]*file{},
	}
	err := fs.WalkDir(built, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		content, err := fs.ReadFile(built, name)
		if err != nil {
			return err
		}
		d.add(name, content)
		return nil
	})
	return d, err
}

// add registers a file of the build.
func (d *Dashboard) add(name string, content []byte) {
	switch folder, _, inside := strings.Cut(name, "/"); {
	case name == "index.html":
		d.document = newFile(name, content, revalidate)
	case inside && folder == "assets":
		d.files["/"+name] = newFile(name, content, forever)
	default:
		d.files["/"+name] = newFile(name, content, revalidate)
	}
}

// Has tells whether a request is for the dashboard: for a page, for one of its files, or from a browser for an unknown
// path. Paths under /api belong to programs.
func (d *Dashboard) Has(r *http.Request) bool {
	return d.files[r.URL.Path] != nil || isPage(r) || !isAPI(r.URL.Path) && navigates(r)
}

// IsPage tells whether an address on this server is that of a page.
func IsPage(u *url.URL) bool { return isPage(&http.Request{Method: http.MethodGet, URL: u}) }

// isPage tells whether a path is that of a page, whatever the method.
func isPage(r *http.Request) bool {
	_, pattern := paths.Handler(r)
	return pattern != ""
}

func isAPI(p string) bool { return p == "/api" || strings.HasPrefix(p, "/api/") }

// navigates tells whether a browser will show the response.
func navigates(r *http.Request) bool {
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	return isRead && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// ServeHTTP serves a request for which Has is true.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch found := d.files[r.URL.Path]; {
	case found != nil:
		found.serve(w, r, http.StatusOK)
	case isPage(r):
		d.document.serve(w, r, http.StatusOK)
	default:
		d.document.serve(w, r, http.StatusNotFound)
	}
}

// contentTypes are those of the files that a build has. The system's own table differs between machines.
var contentTypes = map[string]string{
	".css":   "text/css; charset=utf-8",
	".html":  "text/html; charset=utf-8",
	".ico":   "image/x-icon",
	".js":    "text/javascript; charset=utf-8",
	".json":  "application/json",
	".png":   "image/png",
	".svg":   "image/svg+xml",
	".txt":   "text/plain; charset=utf-8",
	".woff2": "font/woff2",
}

func contentType(name string) string {
	if known := contentTypes[path.Ext(name)]; known != "" {
		return known
	}
	return "application/octet-stream"
}
