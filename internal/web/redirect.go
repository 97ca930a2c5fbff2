package web

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/httperror"
)

// HTTPSRedirect is what the port for requests in the clear needs to know.
type HTTPSRedirect struct {
	Serves func(host string) bool // whether this server is the one of that host
	Port   string                 // of HTTPS
	// Challenges responds to the requests with which an authority checks a domain, and leaves others to next.
	Challenges func(next http.Handler) http.Handler
}

// ServeRedirect sends the browsers that came without TLS to the same page with it, until the context ends. It serves
// nothing, and it refuses a request that has carried a key through the network in the clear: redirecting it would hide
// that from its sender.
func (s *Server) ServeRedirect(ctx context.Context, l net.Listener, config HTTPSRedirect) error {
	conns := s.watch(ctx)
	handler := config.Challenges(&redirector{server: s, config: config})
	all := newServers(handler, conns.changed, slog.New(slog.DiscardHandler), true)
	return all.serve(ctx, listener{l, conns, s.refuse, s.inOurShape})
}

// redirector handles the requests that came without TLS.
type redirector struct {
	server *Server
	config HTTPSRedirect
	leaked atomic.Int64 // when it was last reported that a key came in the clear
}

// redirectAge is how many seconds a browser may remember a redirect. HSTS does what a longer time would.
const redirectAge = "max-age=3600"

// ServeHTTP redirects or refuses.
func (d *redirector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := d.host(r.Host)
	switch {
	case host == "":
		d.refuse(w, errForeignHost)
	case r.Header["Authorization"] != nil:
		d.reportLeak(r)
		d.refuse(w, errLeaked)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		d.refuse(w, errOnlyTLS)
	case len(r.RequestURI) > maxURI || !strings.HasPrefix(r.RequestURI, "/"):
		d.refuse(w, errForeignHost)
	default:
		header := w.Header()
		path := (&url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath}).EscapedPath()
		header.Set("Location", "https://"+host+path+query(r.URL))
		header.Set("Cache-Control", redirectAge)
		header.Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(http.StatusPermanentRedirect)
	}
}

func query(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	return "?" + u.RawQuery
}

// host is where to send a browser that came to a host; empty if that is not one of this server. So no one can make a
// link to this server that leads elsewhere.
func (d *redirector) host(given string) string {
	if public, ok := strings.CutPrefix(d.server.config.PublicURL, "https://"); ok && sameHost(given, public) {
		return public
	}
	name, _, err := net.SplitHostPort(given)
	if err != nil {
		name = strings.Trim(given, "[]")
	}
	if name == "" || strings.ContainsFunc(name, notOfHost) || !d.config.Serves(name) {
		return ""
	}
	if d.config.Port == "443" {
		if strings.Contains(name, ":") {
			return "[" + name + "]"
		}
		return name
	}
	return net.JoinHostPort(name, d.config.Port)
}

// sameHost reports whether two hosts are the same but for their ports.
func sameHost(a, b string) bool {
	return strings.EqualFold((&url.URL{Host: a}).Hostname(), (&url.URL{Host: b}).Hostname())
}

// notOfHost reports whether a character is in no name and in no address.
func notOfHost(c rune) bool {
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	return !letter && c != '.' && c != '-' && c != ':'
}

var (
	errForeignHost = &assay.Error{
		Kind: assay.Invalid, Code: "unknown_host",
		Message: `The header "Host" must name this server, and the path must begin with /.`,
	}
	errLeaked = &assay.Error{
		Kind: assay.Forbidden, Code: "https_required",
		Message: "You have sent a key without encryption, and others may have read it. Replace it, and use https:// from " +
			"now on.",
	}
	errOnlyTLS = &assay.Error{
		Kind: assay.Forbidden, Code: "https_required", Message: "This port only sends browsers to https://: use that.",
	}
)

// refuse responds with an error.
func (d *redirector) refuse(w http.ResponseWriter, e *assay.Error) {
	body := NewErrorBody(e, d.server.newRequestID())
	body.DocURL = httperror.DocURL(e.Code)
	header := w.Header()
	header.Set("Content-Type", jsonType)
	header.Set("Cache-Control", noStore)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Request-Id", body.RequestID)
	w.WriteHeader(Status(e.Kind))
	_, _ = w.Write(body.JSON()) // to one that may be gone
}

// reportLeak logs that a key came in the clear, once a minute at most.
func (d *redirector) reportLeak(r *http.Request) {
	now := d.server.config.Now()
	last := d.leaked.Load()
	if now.UnixMilli()-last < time.Minute.Milliseconds() || !d.leaked.CompareAndSwap(last, now.UnixMilli()) {
		return
	}
	settings := d.server.settings.Load()
	d.server.config.Log.Warn("a key was sent in the clear to --redirect-addr",
		"client", settings.proxies.client(r).String())
}
