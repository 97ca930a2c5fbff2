//go:build linux

package main

import (
	"bufio"
	"bytes"
	"hash/maphash"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// respond reads a response that a test wrote.
func respond(t *testing.T, head bool, text string) received {
	t.Helper()
	a, err := readResponse(bufio.NewReader(strings.NewReader(text)), head, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// priceOf is a request for a price and the response that the description promises. Tests change either.
func priceOf(d *description) (*request, *received) {
	r := &request{
		operation: d.find("/api/gpu/H200").operation("GET"), id: "x1-0", method: "GET", target: "/api/gpu/H200", version: "HTTP/1.1",
	}
	a := &received{status: 200, headers: []field{
		{"X-Request-Id", "x1-0"},
		{"X-Content-Type-Options", "nosniff"},
		{"Content-Type", "application/json"},
		{"Etag", `"a"`},
		{"Cache-Control", "public, max-age=1"},
		{"Last-Modified", "Tue, 03 Feb 2026 22:00:00 GMT"},
		{"Ratelimit", `"public";r=59;t=60`},
		{"Ratelimit-Policy", `"public";q=60;w=60`},
		{"Access-Control-Allow-Origin", "*"},
		{"Vary", "Authorization, Cookie, Accept, Accept-Encoding"},
	}}
	a.body = []byte(`{"success":true,"access":"public-3mo","data":` +
		`{"gpu_name":"H200","region":"","index_value":2.5141,"last_updated":"2026-11-16T03:00:00.000Z"}}`)
	return r, a
}

func (a *received) set(name, value string) {
	a.headers = slices.DeleteFunc(a.headers, func(f field) bool { return f.name == name })
	if value != "" {
		a.headers = append(a.headers, field{name, value})
	}
}

// fail makes a response an error of a status.
func (a *received) fail(status int, code string) {
	a.status = status
	a.set("Etag", "")
	a.set("Last-Modified", "")
	a.set("Cache-Control", "no-store")
	a.body = []byte(`{"error":"Not found","message":"A sentence.","code":"` + code + `","request_id":"x1-0"}`)
}

func newTestChecker(d *description) *checker {
	return &checker{description: d, right: seen{seed: maphash.MakeSeed()}}
}

// The checker accepts what the description promises.
func TestChecker_Accepts(t *testing.T) {
	t.Parallel()
	d := testDescription(t)
	f := func(name string, change func(r *request, a *received)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, a := priceOf(d)
			change(r, a)
			c := newTestChecker(d)
			for range 2 { // the second time it remembers
				if err := c.check(r, a); err != nil {
					t.Error(err)
				}
			}
		})
	}
	f("a price", func(*request, *received) {})
	f("HEAD", func(r *request, a *received) { r.method, a.body = "HEAD", nil })
	f("no data", func(_ *request, a *received) { a.fail(404, "no_data") })
	f("another path", func(r *request, a *received) { r.target = "/nothing"; a.fail(404, "unknown_path") })
	f("a page", func(r *request, a *received) {
		r.target, a.body = "/docs", []byte("<html>")
		a.set("Content-Type", "text/html")
	})
	f("another method", func(r *request, a *received) {
		r.method = "PATCH"
		a.fail(405, "method_not_allowed")
		a.set("Allow", "GET, HEAD, OPTIONS")
	})
	f("unchanged", func(_ *request, a *received) { a.status, a.body = 304, nil; a.set("Content-Type", "") })
	f("compressed", func(_ *request, a *received) {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(a.body)
		w.Close()
		a.body = b.Bytes()
		a.set("Content-Encoding", "gzip")
	})
	f("refused by the transport", func(r *request, a *received) {
		r.broken = true
		*a = respond(t, false, "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\nX-Request-Id: 0123456789ab-1z\r\n\r\n"+
			`{"error":"Bad request","message":"The request is not valid HTTP.","code":"malformed_request","request_id":"0123456789ab-1z","doc_url":"/docs/errors.md#malformed_request"}`)
	})
	f("an id of the server", func(r *request, a *received) { r.id = ""; a.set("X-Request-Id", "0123456789ab-1z") })
}

// The checker notices what is wrong: without this, a campaign proves nothing.
func TestChecker_Rejects(t *testing.T) {
	t.Parallel()
	d := testDescription(t)
	f := func(name, want string, change func(r *request, a *received)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, a := priceOf(d)
			change(r, a)
			err := newTestChecker(d).check(r, a)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
	f("a field of the wrong type", "does not fit", func(_ *request, a *received) { a.body = bytes.Replace(a.body, []byte("2.5141"), []byte(`"2"`), 1) })
	f("a field too many", "does not fit", func(_ *request, a *received) { a.body = bytes.Replace(a.body, []byte("{"), []byte(`{"extra":1,`), 1) })
	f("a field missing", "does not fit", func(_ *request, a *received) { a.body = []byte(`{"success":true,"data":{}}`) })
	f("a value outside the enumeration", "does not fit", func(_ *request, a *received) { a.body = bytes.Replace(a.body, []byte("H200"), []byte("H2OO"), 1) })
	f("a constant with another value", "does not fit", func(_ *request, a *received) { a.body = bytes.Replace(a.body, []byte("true"), []byte("false"), 1) })
	f("a value below the least", "does not fit", func(_ *request, a *received) { a.body = bytes.Replace(a.body, []byte("2.5141"), []byte("0"), 1) })
	f("no date", "does not fit", func(_ *request, a *received) {
		a.body = bytes.Replace(a.body, []byte("2026-11-16T"), []byte("yesterday "), 1)
	})
	f("not JSON", "is not application/json", func(_ *request, a *received) { a.body = a.body[1:] })
	f("another content type", "content type", func(_ *request, a *received) { a.set("Content-Type", "text/html") })
	f("another encoding", "Content-Encoding", func(_ *request, a *received) { a.set("Content-Encoding", "br") })
	f("another status", "no status 206", func(_ *request, a *received) { a.status = 206 })
	f("500", "status 500", func(_ *request, a *received) { a.fail(500, "internal") })
	f("503 without Retry-After", "status 503", func(_ *request, a *received) { a.fail(503, "unavailable") })
	f("a header missing", "Etag is missing", func(_ *request, a *received) { a.set("Etag", "") })
	f("a malformed header", "Ratelimit", func(_ *request, a *received) { a.set("Ratelimit", "59") })
	f("an unknown header", "X-Injected", func(_ *request, a *received) { a.set("X-Injected", "yes") })
	f("a header twice", "twice", func(_ *request, a *received) { a.headers = append(a.headers, field{"Etag", `"b"`}) })
	f("an undescribed cookie", "Set-Cookie", func(_ *request, a *received) { a.set("Set-Cookie", "assay_session=x") })
	f("no nosniff", "nosniff", func(_ *request, a *received) { a.set("X-Content-Type-Options", "") })
	f("the response to another request", "another request", func(_ *request, a *received) { a.set("X-Request-Id", "x1-1") })
	f("the response to a smuggled request", "another request", func(r *request, a *received) { r.id = ""; a.set("X-Request-Id", smuggledID) })
	f("an error of another request", "another request_id", func(_ *request, a *received) {
		a.fail(404, "no_data")
		a.set("X-Request-Id", "x1-0")
		a.body = bytes.Replace(a.body, []byte("x1-0"), []byte("x1-9"), 1)
	})
	f("an error without an id", "no request_id", func(_ *request, a *received) { a.fail(404, "no_data"); a.body = []byte(`{"error":"Not found"}`) })
	f("an error with an unknown code", "does not fit", func(_ *request, a *received) { a.fail(404, "oops") })
	f("a key in the body", "API key", func(_ *request, a *received) {
		a.body = bytes.Replace(a.body, []byte("H200"), []byte(testCast().full[0]), 1)
	})
	f("a key in a header", "API key", func(_ *request, a *received) { a.set("Link", testCast().full[0]) })
	f("a cookie in the body", "token", func(r *request, a *received) { s := testCast().sessions[0]; r.session = &s; a.body = []byte(s.token) })
	f("more than the caller may read", "lesser", func(_ *request, a *received) { a.body = bytes.Replace(a.body, []byte("public-3mo"), []byte("full"), 1) })
	f("a revoked key", "revoked key", func(r *request, _ *received) { r.role = revoked; r.header("Authorization", "Bearer x") })
	f("no permission for pages", "Access-Control-Allow-Origin", func(_ *request, a *received) { a.set("Access-Control-Allow-Origin", "") })
	f("a body after 304", "which has none", func(_ *request, a *received) { a.status = 304 })
	f("200 for an unknown path", "not described", func(r *request, _ *received) { r.target = "/api/nothing" })
	f("200 for another method", "not described", func(r *request, _ *received) { r.method = "POST" })
	f("405 without Allow", "Allow", func(r *request, a *received) { r.method = "PUT"; a.fail(405, "method_not_allowed") })
	f("a refusal of valid HTTP", "X-Request-Id", func(_ *request, a *received) {
		*a = respond(t, false, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n400 Bad Request")
	})
}

func TestReadResponse(t *testing.T) {
	t.Parallel()
	a := respond(t, false, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
	if a.status != 200 || string(a.body) != "abcde" || a.closes {
		t.Errorf("%+v", a)
	}
	if a := respond(t, true, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"); a.body != nil {
		t.Errorf("HEAD: %+v", a)
	}
	if a := respond(t, false, "HTTP/1.0 200 OK\r\n\r\nall of it"); string(a.body) != "all of it" || !a.closes {
		t.Errorf("HTTP/1.0: %+v", a)
	}
	for _, bad := range []string{
		"", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "{}", "HTTP/1.1 200 OK\n\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA B: c\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\x00\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
		"HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc0\r\n\r\n",
	} {
		if a, err := readResponse(bufio.NewReader(strings.NewReader(bad)), false, nil); err == nil {
			t.Errorf("%q was read as %+v", bad, a)
		}
	}
}
