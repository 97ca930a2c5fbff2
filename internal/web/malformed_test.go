package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/web"
)

// What is no valid HTTP gets an error in the shape of all errors, on both paths of a connection, also after a request
// that was valid.
func TestServe_MalformedRequests(t *testing.T) {
	web.OnBothPaths(t, func(t *testing.T, standardOnly bool) {
		r := newRig(t, onPath(standardOnly))
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- r.Serve(ctx, l) }()
		f := func(name, request string, status int, code, message string) {
			for _, before := range []string{"", "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"} {
				t.Run(fmt.Sprintf("%s, %d bytes before", name, len(before)), func(t *testing.T) {
					conn, err := net.Dial("tcp", l.Addr().String())
					if err != nil {
						t.Fatal(err)
					}
					defer conn.Close()
					go func() { _, _ = io.WriteString(conn, before+request) }() // the server may end before it has read all
					reader := bufio.NewReader(conn)
					if before != "" {
						readOne(t, reader)
					}
					got, body := readOne(t, reader)
					var e web.ErrorBody
					if err := json.Unmarshal(body, &e); err != nil {
						t.Fatalf("%v: %s", err, body)
					}
					if got.StatusCode != status || e.Code != code || !strings.Contains(e.Message, message) || !got.Close ||
						e.RequestID == "" || e.RequestID != got.Header.Get("X-Request-Id") || e.Error == "" ||
						got.Header.Get("Content-Type") != "application/json" || got.Header.Get("Cache-Control") != "no-store" {
						t.Errorf("%d %v %s", got.StatusCode, got.Header, body)
					}
				})
			}
		}
		const end = "\r\nHost: a\r\n\r\n"
		f("escape in a path", "GET /api/gpu/H%zz HTTP/1.1"+end, 400, "malformed_request", "is malformed")
		f("no host", "GET /health HTTP/1.1\r\n\r\n", 400, "malformed_request", "missing required Host header")
		f("two hosts", "GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "malformed_request", "is malformed")
		f("a host that is none", "GET /health HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "malformed_request", "malformed Host header")
		f("a header name", "GET /health HTTP/1.1\r\nA B: c"+end, 400, "malformed_request", "invalid header name")
		f("no HTTP", "hello\r\n\r\n", 400, "malformed_request", "is malformed")
		f("long headers", "GET /health HTTP/1.1\r\nA: "+strings.Repeat("a", 80<<10)+end, 431, "headers_too_large", "65536 bytes")
		f("expectation", "POST /api/session HTTP/1.1\r\nExpect: tea\r\nContent-Length: 2"+end+"{}", 417, "expectation_failed", "100-continue")
		f("encoding", "POST /api/session HTTP/1.1\r\nTransfer-Encoding: tea"+end, 501, "unsupported_encoding", "chunked")
		f("version", "GET /health HTTP/3.0"+end, 505, "unsupported_version", "unsupported protocol version")
		t.Run("HEAD", func(t *testing.T) {
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, "HEAD /health HTTP/1.1\r\nExpect: tea"+end); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 417 ") || !strings.HasSuffix(string(got), "\r\n\r\n") ||
				!strings.Contains(string(got), "X-Request-Id: ") {
				t.Errorf("%v: %q", err, got)
			}
		})
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

func readOne(t *testing.T, reader *bufio.Reader) (*http.Response, []byte) {
	t.Helper()
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, body
}
