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

// page is a path that responds with the document, and what programs that show a link to it say about it. {name} stands
// for the name in the path.
type page struct{ path, title, about string }

// pages are all of them, with the titles that the application gives them.
var pages = []page{
	{"/", "Overview", "What a GPU-hour costs, and the proof of it."},
	{"/gpu/{name}", "{name}", "What an hour of {name} costs, from verified rentals, with the proof of every value."},
	{"/regions", "Prices by region", "What a GPU-hour costs in each region, as a heat map."},
	{"/proof/{name}", "Proof of {name}", "What a published value of {name} rests on, to be checked in the browser."},
	{"/memory", "Memory", "Prices of DRAM, flash and modules, one for each weekday."},
	{"/tokens", "Tokens", "What a million tokens of each lab cost, by day."},
	{"/workload", "Workload", "What an average request costs at each lab, and why that changes."},
	{"/coding", "Coding", "Pull requests, commits and merge rates of LLM coding tools, by day."},
	{"/sites", "Sites", "Data centers with their GPUs, their power and their status."},
	{"/settings", "Settings", "API keys, alerts and share links of an account."},
	{"/plans", "Plans", "What each plan includes, and what it costs."},
	{"/methodology", "Methodology", "The rules that every value follows, and every version of them."},
	{"/corrections", "Corrections", "What was changed after publication, when and why."},
	{"/status", "Status", "How fresh the data is, and how the server is doing."},
	{"/docs", "API reference", "Every route of the API, with a form to try it."},
	{"/signin", "Sign in", "Sign in to read what a plan includes."},
}

// pattern is the path as a pattern of a ServeMux.
func (p *page) pattern() string {
	if p.path == "/" {
		return "/{$}"
	}
	return p.path
}

// paths knows the paths of pages, and serves nothing; byPattern are the pages by their patterns there.
var paths, byPattern = func() (*http.ServeMux, map[string]*page) {
	mux, found := http.NewServeMux(), map[string]*page{}
	for i := range pages {
		pattern := pages[i].pattern()
		mux.Handle(pattern, http.NotFoundHandler())
		found[pattern] = &pages[i]
	}
	return mux, found
}()

// Dashboard serves the pages and the files they load.
type Dashboard struct {
	document *file
	built    bool             // whether the document is that of the application
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
		d.document, d.built = newFile(name, content, revalidate), true
	case inside && folder == "assets":
		d.files["/"+name] = newFile(name, content, forever)
	default:
		d.files["/"+name] = newFile(name, content, revalidate)
	}
}

// Has tells whether a request is for the dashboard: for a page, for one of its files, or from a browser for an unknown
// path. Paths under /api belong to programs.
func (d *Dashboard) Has(r *http.Request) bool {
	return d.files[r.URL.Path] != nil || pageOf(r) != nil || !isAPI(r.URL.Path) && navigates(r)
}

// IsPage tells whether an address on this server is that of a page.
func IsPage(u *url.URL) bool { return pageOf(&http.Request{Method: http.MethodGet, URL: u}) != nil }

// pageOf is the page of a path, whatever the method; nil if there is none.
func pageOf(r *http.Request) *page {
	_, pattern := paths.Handler(r)
	return byPattern[pattern]
}

func isAPI(p string) bool { return p == "/api" || strings.HasPrefix(p, "/api/") }

// navigates tells whether a browser will show the response.
func navigates(r *http.Request) bool {
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	return isRead && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// ServePage serves a request for which Has is true. The origin is that of this server, as its clients know it.
func (d *Dashboard) ServePage(w http.ResponseWriter, r *http.Request, origin string) {
	found, shown := d.files[r.URL.Path], pageOf(r)
	switch {
	case found != nil:
		found.serve(w, r, http.StatusOK)
	case shown != nil && d.built:
		d.document.with(shown.tags(r, origin)).serve(w, r, http.StatusOK)
	case shown != nil:
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
