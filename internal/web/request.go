package web

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/http1"
	"github.com/assaydata/assay/internal/table"
	"github.com/assaydata/assay/internal/tracing"
)

// Request is one request on its way through the server. It is valid until its handler returns.
type Request struct {
	server   *Server
	settings *settings
	http     *http.Request
	out      writer
	resource *resource // nil on a path that is not a route
	route    *Route    // likewise
	id       string
	now      time.Time
	client   netip.Addr
	caller   assay.Caller
	owner    assay.Caller     // of the session cookie; zero if there is none
	ownerSet bool             // whether owner was looked up
	format   *table.Format    // requested for the rows; nil for JSON
	facts    []table.Fact     // for a table that has room for them
	past     bool             // whether the response is about a past that can no longer change
	inner    *Request         // that this one serves; nil if it serves itself
	cause    error            // of a failure of the server, for the log
	page     bool             // whether it is for a page of the dashboard
	took     time.Duration    // set at the end
	span     *tracing.Request // nil for a request that is not traced
	last     func()           // what is left to do when the request has ended

	pathNames  []string
	pathValues [maxPathValues]string
	params     []param // of the query; parsed when first needed
	paramsErr  error
	asked      []string // the names of parameters that the route has asked for
	logLine    []byte   // reused for the log line
	scratch    []byte
}

func (r *Request) begin(s *Server, w http.ResponseWriter, hr *http.Request, data DataState) {
	current := s.settings.Load()
	*r = Request{
		server: s, settings: current, http: hr, now: s.config.Now(), client: current.proxies.client(hr), id: s.requestID(hr),
		out:    writer{ResponseWriter: w, headers: r.out.headers.emptied()},
		params: r.params[:0], asked: r.asked[:0], logLine: r.logLine, scratch: r.scratch,
	}
	r.out.fast, _ = w.(*http1.Response)
	if s.config.Traces != nil {
		r.beginSpan()
	}
	if r.HasBody() {
		r.setBodyDeadline(time.Now().Add(bodyTimeout))
	}
	// Neither has line ends, for which SetHeader would look.
	lines := append(append(r.out.headers.lines, "X-Request-Id: "...), r.id...)
	r.out.headers.lines = append(lines, "\r\nX-Content-Type-Options: nosniff\r\n"...)
	if r.overTLS() {
		r.SetHeader("Strict-Transport-Security", onlyTLS)
	}
	if data.Synthetic {
		r.SetHeader("X-Assay-Synthetic", "true")
	}
	s.config.Status.addHeaders(r)
}

// end drops all references, so that the pool keeps nothing alive.
func (r *Request) end() {
	clear(r.params)
	*r = Request{
		out: writer{headers: r.out.headers.emptied()}, params: r.params[:0], asked: r.asked[:0], logLine: r.logLine,
		scratch: r.scratch,
	}
}

// Now is when the request arrived.
func (r *Request) Now() time.Time { return r.now }

// Milli is Now as an instant.
func (r *Request) Milli() int64 { return r.now.UnixMilli() }

// Context ends when the client goes away.
func (r *Request) Context() context.Context { return r.http.Context() }

// Caller is who sent the request; the zero value is an anonymous caller.
func (r *Request) Caller() assay.Caller { return r.caller }

// Client is the client's address.
func (r *Request) Client() netip.Addr { return r.client }

// Rule says who may call the route.
func (r *Request) Rule() access.Rule { return r.route.Rule }

// Scratch is an empty text with some room, whose memory is that of the request.
func (r *Request) Scratch() []byte { return r.scratch[:0] }

// Header returns the values of a request header, whose name is in canonical form.
func (r *Request) Header(name string) []string { return r.http.Header[name] }

// Query parses the whole query, malformed pairs left out.
func (r *Request) Query() url.Values {
	query := r.http.URL.Query()
	for name := range query {
		_, _ = r.Param(name) // the route takes all of them
	}
	return query
}

// HasBody reports whether the request may have a body.
func (r *Request) HasBody() bool { return r.http.ContentLength != 0 }

// PathValue returns the value of a variable in the path, decoded once.
func (r *Request) PathValue(name string) string {
	for i, known := range r.pathNames {
		if known == name {
			return r.pathValues[i]
		}
	}
	return ""
}

// SetHeader adds a header to the response. The value must not contain line ends.
func (r *Request) SetHeader(name, value string) { r.out.headers.add(name, value) }

// AboutPast says that the same request will get the same response for as long as its caller has access.
func (r *Request) AboutPast() { r.past = true }

// LogCause stores why the request failed on our side, for the log; the caller does not see it.
func (r *Request) LogCause(err error) { r.cause = err }

// serve runs the checks of the contract in their order, then the handler, and sends its response.
func (r *Request) serve(found *resource) error {
	r.resource = found
	var known bool
	r.route, known = found.route(r.http.Method)
	if r.http.Method == http.MethodOptions {
		r.SetHeader("Allow", found.allow)
		r.out.WriteHeader(http.StatusNoContent)
		return nil
	}
	r.route.Deprecated.announce(r)
	if r.route.Limit == PerAddress {
		if err := r.countOpen(1); err != nil {
			return err
		}
	}
	if !known {
		r.SetHeader("Allow", found.allow)
		return wrongMethod(found.methods, r.http.Method)
	}
	if found.group.Private && r.server.sameOrigin.Check(r.http) != nil {
		return errCrossOrigin
	}
	if err := r.identify(); err != nil {
		return err
	}
	if err := r.countCaller(); err != nil {
		return err
	}
	if err := access.Admit(r.route.Rule, r.caller); err != nil {
		return err
	}
	if r.route.Table != nil {
		if err := r.readFormat(); err != nil {
			return err
		}
	}
	response, err := r.route.Serve(r)
	if err != nil {
		return r.unavailable(err)
	}
	if err := r.reportIgnored(); err != nil {
		return err
	}
	if response.form == stream {
		return r.sendStream(&response)
	}
	return r.send(&response)
}

// countCaller counts the request of a caller who has been identified.
func (r *Request) countCaller() error {
	switch limit := r.limitClass(); {
	case r.route.Limit == PerCaller && limit == PerAddress:
		return r.server.byAddress.Count(r, LimitAddress(r.client))
	case limit == PerKey && r.caller != (assay.Caller{}):
		return r.countKeyed(1)
	}
	return nil
}

// limitClass is the limit that counts for the caller.
func (r *Request) limitClass() LimitClass {
	switch {
	case r.route.Limit != PerCaller:
		return r.route.Limit
	case r.caller == (assay.Caller{}):
		return PerAddress
	}
	return PerKey
}

var errCrossOrigin = &assay.Error{
	Kind: assay.Forbidden, Code: "cross_origin",
	Message: "This path takes such calls from the pages of this server only, not from another origin.",
}

// limitName is what a caller is counted as: a key as itself, a session as its account. No key id contains a space.
func (r *Request) limitName() string {
	if r.caller.KeyID != "" {
		return r.caller.KeyID
	}
	return accountName(r.caller.AccountID)
}

func accountName(id int64) string { return "account " + strconv.FormatInt(id, 10) }

// unavailable turns a failure of a private route that is not the caller's fault into a 503: those routes need the
// database, which may be unreachable or busy.
func (r *Request) unavailable(err error) error {
	if _, classified := errors.AsType[*assay.Error](err); classified || !r.resource.group.Private {
		return err
	}
	r.cause = err
	return &assay.Error{
		Kind: assay.Unavailable, Code: "unavailable", Message: "This cannot be done at the moment. Try again later.",
	}
}

// identify finds out who calls, unless the route is public.
func (r *Request) identify() error {
	rule := r.route.Rule
	if rule == access.Public {
		return nil
	}
	header := r.http.Header["Authorization"]
	if rule.NeedsSession() || header == nil {
		r.IdentifySession()
		return nil
	}
	key, err := bearer(header)
	if err != nil {
		return err
	}
	r.caller, err = r.server.config.Key(key, r.now.UnixMilli())
	return err
}

// bearer reads the key in the Authorization header.
func bearer(header []string) (key string, err error) {
	scheme, key, _ := strings.Cut(header[0], " ")
	key = strings.Trim(key, " \t")
	if len(header) > 1 || !strings.EqualFold(scheme, "Bearer") || key == "" {
		return "", access.ErrKeyRequired
	}
	return key, nil
}

// IdentifySession makes the owner of the session cookie the caller. A cookie that is unknown or has expired is ignored:
// the response to a read cannot tell its owner, who signs in again when a page asks for it.
func (r *Request) IdentifySession() {
	if owner := r.sessionOwner(); owner != (assay.Caller{}) {
		r.caller = owner
	}
}

// sessionOwner is the owner of the session cookie. It is looked up once, for the limit or for access.
func (r *Request) sessionOwner() assay.Caller {
	if r.http.Header["Cookie"] == nil {
		return assay.Caller{}
	}
	if r.ownerSet {
		return r.owner
	}
	r.ownerSet = true
	if token := r.SessionToken(); token != "" {
		if owner, ok := r.resource.group.Session(r, token); ok {
			r.owner = owner
		}
	}
	return r.owner
}
