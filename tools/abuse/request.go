//go:build linux

package main

import (
	"net/http"
	"strconv"
	"strings"
)

// request is one hostile request: what it asks for, how it is written, and what may come back.
type request struct {
	operation *operation // that it was derived from
	id        string     // its X-Request-Id; empty when it sends none that the server keeps
	role      role
	tier      tier // of the strongest credential that it carries
	session   *session

	method   string
	segments []string // of the path, as they are written
	query    []pair
	suffix   string // of the query, as it is written
	target   string // the whole target, once it is written
	version  string
	headers  []field
	body     []byte
	framing  framing
	raw      []byte // the bytes on the wire

	mutations  []string
	broken     bool // it is not valid HTTP: the transport may refuse it, or just close
	ends       bool // the connection cannot be used after it
	halfClosed bool // the client closes its side after the last request of the exchange
}

type field struct{ name, value string }

// pair is a parameter of the query.
type pair struct {
	name, value string
	encoding    encoding
}

// framing is how the end of a body is marked.
type framing uint8

const (
	noBody framing = iota
	byLength
	chunked
	asWritten // the headers and the body are written by a mutation
)

func (r *request) header(name, value string) { r.headers = append(r.headers, field{name, value}) }

// setHeader replaces all headers of a name.
func (r *request) setHeader(name, value string) {
	r.dropHeader(name)
	r.header(name, value)
}

func (r *request) dropHeader(name string) {
	kept := r.headers[:0]
	for _, h := range r.headers {
		if !strings.EqualFold(h.name, name) {
			kept = append(kept, h)
		}
	}
	r.headers = kept
}

// sends returns the value of a header, and whether the request has one.
func (r *request) sends(name string) (string, bool) {
	for _, h := range r.headers {
		if strings.EqualFold(h.name, name) {
			return h.value, true
		}
	}
	return "", false
}

// setBody sets a body and says how its end is marked.
func (r *request) setBody(body []byte, f framing) { r.body, r.framing = body, f }

// writeTarget makes the request target, unless a mutation has.
func (r *request) writeTarget() {
	if r.target != "" {
		return
	}
	b := make([]byte, 0, 128)
	for _, segment := range r.segments {
		b = append(append(b, '/'), segment...)
	}
	separator := byte('?')
	for _, p := range r.query {
		b = append(append(append(b, separator), p.name...), '=')
		b = appendEscaped(b, p.value, p.encoding)
		separator = '&'
	}
	if r.suffix != "" {
		b = append(append(b, separator), r.suffix...)
	}
	r.target = string(b)
}

// write makes the bytes on the wire.
func (r *request) write() {
	r.writeTarget()
	if r.raw != nil {
		return
	}
	b := make([]byte, 0, 512+len(r.target)+len(r.body))
	b = append(append(append(b, r.method...), ' '), r.target...)
	b = append(append(append(b, ' '), r.version...), "\r\n"...)
	for _, h := range r.headers {
		b = append(append(append(append(b, h.name...), ": "...), h.value...), "\r\n"...)
	}
	switch r.framing {
	case byLength:
		b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(r.body)), 10)
		b = append(append(b, "\r\n\r\n"...), r.body...)
	case chunked:
		b = appendChunks(append(b, "Transfer-Encoding: chunked\r\n\r\n"...), r.body)
	case asWritten, noBody:
		b = append(append(b, "\r\n"...), r.body...)
	}
	r.raw = b
}

// appendChunks appends a body in chunks of growing size.
func appendChunks(b, body []byte) []byte {
	for size := 1; len(body) > 0; size *= 4 {
		piece := body[:min(size, len(body))]
		b = append(strconv.AppendInt(b, int64(len(piece)), 16), "\r\n"...)
		b = append(append(b, piece...), "\r\n"...)
		body = body[len(piece):]
	}
	return append(b, "0\r\n\r\n"...)
}

// mayReset tells that the server may close the connection without having read all of the request: it is not valid HTTP,
// or it sends a body for which the server should have asked first.
func (r *request) mayReset() bool { return r.broken || hasHeader(r, "Expect") }

// isHead tells that the response has no body whatever its headers say.
func (r *request) isHead() bool { return r.method == http.MethodHead }

// shown is the request as a failure shows it, without the rest of a long one.
func (r *request) shown() string {
	const most = 1500
	text := strconv.Quote(string(r.raw[:min(most, len(r.raw))]))
	if len(r.raw) > most {
		text += "… (" + strconv.Itoa(len(r.raw)) + " bytes)"
	}
	return text
}
