package dashboard

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/gzip"
)

var script = "export const words = [" + strings.Repeat(`"compute",`, 300) + "];"

// built is a small build.
var built = fstest.MapFS{
	".gitkeep":              {},
	"index.html":            {Data: []byte(`<!doctype html><head><script type="module" src="/assets/index-abc.js"></script></head>`)},
	"assets/index-abc.js":   {Data: []byte(script)},
	"assets/map-abc.json":   {Data: []byte(`{}`)},
	"assets/font-abc.woff2": {Data: []byte("font")},
	"favicon.svg":           {Data: []byte("<svg/>")},
	"robots.txt":            {Data: []byte("User-agent: *\n")},
}

func dashboard(t *testing.T, files fstest.MapFS) *Dashboard {
	t.Helper()
	d, err := newDashboard(files)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// get sends a request with headers given as name, value, and so on; nil if the dashboard does not serve it.
func get(t *testing.T, d *Dashboard, method, target string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if !d.Has(r) {
		return nil
	}
	w := httptest.NewRecorder()
	d.ServePage(w, r, "https://data.example")
	return w.Result()
}

func text(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPages(t *testing.T) {
	t.Parallel()
	d := dashboard(t, built)
	for _, page := range []string{
		"/", "/gpu/H100%20SXM", "/gpu/A%2FB", "/gpu/H200?range=1Y", "/proof/H200", "/memory", "/tokens", "/workload",
		"/coding", "/sites", "/settings", "/plans", "/methodology", "/corrections", "/status", "/docs",
		"/signin",
	} {
		got := get(t, d, http.MethodGet, page)
		if got == nil || got.StatusCode != 200 || got.Header.Get("Cache-Control") != "no-cache" {
			t.Fatalf("%s: %+v", page, got)
		}
		if contentType := got.Header.Get("Content-Type"); contentType != "text/html; charset=utf-8" {
			t.Errorf("%s: content type %s", page, contentType)
		}
		if body := text(t, got); !strings.Contains(body, "index-abc.js") {
			t.Errorf("%s: %s", page, body)
		}
	}
	head := get(t, d, http.MethodHead, "/plans")
	if head.StatusCode != 200 || head.ContentLength < 10 || text(t, head) != "" {
		t.Errorf("HEAD: %+v", head)
	}
}

// For an unknown path, a browser gets the page with status 404; other programs do not get the dashboard.
func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	d := dashboard(t, built)
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	for _, path := range []string{
		"/nothing", "/gpu", "/gpu/", "/gpu/a/b", "/compare/", "/index.html", "/assets/gone.js", "/.gitkeep",
	} {
		if got := get(t, d, http.MethodGet, path, "Accept", "*/*"); got != nil {
			t.Errorf("%s for a program: %d", path, got.StatusCode)
		}
		if got := get(t, d, http.MethodPost, path, "Accept", browser); got != nil {
			t.Errorf("POST %s: %d", path, got.StatusCode)
		}
		got := get(t, d, http.MethodGet, path, "Accept", browser)
		if got == nil || got.StatusCode != 404 || !strings.Contains(text(t, got), "index-abc.js") {
			t.Errorf("%s for a browser: %+v", path, got)
		}
	}
	for _, path := range []string{"/api", "/api/", "/api/nothing"} {
		if got := get(t, d, http.MethodGet, path, "Accept", browser); got != nil {
			t.Errorf("%s: %d", path, got.StatusCode)
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	d := dashboard(t, built)
	f := func(path, contentType, cacheControl string) {
		t.Helper()
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			got := get(t, d, http.MethodGet, path)
			if got == nil || got.StatusCode != 200 {
				t.Fatalf("%+v", got)
			}
			if got.Header.Get("Content-Type") != contentType || got.Header.Get("Cache-Control") != cacheControl {
				t.Errorf("%+v", got.Header)
			}
		})
	}
	const hashed = "public, max-age=31536000, immutable"
	f("/assets/index-abc.js", "text/javascript; charset=utf-8", hashed)
	f("/assets/map-abc.json", "application/json", hashed)
	f("/assets/font-abc.woff2", "font/woff2", hashed)
	f("/favicon.svg", "image/svg+xml", "no-cache")
	f("/robots.txt", "text/plain; charset=utf-8", "no-cache")
}

func TestCompression(t *testing.T) {
	t.Parallel()
	d := dashboard(t, built)
	f := func(path, accept, want string) {
		t.Helper()
		t.Run(path+" "+accept, func(t *testing.T) {
			t.Parallel()
			got := get(t, d, http.MethodGet, path, "Accept-Encoding", accept).Header
			if got.Get("Content-Encoding") != want || got.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%v, want %q", got, want)
			}
		})
	}
	const large = "/assets/index-abc.js"
	f(large, "gzip", "gzip")
	f(large, "br, GZIP;q=0.5", "gzip")
	f(large, "gzip;q=0", "")
	f(large, "gzip;q=much", "")
	f(large, "br", "")
	f(large, "", "")
	f("/favicon.svg", "gzip", "")

	got := get(t, d, http.MethodGet, large, "Accept-Encoding", "gzip")
	r, err := gzip.NewReader(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	if plainText, err := io.ReadAll(r); err != nil || string(plainText) != script {
		t.Errorf("%v: %d bytes, want %d", err, len(plainText), len(script))
	}
}

func TestNotModified(t *testing.T) {
	t.Parallel()
	d := dashboard(t, built)
	tags := map[string]bool{}
	for _, encoding := range []string{"", "gzip"} {
		etag := get(t, d, http.MethodGet, "/assets/index-abc.js", "Accept-Encoding", encoding).Header.Get("ETag")
		tags[etag] = true
		for _, given := range []string{etag, "W/" + etag, `"x", ` + etag, "*"} {
			got := get(t, d, http.MethodGet, "/assets/index-abc.js", "Accept-Encoding", encoding, "If-None-Match", given)
			if got.StatusCode != 304 || text(t, got) != "" || got.Header.Get("ETag") != etag {
				t.Errorf("If-None-Match %s: %+v", given, got)
			}
		}
		got := get(t, d, http.MethodGet, "/assets/index-abc.js", "Accept-Encoding", encoding, "If-None-Match", `"x"`)
		if got.StatusCode != 200 {
			t.Errorf("another tag: %d", got.StatusCode)
		}
	}
	if len(tags) != 2 {
		t.Errorf("one tag for two representations: %v", tags)
	}
}

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; " +
			"img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; form-action 'self'; " +
			"base-uri 'none'; frame-ancestors 'none'",
		"Cross-Origin-Opener-Policy": "same-origin",
		"Permissions-Policy":         "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
		"Referrer-Policy":            "same-origin",
	}
	for _, files := range []fstest.MapFS{built, {}} {
		d := dashboard(t, files)
		for _, path := range []string{"/", "/nothing", "/assets/index-abc.js", "/favicon.svg"} {
			got := get(t, d, http.MethodGet, path, "Accept", "text/html")
			for name, value := range want {
				if got.Header.Get(name) != value {
					t.Errorf("%s: %s is %q", path, name, got.Header.Get(name))
				}
			}
		}
	}
}

// A program without a build serves a plain document on every page, without script or style.
func TestWithoutABuild(t *testing.T) {
	t.Parallel()
	d := dashboard(t, fstest.MapFS{".gitkeep": {}})
	for _, page := range []string{"/", "/gpu/H200", "/settings"} {
		got := get(t, d, http.MethodGet, page)
		body := text(t, got)
		for _, part := range []string{
			"The server works.", `href="/openapi.json"`, `href="/health"`, "<code>make build</code>", "Node 20 or newer",
		} {
			if got.StatusCode != 200 || !strings.Contains(body, part) {
				t.Errorf("%s: %d without %s", page, got.StatusCode, part)
			}
		}
		for _, part := range []string{"<script", "<style", "style=", "://"} {
			if strings.Contains(body, part) {
				t.Errorf("%s has %s", page, part)
			}
		}
	}
}

// The program serves its embedded files, built or not.
func TestNew(t *testing.T) {
	t.Parallel()
	d, err := New()
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, d, http.MethodGet, "/"); got.StatusCode != 200 || !strings.Contains(text(t, got), "<title>") {
		t.Errorf("%+v", got)
	}
}

// A link to a page says what it shows, with addresses that work anywhere.
func TestPages_Preview(t *testing.T) {
	t.Parallel()
	d := dashboard(t, built)
	f := func(target string, want ...string) {
		t.Helper()
		body := text(t, get(t, d, http.MethodGet, target))
		for _, part := range want {
			if !strings.Contains(body, part) {
				t.Errorf("%s: no %s in\n%s", target, part, body)
			}
		}
		if before, _, found := strings.Cut(body, "</head>"); !found || !strings.Contains(before, "og:title") {
			t.Errorf("%s: the head has no tags:\n%s", target, body)
		}
		if strings.Contains(body, "<script>") || strings.Contains(body, `"><b`) {
			t.Errorf("%s: a name got out of its place:\n%s", target, body)
		}
	}
	const image = `<meta property="og:image" content="https://data.example/embed/picture`
	f("/", `og:title" content="Overview · Assay"`, `og:url" content="https://data.example/"`, image+`">`,
		`<meta name="twitter:card" content="summary_large_image">`)
	f("/gpu/H100%20SXM?range=1Y&scale=log", `og:title" content="H100 SXM · Assay"`, image+`/H100%20SXM">`,
		`og:url" content="https://data.example/gpu/H100%20SXM?range=1Y&amp;scale=log"`, `costs, from verified rentals`)
	f("/proof/H200?at=2026-11-12", `og:title" content="Proof of H200 · Assay"`, image+`/H200">`)
	f("/gpu/A%2FB", image+`/A%2FB">`)
	f("/gpu/%22%3E%3Cb%3E%3Cscript%3E", image+`/%22%3E%3Cb%3E%3Cscript%3E">`)
	f("/gpu/%7Bname%7D", `og:title" content="{name} · Assay"`)
	for _, p := range pages {
		f(strings.ReplaceAll(p.path, "{name}", "H200"), `og:description" content="`+strings.ReplaceAll(p.about, "{name}", "H200"))
	}

	one, other := get(t, d, http.MethodGet, "/gpu/H200"), get(t, d, http.MethodGet, "/gpu/B200")
	if one.Header.Get("ETag") == other.Header.Get("ETag") {
		t.Error("two documents have one tag")
	}
	again := get(t, d, http.MethodGet, "/gpu/H200", "If-None-Match", one.Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("the same document again: %d", again.StatusCode)
	}
	if missing := text(t, get(t, d, http.MethodGet, "/nothing", "Accept", "text/html")); strings.Contains(missing, "og:") {
		t.Errorf("a missing page: %s", missing)
	}
}

var pagePattern = regexp.MustCompile(`[pP]age\('(/[^']*)', '([^']*)'`)

// The server has exactly the pages of the application, with the same titles.
func TestPages_AreThoseOfTheApplication(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("../../ui/src/lib/pages.ts")
	if err != nil {
		t.Fatal(err)
	}
	var ours, theirs []string
	for _, match := range pagePattern.FindAllStringSubmatch(string(list), -1) {
		theirs = append(theirs, match[1]+": "+match[2])
	}
	for _, p := range pages {
		ours = append(ours, p.path+": "+p.title)
	}
	slices.Sort(ours)
	if slices.Sort(theirs); !slices.Equal(ours, theirs) {
		t.Errorf("the server has %q, the application %q", ours, theirs)
	}
}
