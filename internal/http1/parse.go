package http1

import (
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// request is a request whose memory is used again for the next one of the same connection.
type request struct {
	fields  http.Request // as parsed
	current http.Request // what the handler gets: it may change its fields
	url     url.URL      // of the target, as parsed
	target  string       // of the request before; clients repeat themselves
	given   url.URL      // what the handler gets
	header  http.Header
	values  [maxLines]string // of the header
}

// maxLines is how many header lines a head may have here; net/http takes more.
const maxLines = 64

// plausible reports whether the beginning of a head can become one that parse accepts, as far as its complete lines
// tell. What net/http would reject before the head is complete must not wait here for the rest.
func (r *request) plausible(beginning []byte) bool {
	text := string(beginning)
	lines := text[:strings.LastIndexByte(text, '\n')+1]
	if lines == "" {
		return strings.HasPrefix(text, "GET /") || strings.HasPrefix(text, "HEAD /") ||
			strings.HasPrefix("GET /", text) || strings.HasPrefix("HEAD /", text)
	}
	rest, ok := r.parseRequestLine(lines)
	return ok && r.parseHeader(rest)
}

// parse reads a head, which ends with an empty line. It reports false if the request is not for this package.
func (r *request) parse(head []byte) bool {
	text := string(head)
	rest, ok := r.parseRequestLine(text)
	return ok && r.parseHeader(rest[:len(rest)-len("\r\n")]) && r.fields.Host != ""
}

// parseRequestLine reads the first line and returns the others.
func (r *request) parseRequestLine(text string) (rest string, ok bool) {
	switch {
	case strings.HasPrefix(text, "GET /"):
		r.fields.Method = http.MethodGet
	case strings.HasPrefix(text, "HEAD /"):
		r.fields.Method = http.MethodHead
	default:
		return "", false
	}
	text = text[len(r.fields.Method)+1:]
	target, rest, _ := strings.Cut(text, " ")
	rest, ok = strings.CutPrefix(rest, "HTTP/1.1\r\n")
	if !ok {
		return "", false
	}
	return rest, r.parseTarget(target)
}

// parseTarget reads the path and the query.
func (r *request) parseTarget(target string) bool {
	r.fields.RequestURI = target
	if target == r.target {
		return true
	}
	r.target = ""
	path, query, _ := strings.Cut(target, "?")
	if all(path, inPath) && all(query, inQuery) && (query != "" || len(path) == len(target)) {
		r.url = url.URL{Path: path, RawQuery: query}
	} else {
		parsed, err := url.ParseRequestURI(target)
		if err != nil {
			return false
		}
		r.url = *parsed
	}
	r.target = target
	return true
}

// parseHeader reads header lines.
func (r *request) parseHeader(text string) bool {
	clear(r.header)
	r.fields.Host, r.fields.Close = "", false
	for line := range r.values {
		if text == "" {
			return true
		}
		name, rest, ok := strings.Cut(text, ":")
		if !ok || name == "" || !all(name, inToken) {
			return false
		}
		value, rest, ok := strings.Cut(rest, "\r\n")
		if !ok || !all(value, inValue) {
			return false
		}
		r.values[line] = strings.Trim(value, " \t")
		if !r.add(canonical(name), r.values[line:line+1:line+1]) {
			return false
		}
		text = rest
	}
	return text == ""
}

// add adds a header line, or reports that its meaning is not for this package.
func (r *request) add(name string, value []string) bool {
	switch name {
	case "Host":
		if r.fields.Host != "" || value[0] == "" || !all(value[0], inHost) {
			return false
		}
		r.fields.Host = value[0]
		return true // net/http does not keep it in the header
	case "Connection":
		switch {
		case r.header[name] != nil:
			return false
		case strings.EqualFold(value[0], "close"):
			r.fields.Close = true
		case !strings.EqualFold(value[0], "keep-alive"):
			return false
		}
	case "Content-Length", "Transfer-Encoding", "Trailer", "Expect", "Upgrade", "Http2-Settings", "Pragma":
		return false // about a body, another protocol, or changed by net/http
	}
	if before := r.header[name]; before != nil {
		value = append(before, value[0])
	}
	r.header[name] = value
	return true
}

// fresh returns the request for the handler, as it was parsed.
func (r *request) fresh() *http.Request {
	r.given = r.url
	r.current = r.fields
	r.current.URL = &r.given
	return &r.current
}

// canonical is the name of a header as net/http has it.
func canonical(name string) string {
	if known, ok := names[name]; ok {
		return known
	}
	return textproto.CanonicalMIMEHeaderKey(name)
}

// names has the names that clients send most, in the spellings that they send.
var names = func() map[string]string {
	m := map[string]string{}
	for _, name := range []string{
		"Host", "Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Cache-Control", "Connection", "Cookie",
		"Forwarded", "If-Modified-Since", "If-None-Match", "Origin", "Priority", "Referer", "Sec-Ch-Ua", "Sec-Ch-Ua-Mobile",
		"Sec-Ch-Ua-Platform", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site", "Traceparent", "User-Agent",
		"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "X-Request-Id",
	} {
		m[name], m[strings.ToLower(name)] = name, name
	}
	m["X-Request-ID"], m["X-Real-IP"] = "X-Request-Id", "X-Real-Ip"
	return m
}()

// class is a set of the classes of characters below.
type class uint8

const (
	inToken class = 1 << iota // RFC 9110, section 5.6.2
	inValue                   // visible ASCII, space and tab
	inHost
	inPath  // means itself in a path; net/http unescapes the rest
	inQuery // visible ASCII
)

var classes = func() (table [256]class) {
	const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	put := func(set class, characters string) {
		for i := range len(characters) {
			table[characters[i]] |= set
		}
	}
	put(inToken|inHost|inPath, alphanumeric)
	put(inToken, "!#$%&'*+-.^_`|~")
	put(inHost, ".:-_[]")
	put(inPath, "/-._~")
	for c := '!'; c <= '~'; c++ {
		table[c] |= inValue | inQuery
	}
	put(inValue, " \t")
	return table
}()

// all reports whether all characters of a text are in a class.
func all(text string, set class) bool {
	for i := range len(text) {
		if classes[text[i]]&set == 0 {
			return false
		}
	}
	return true
}
