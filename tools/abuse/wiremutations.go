//go:build linux

package main

import (
	"net/http"
	"strconv"
	"strings"
)

// wireMutations change how a request is written. Most of the results are not valid HTTP: the server may refuse them as
// such, but must neither fail nor take a part of one request for another.
var wireMutations = []mutation{
	{name: "HTTP/1.0", apply: http10, raw: true, ends: true},
	{name: "absolute form", apply: absoluteForm, raw: true},
	{name: "asterisk or authority form", apply: specialForm, raw: true, broken: true},
	{name: "version", apply: version, raw: true, broken: true},
	{name: "host", apply: host, raw: true, broken: true},
	{name: "raw bytes in the target", apply: rawTarget, raw: true, broken: true},
	{name: "malformed header", apply: malformedHeader, raw: true, broken: true},
	{name: "bare line feeds", apply: bareLineFeeds, raw: true, broken: true},
	{name: "leading line ends", apply: leadingLineEnds, raw: true, broken: true},
	{name: "unknown expectation", apply: unknownExpectation, raw: true, broken: true, ends: true},
	{name: "chunk extensions and trailers", apply: chunkExtensions, raw: true},
	{name: "length and chunks", apply: lengthAndChunks, raw: true, broken: true},
	{name: "obscured chunks", apply: obscuredChunks, raw: true, broken: true, ends: true},
	{name: "conflicting lengths", apply: conflictingLengths, raw: true, broken: true, ends: true},
	{name: "malformed length", apply: malformedLength, raw: true, broken: true, ends: true},
	{name: "malformed chunks", apply: malformedChunks, raw: true, broken: true, ends: true},
	{name: "short length", apply: shortLength, raw: true, broken: true, ends: true},
	{name: "long length", apply: longLength, raw: true, broken: true, ends: true},
	{name: "cut short", apply: cutShort, raw: true, broken: true, ends: true},
	{name: "huge headers", apply: hugeHeaders, raw: true, broken: true, ends: true},
	{name: "not HTTP", apply: notHTTP, raw: true, broken: true, ends: true},
}

// smuggledID is the id of requests that are hidden in bodies. No response may ever carry it.
const smuggledID = "smuggled"

const smuggled = "GET /api/gpu-types HTTP/1.1\r\nHost: assay.example\r\nX-Request-Id: " + smuggledID + "\r\n\r\n"

func http10(d draw, r *request) bool {
	r.version = "HTTP/1.0"
	if r.framing == chunked {
		r.framing = byLength
	}
	if d.oneIn(2) {
		r.setHeader("Connection", "keep-alive")
	}
	if d.oneIn(4) {
		r.dropHeader("Host")
	}
	return true
}

func absoluteForm(d draw, r *request) bool {
	r.writeTarget()
	if !strings.HasPrefix(r.target, "/") {
		return false
	}
	r.target = pick(d, []string{
		"http://assay.example", "http://evil.example", "https://assay.example:443", "http://127.0.0.1:1",
		"http://[::1]", "HTTP://Assay.Example",
		"ftp://assay.example", "http://user:password@assay.example",
	}) + r.target
	return true
}

func specialForm(d draw, r *request) bool {
	form := pick(d, []field{
		{"OPTIONS", "*"},
		{"GET", "*"},
		{"CONNECT", "assay.example:443"},
		{"CONNECT", "/"},
		{"CONNECT", "*"},
		{"GET", "assay.example"},
		{"GET", ""},
		{"GET", "http://"},
		{"GET", "http:///api/gpu-types"},
		{"GET", "://"},
		{"GET", "api/gpu-types"},
		{"GET", "?limit=1"},
		{"PRI", "*"},
		{"GET", "http://assay.example"},
		{"GET", "http://assay.example?limit=1"},
		{"GET", "\\api\\gpu-types"},
		{"OPTIONS", "/*"},
	})
	r.method, r.target = form.name, form.value
	r.framing, r.body = noBody, nil
	if r.target == "" {
		r.raw = []byte("GET  HTTP/1.1\r\nHost: assay.example\r\n\r\n")
		r.id = ""
	}
	return true
}

func version(d draw, r *request) bool {
	r.version = pick(d, []string{
		"HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "HTTP/2", "HTTP/3", "http/1.1", "HTTP/1.1x", "HTTP/1.10", "HTTP/01.1",
		"HTTP/-1.1", "ICY", "HTTP/1.1 ",
	})
	return true
}

func host(d draw, r *request) bool {
	switch d.IntN(3) {
	case 0:
		r.dropHeader("Host")
	case 1:
		r.header("Host", pick(d, []string{"assay.example", "evil.example"}))
	default:
		r.setHeader("Host", pick(d, []string{
			"", "a b", "a\x00b", "é", "[::1", "a:b:c", "assay.example:99999", "a/b", "a@b", strings.Repeat("h", 3000),
			"\"x\"",
		}))
	}
	return true
}

func rawTarget(d draw, r *request) bool {
	r.writeTarget()
	at := min(1+d.IntN(len(r.target)), len(r.target))
	bytes := pick(d, []string{" ", "\x00", "\x01", "\t", "\x7f", "\r", "\xff", " HTTP/1.1 ", "%", "%g"})
	r.target = r.target[:at] + bytes + r.target[at:]
	return true
}

func malformedHeader(d draw, r *request) bool {
	h := pick(d, []field{
		{"", "x"},
		{"X Y", "x"},
		{"X-A ", "x"},
		{" X-A", "x"},
		{"X-\x00", "x"},
		{"X-é", "x"},
		{"X-A", "a\x00b"},
		{"X-A", "a\x01b"},
		{"X-A", "a\rb"},
		{"X-A", "a\r\n b"},
		{"X-A", "a\r\n\tX-Injected: yes"},
		{"X:A", "x"},
		{"X-A\t", "x"},
		{"(X)", "x"},
		{"X-A", "\x7f"},
		{"X-A\r\nX-B", "x"},
		{"Content-Length ", "5"},
		{"Transfer-Encoding ", "chunked"},
		{"\tTransfer-Encoding", "chunked"},
		{"X-A", "a\nX-Injected: yes"},
	})
	if d.oneIn(2) {
		r.headers = append([]field{h}, r.headers...)
	} else {
		r.headers = append(r.headers, h)
	}
	if d.oneIn(8) {
		r.headers = append(r.headers, field{"no colon\r\nX-C", "y"})
	}
	return true
}

func bareLineFeeds(_ draw, r *request) bool {
	if r.framing != noBody {
		return false
	}
	r.write()
	r.raw = []byte(strings.ReplaceAll(string(r.raw), "\r\n", "\n"))
	return true
}

func leadingLineEnds(d draw, r *request) bool {
	r.write()
	r.raw = append([]byte(pick(d, []string{"\r\n", "\n", "\r\n\r\n", " ", "\x00"})), r.raw...)
	return true
}

func unknownExpectation(d draw, r *request) bool {
	r.setHeader("Expect", pick(d, []string{"200-ok", "", "100-continue, x", "100-Continue", "\xff"}))
	return true
}

// post makes a request one that may have a body.
func (r *request) post() {
	if r.method == http.MethodGet || r.method == http.MethodHead {
		r.method = http.MethodPost
	}
	r.framing = asWritten
}

func chunkExtensions(d draw, r *request) bool {
	if r.version != "HTTP/1.1" {
		return false
	}
	r.post()
	r.header("Transfer-Encoding", "chunked")
	trailer := pick(d, []string{
		"", "X-Trailer: a\r\n", "Content-Length: 5\r\n", "Authorization: Bearer x\r\n", "X-Request-Id: trailer\r\n",
	})
	r.body = []byte("2;a=b\r\n{}\r\n0;" + strings.Repeat("e", d.IntN(200)) + "\r\n" + trailer + "\r\n")
	return true
}

// lengthAndChunks sends both marks. The chunks are to be believed, or nothing; the length would make a request of the
// end of the body.
func lengthAndChunks(d draw, r *request) bool {
	r.post()
	names := []field{
		{"Content-Length", pick(d, []string{"4", "0", "1"})},
		{"Transfer-Encoding", pick(d, []string{"chunked", "Chunked"})},
	}
	if d.oneIn(2) {
		names[0], names[1] = names[1], names[0]
	}
	r.headers = append(r.headers, names...)
	r.body = append(strconv.AppendInt(nil, int64(len(smuggled)), 16), "\r\n"+smuggled+"\r\n0\r\n\r\n"...)
	return true
}

// obscuredChunks sends a length that covers the body, and a transfer encoding that only a careless parser takes for
// chunked: it would make a request of the end of the body.
func obscuredChunks(d draw, r *request) bool {
	r.post()
	body := "0\r\n\r\n" + smuggled
	r.header("Content-Length", strconv.Itoa(len(body)))
	h := pick(d, []field{
		{"Transfer-Encoding", "xchunked"},
		{"Transfer-Encoding", "chunked, identity"},
		{"Transfer-Encoding", "identity"},
		{"Transfer-Encoding", "\x0bchunked"},
		{"Transfer-Encoding", "chunked\x00"},
		{"Transfer-Encoding ", "chunked"},
		{"Transfer_Encoding", "chunked"},
		{"Transfer-Encoding", "gzip"},
		{"Transfer-Encoding", "\"chunked\""},
		{"X", "y\rTransfer-Encoding: chunked"},
		{"Transfer-Encoding", "cow"},
		{"Transfer-Encoding", ""},
	})
	r.headers = append(r.headers, h)
	r.body = []byte(body)
	return true
}

func conflictingLengths(d draw, r *request) bool {
	r.post()
	first, second := strconv.Itoa(len(smuggled)), pick(d, []string{"0", "1", "9999", "-1", "x"})
	if d.oneIn(2) {
		first, second = second, first
	}
	r.headers = append(r.headers, field{"Content-Length", first}, field{"Content-Length", second})
	r.body = []byte(smuggled)
	return true
}

func malformedLength(d draw, r *request) bool {
	r.post()
	r.header("Content-Length", pick(d, []string{
		"+5", "-5", "0x5", "5,5", "5, 6", "", "1e1", "99999999999999999999", "9223372036854775808", "5;a", "５",
		"5.0", "\"5\"", "5\x0b",
	}))
	r.body = []byte(smuggled)
	return true
}

func malformedChunks(d draw, r *request) bool {
	r.post()
	r.header("Transfer-Encoding", "chunked")
	r.body = []byte(pick(d, []string{
		"g\r\nx\r\n0\r\n\r\n", "-1\r\nx\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFFF\r\nx", "7fffffffffffffff\r\nx",
		"0x2\r\n{}\r\n0\r\n\r\n", "\r\n\r\n", "2\n{}\n0\n\n",
		"2\r\n{}0\r\n\r\n", "2\r\n{}xx0\r\n\r\n", " 2\r\n{}\r\n0\r\n\r\n", "2 \r\n{}\r\n0\r\n\r\n",
		"2;" + strings.Repeat("x", 20_000) + "\r\n{}\r\n0\r\n\r\n",
		"0\r\nContent-Length: x\x00\r\n\r\n", "0\r\n" + strings.Repeat("A: b\r\n", 2000) + "\r\n", "2\r\n{",
		"1000\r\n{}", "0\r\n", "00000000000000000000002\r\n{}\r\n0\r\n\r\n",
	}))
	return true
}

// shortLength leaves a part of the body outside: it is the next request, and no valid one.
func shortLength(d draw, r *request) bool {
	r.post()
	r.header("Content-Length", strconv.Itoa(1+d.IntN(3)))
	r.body = []byte("\x16\x03{\"name\":\"left over\"}\r\n\r\n")
	return true
}

// longLength promises more than it sends.
func longLength(d draw, r *request) bool {
	r.post()
	r.header("Content-Length", strconv.Itoa(100+d.IntN(3000)))
	r.body = []byte(`{"name":"x"}`)
	return true
}

func cutShort(d draw, r *request) bool {
	r.write()
	r.raw = r.raw[:d.IntN(len(r.raw))]
	return true
}

func hugeHeaders(d draw, r *request) bool {
	switch d.IntN(3) {
	case 0:
		r.header("X-Huge", strings.Repeat("h", 100_000))
	case 1:
		for range 3000 {
			r.header("X-Many", d.text(20))
		}
	default:
		r.target = "/api/gpu/" + strings.Repeat("u", 90_000)
	}
	return true
}

func notHTTP(d draw, r *request) bool {
	noise := make([]byte, 1+d.IntN(200))
	for i := range noise {
		noise[i] = byte(d.Uint32())
	}
	r.raw = []byte(pick(d, []string{
		string(noise), "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + d.text(60),
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"GET\r\n\r\n", "GET /\r\n\r\n", "\r\n\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n",
		"HELO assay.example\r\nMAIL FROM:<a@b>\r\n", "*1\r\n$4\r\nPING\r\n",
		strings.Repeat("A", 80_000), "GET / HTTP/1.1\r\n" + strings.Repeat("\r", 100) + "\r\n", "\x00\x00\x00\x00",
		"GET / HTTP/1.1\nHost: a\n\n\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nGET /health HTTP/1.1\r\nHost: a\r\n\r\n",
	}))
	r.id, r.target, r.method = "", "/", "GET"
	return true
}
