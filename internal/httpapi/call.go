package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/limit"
	"github.com/assaydata/assay/internal/snapshot"
)

// call is one request on its way through: who asks, when, and the snapshot that answers. It is the response writer that
// the mux hands on, which is how it reaches the route without a context.
type call struct {
	http.ResponseWriter
	s        *Server
	r        *http.Request
	resource *resource // nil on a path that is no route's
	route    *route    // likewise
	id       string
	now      time.Time
	client   netip.Addr
	caller   assay.Caller
	snap     *snapshot.Snapshot // nil before there is one, when only /health is answered
	moment   int64              // what is known at this instant is asked for: now, or as_of
	asOf     bool               // whether it was given

	params    []param
	paramsErr error
	status    int   // what was answered; 0 before
	bytes     int64 // of the body
	cause     error // of a 500, for the log

	conn    *conn   // nil when the request did not come over one of ours
	fields  []field // of the answer's header, beside those that net/http must know of
	logLine []byte  // room for the log line
}

// field is a line of the answer's header.
type field struct{ name, value string }

// set adds a line to the answer's header. Values are ours, without line ends.
func (c *call) set(name, value string) { c.fields = append(c.fields, field{name, value}) }

type param struct{ name, value string }

func (c *call) begin(s *Server, w http.ResponseWriter, r *http.Request) {
	*c = call{ResponseWriter: w, s: s, r: r, now: s.Now(), snap: s.Snapshots.Load(), params: c.params[:0], fields: c.fields[:0], logLine: c.logLine}
	c.conn, _ = r.Context().Value(connKey{}).(*conn)
	c.client = s.proxies.client(r)
	c.id = s.requestID(r)
	c.set("X-Request-Id", c.id)
	if c.snap != nil && c.snap.Synthetic {
		c.set("X-Assay-Synthetic", "true")
	}
	if n := s.contact.notice.Load(); n != nil {
		n.carry(c)
	}
}

// end lets go of everything, so that the pool keeps nothing alive.
func (c *call) end() { *c = call{params: c.params[:0], fields: c.fields[:0], logLine: c.logLine} }

// WriteHeader remembers the status and hands the header's lines over: to our connection, which writes them as they are,
// or else to net/http, which keeps each in a map, copies, sorts and checks it.
func (c *call) WriteHeader(status int) {
	c.status = status
	if c.conn != nil {
		c.conn.hold(c.fields)
	} else {
		for _, f := range c.fields {
			c.Header().Add(f.name, f.value)
		}
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (c *call) Write(b []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	n, err := c.ResponseWriter.Write(b)
	c.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (c *call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// serve takes the route's checks in the contract's order and sends its answer.
func (c *call) serve() error {
	var taken bool
	c.route, taken = c.resource.route(c.r.Method)
	if c.r.Method == http.MethodOptions {
		c.set("Allow", c.resource.allow)
		c.WriteHeader(http.StatusNoContent)
		return nil
	}
	if c.route.limit == publicLimiter {
		if err := c.count(c.s.publicPolicy, c.s.byAddress.Allow(limitAddress(c.client), c.sinceStart())); err != nil {
			return err
		}
	}
	if !taken {
		c.set("Allow", c.resource.allow)
		return wrongMethod(c.resource.takes, c.r.Method)
	}
	if c.resource.own && c.s.origins.Check(c.r) != nil {
		return errCrossOrigin
	}
	if err := c.identify(); err != nil {
		return err
	}
	if c.route.limit == keyLimiter && c.caller != (assay.Caller{}) {
		if err := c.count(c.s.keyPolicy, c.s.byKey.Allow(c.limitName(), c.sinceStart())); err != nil {
			return err
		}
	}
	if _, err := c.decide(access.Ask{}); err != nil {
		return err // this tier may not call the route at all
	}
	a, err := c.route.serve(c)
	if err != nil {
		return c.unavailable(err)
	}
	return c.send(a)
}

var errCrossOrigin = &assay.Error{
	Kind: assay.Forbidden, Code: "cross_origin", Message: "This path takes such calls from the pages of this server only, not from another origin.",
}

// limitName is what a caller counts as: a key as itself, a session as its account. No key id has a space.
func (c *call) limitName() string {
	if c.caller.KeyID != "" {
		return c.caller.KeyID
	}
	return "account " + strconv.FormatInt(c.caller.AccountID, 10)
}

// unavailable is what a caller reads when a route of our own pages fails for no reason of theirs: those need the database,
// which may be away or busy.
func (c *call) unavailable(err error) error {
	if _, told := errors.AsType[*assay.Error](err); told || !c.resource.own {
		return err
	}
	c.cause = err
	return &assay.Error{Kind: assay.Unavailable, Code: "unavailable", Message: "This cannot be done at the moment. Try again later."}
}

func (c *call) sinceStart() int64 { return int64(c.now.Sub(c.s.started)) }

// identify finds out who calls, unless the route is open to all.
func (c *call) identify() error {
	if c.route.rule == access.Public {
		return nil
	}
	header := c.r.Header["Authorization"]
	if c.route.rule == access.SignedIn || header == nil {
		c.identifySession()
		return nil
	}
	text, err := bearer(header)
	if err != nil {
		return err
	}
	c.caller, err = c.s.Keys.Lookup(text, c.now.UnixMilli())
	return err
}

func (c *call) decide(ask access.Ask) (access.Grant, error) {
	return access.Decide(c.route.rule, c.caller, ask, c.now.UnixMilli())
}

// bearer reads the Authorization header's key.
func bearer(header []string) (text string, err error) {
	scheme, text, _ := strings.Cut(header[0], " ")
	text = strings.Trim(text, " \t")
	if len(header) > 1 || !strings.EqualFold(scheme, "Bearer") || text == "" {
		return "", keys.ErrRequired
	}
	return text, nil
}

// count tells the caller where it stands with a limiter, and refuses what is over the limit.
func (c *call) count(policy policy, d limit.Decision) error {
	seconds := int((d.Reset + time.Second - 1) / time.Second)
	var room [48]byte
	state := append(append(append(room[:0], '"'), policy.name...), `";r=`...)
	state = strconv.AppendInt(state, int64(d.Remaining), 10)
	state = strconv.AppendInt(append(state, ";t="...), int64(seconds), 10)
	c.set("RateLimit", string(state))
	c.set("RateLimit-Policy", policy.header)
	if d.Allowed {
		return nil
	}
	c.set("Retry-After", strconv.Itoa(seconds))
	return &assay.Error{
		Kind: assay.TooMany, Code: "rate_limited",
		Message: fmt.Sprintf("Rate limit of %d %s exceeded. Retry in %d seconds.", policy.limit, policy.counted, seconds),
	}
}

// policy is a limit as callers are told of it.
type policy struct {
	name    string
	limit   int
	counted string // what there may be so many of
	header  string
}

const perMinute = "requests per minute"

func newPolicy(name string, limit int, window time.Duration, counted string) policy {
	return policy{name, limit, counted, fmt.Sprintf(`"%s";q=%d;w=%d`, name, limit, int(window/time.Second))}
}

// invalid says which parameter is wrong, its value, and what is allowed.
func invalid(name, value, allowed string) error {
	return &assay.Error{
		Kind: assay.Invalid, Code: "invalid_parameter",
		Message: fmt.Sprintf("Parameter %s has the value %q; allowed is %s.", name, keys.Redact(shorten(value)), allowed),
	}
}

// shorten cuts a value for a message.
func shorten(value string) string {
	const most = 64
	if len(value) <= most {
		return value
	}
	return value[:most] + "…"
}

// param gives a query parameter. One that is empty counts as absent; one that stands twice is wrong.
func (c *call) param(name string) (value string, err error) {
	if c.r.URL.RawQuery == "" {
		return "", nil
	}
	if len(c.params) == 0 && c.paramsErr == nil {
		c.params, c.paramsErr = appendParams(c.params, c.r.URL.RawQuery)
	}
	if c.paramsErr != nil {
		return "", c.paramsErr
	}
	found := false
	for _, p := range c.params {
		if p.name != name {
			continue
		}
		if found {
			return "", &assay.Error{
				Kind: assay.Invalid, Code: "invalid_parameter",
				Message: fmt.Sprintf("Parameter %s is given more than once, the last time with the value %q; allowed is once.", name, keys.Redact(shorten(p.value))),
			}
		}
		value, found = p.value, true
	}
	return value, nil
}

func appendParams(params []param, query string) ([]param, error) {
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, nameErr := url.QueryUnescape(name)
		value, valueErr := url.QueryUnescape(value)
		if nameErr != nil || valueErr != nil {
			return nil, &assay.Error{
				Kind: assay.Invalid, Code: "invalid_parameter",
				Message: fmt.Sprintf("The query part %q is not percent-encoded; allowed is %% followed by two hexadecimal digits.", keys.Redact(shorten(pair))),
			}
		}
		params = append(params, param{name, value})
	}
	return params, nil
}

// oneOf gives a parameter that takes one of a few words, or the default when it is absent.
func (c *call) oneOf(name, otherwise string, allowed ...string) (string, error) {
	value, err := c.param(name)
	if err != nil || value == "" {
		return otherwise, err
	}
	for _, word := range allowed {
		if value == word {
			return value, nil
		}
	}
	return "", invalid(name, value, oneOfNames(allowed))
}

// oneOfNames lists names of which one is allowed.
func oneOfNames(names []string) string { return sentence(names, "or") }

// sentence lists names, with a word before the last.
func sentence(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + last + " " + names[len(names)-1]
}

// whole gives a parameter that is a whole number within bounds, or the default when it is absent.
func (c *call) whole(name string, otherwise, least, most int) (int, error) {
	value, err := c.param(name)
	if err != nil || value == "" {
		return otherwise, err
	}
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil || int(n) < least || int(n) > most {
		return 0, invalid(name, value, fmt.Sprintf("a whole number from %d to %d", least, most))
	}
	return int(n), nil
}

const dateForms = "YYYY-MM-DD, YYYY-MM-DD HH:MM:SS or an ISO 8601 date-time"

// instant gives a parameter that is a date or a date-time; ok is false when it is absent.
func (c *call) instant(name string) (ms int64, dateOnly, ok bool, err error) {
	value, err := c.param(name)
	if err != nil || value == "" {
		return 0, false, false, err
	}
	if ms, dateOnly, err = assay.ParseInstant(value); err != nil {
		return 0, false, false, invalid(name, value, dateForms)
	}
	return ms, dateOnly, true, nil
}

// pathGPU is the name of the GPU in the path.
func (c *call) pathGPU() string { return c.r.PathValue("gpuName") }

// gpu finds a GPU by its exact name.
func (c *call) gpu(name string) (assay.GPU, error) {
	if gpu, ok := c.snap.GPU(name); ok {
		return gpu, nil
	}
	allowed := strings.Join(c.snap.Catalog.GPUNames(), ", ")
	return assay.GPU{}, &assay.Error{Kind: assay.Invalid, Code: "unknown_gpu", Message: "Invalid GPU type. Allowed: " + allowed}
}

// region gives the region asked for.
func (c *call) region() (string, error) {
	region, err := c.param("region")
	if region == "" {
		region = assay.Global
	}
	return region, err
}

// askAsOf reads as_of into the call and into what is asked for. An instant in the future is now, and so are the data.
func (c *call) askAsOf(ask *access.Ask) error {
	c.moment = c.now.UnixMilli()
	at, _, given, err := c.instant("as_of")
	if err != nil || !given || at >= c.moment {
		return err
	}
	c.moment, c.asOf = at, true
	ask.AsOf, ask.HasAsOf = at, true
	return nil
}

// granted reads as_of and decides what the caller gets. What else a route takes must have been read before: parameters come
// first.
func (c *call) granted(ask access.Ask) (access.Grant, error) {
	if err := c.askAsOf(&ask); err != nil {
		return access.Grant{}, err
	}
	return c.decide(ask)
}

// lineOf gives the line of a GPU in a region as it was known at the moment asked for; nil when there is no such region.
func (c *call) lineOf(gpu, region string) *snapshot.Line {
	if !c.asOf {
		return c.snap.Line(gpu, region)
	}
	return c.snap.LineAsOf(gpu, region, c.snap.VersionAt(c.moment))
}

// pathLine is grantedLine for a route whose path names a GPU and that asks for nothing but a region.
func (c *call) pathLine() (grant access.Grant, line *snapshot.Line, err error) {
	gpu, err := c.gpu(c.pathGPU())
	if err != nil {
		return grant, nil, err
	}
	return c.grantedLine(gpu, access.Ask{})
}

// grantedLine reads region and as_of, decides what the caller gets and finds the line it is about. What else a route
// takes must have been read before: parameters come first.
func (c *call) grantedLine(gpu assay.GPU, ask access.Ask) (grant access.Grant, line *snapshot.Line, err error) {
	region, err := c.region()
	if err != nil {
		return grant, nil, err
	}
	ask.PaidGPU = !gpu.Free
	if grant, err = c.granted(ask); err != nil {
		return grant, nil, err
	}
	if line = c.lineOf(gpu.Name, region); line == nil {
		return grant, nil, noPrice("unknown_region", gpu.Name, region)
	}
	return grant, line, nil
}

func noPrice(code, gpu, region string) error {
	return &assay.Error{
		Kind: assay.NotFound, Code: code,
		Message: fmt.Sprintf("No data found for %s in the region %s", gpu, keys.Redact(shorten(region))),
	}
}

func noDaily(gpu, more string) error {
	return &assay.Error{Kind: assay.NoData, Code: "no_data", Message: "No daily index data found for " + gpu + more}
}
