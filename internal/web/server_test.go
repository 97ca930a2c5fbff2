package web_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/web"
)

func TestServe_PanicIsA500WithoutInternals(t *testing.T) {
	r := newRig(t)
	r.Panic = true
	got := r.Get("full", "/api/gpu/H200/determination?date=2026-02-01")
	if got.StatusCode != 500 || !strings.Contains(got.Text, `"error":"Internal server error"`) || strings.Contains(got.Text, "a bug") {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
	if !strings.Contains(r.Logs.String(), "a bug") || !strings.Contains(r.Logs.String(), got.Header.Get("X-Request-Id")) {
		t.Errorf("the log does not tell of it: %s", r.Logs.String())
	}
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// smallServer serves one route on a listener, or over the network if that is nil, and logs into logs. stop waits for
// the requests in flight.
func smallServer(
	t *testing.T, standardOnly bool, logs io.Writer, l net.Listener, private bool,
	serve func(*web.Request) (web.Response, error),
) (url string, stop func()) {
	t.Helper()
	log := slog.New(slog.NewJSONHandler(logs, nil))
	s, err := web.New(web.Config{
		Now: time.Now, Log: log, Requests: logs, Settings: web.Settings{KeyLimit: 1}, StandardHTTP: standardOnly,
		Data:   func() web.DataState { return web.DataState{Loaded: true} },
		Status: web.NewNodeStatus(web.StatusConfig{Now: time.Now, Log: log}),
	}, web.Group{Private: private, Routes: []web.Route{
		{Method: http.MethodGet, Path: "/route", Rule: access.Public, Serve: serve},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if l == nil {
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	return "http://" + l.Addr().String() + "/route", func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// pipes is a listener whose connections are in memory, so that a test can use a fake clock.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A body has to arrive within ten seconds, whether the route takes one or not.
func TestServe_SlowBody(t *testing.T) {
	web.OnBothPaths(t, func(t *testing.T, standardOnly bool) {
		f := func(name string, serve func(*web.Request) (web.Response, error), want string) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var logs lockedBuffer
					l := make(pipes)
					_, stop := smallServer(t, standardOnly, &logs, l, false, serve)
					defer stop()
					client, server := net.Pipe()
					l <- server
					began := time.Now()
					go func() {
						_, _ = io.WriteString(client, "GET /route HTTP/1.1\r\nHost: assay\r\nContent-Type: application/json\r\n"+
							"Content-Length: 100\r\n\r\n{")
					}()
					response, err := io.ReadAll(client)
					if err != nil || !strings.Contains(string(response), want) {
						t.Errorf("the response is %s (%v), want %s", response, err, want)
					}
					if took := time.Since(began); took != 10*time.Second {
						t.Errorf("the connection ended after %v", took)
					}
				})
			})
		}
		f("read", func(r *web.Request) (web.Response, error) {
			var body struct{}
			return web.Response{}, r.ReadJSON(&body, "name")
		}, "Invalid body: it did not arrive within 10 seconds, must be a JSON object with name.")
		f("ignored", func(*web.Request) (web.Response, error) {
			return web.Ready(web.NewBody([]byte(`"ready"`), 0)), nil
		}, "ready")
	})
}

// A connection that is closed while bytes of the client are unread is reset, and the client loses the response. So the
// server reads a body to its end even if it has no use for it.
func TestServe_UnwantedBodyOfTheLastRequest(t *testing.T) {
	web.OnBothPaths(t, func(t *testing.T, standardOnly bool) {
		f := func(name, head, body string, ends time.Duration) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var logs lockedBuffer
					l := make(pipes)
					_, stop := smallServer(t, standardOnly, &logs, l, false, func(*web.Request) (web.Response, error) {
						return web.Ready(web.NewBody([]byte(`"ready"`), 0)), nil
					})
					defer stop()
					client, server := net.Pipe()
					l <- server
					began := time.Now()
					sent := make(chan error, 1)
					go func() {
						_, err := io.WriteString(client, head+"\r\nHost: assay\r\n\r\n"+body)
						sent <- err
					}()
					response, err := io.ReadAll(client)
					if err != nil || !strings.HasSuffix(string(response), `"ready"`) {
						t.Errorf("the response is %s (%v)", response, err)
					}
					if err := <-sent; err != nil {
						t.Errorf("the request was not read to its end: %v", err)
					}
					if took := time.Since(began); took != ends {
						t.Errorf("the connection ended after %v", took)
					}
				})
			})
		}
		body := strings.Repeat("b", 100_000)
		f("close", "GET /route HTTP/1.1\r\nConnection: close\r\nContent-Length: 100000", body, 0)
		f("chunks", "GET /route HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked", "186a0\r\n"+body+"\r\n0\r\n\r\n", 0)
		f("HTTP/1.0", "GET /route HTTP/1.0\r\nContent-Length: 100000", body, 0)
		f("not sent yet", "GET /route HTTP/1.1\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 100000", "",
			500*time.Millisecond) // which a client with a real connection does not wait for: the server ends its side at once
	})
}

// A client may send a body without waiting for the server to ask for it. The server has no use for it here, and what is
// unread must not cost the client a response that is still on its way.
func TestServe_BodySentUnasked(t *testing.T) {
	web.OnBothPaths(t, func(t *testing.T, standardOnly bool) {
		content := strings.Repeat("c", 1<<20)
		f := func(name, head string) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var logs lockedBuffer
				url, stop := smallServer(t, standardOnly, &logs, nil, false, func(*web.Request) (web.Response, error) {
					return web.Ready(web.NewBody([]byte(content), 0)), nil
				})
				defer stop()
				conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/route"))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if err := conn.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil { // most of the response has to wait
					t.Fatal(err)
				}
				_, err = io.WriteString(conn, "GET /route "+head+"\r\nHost: assay\r\nExpect: 100-continue\r\n"+
					"Content-Length: 100000\r\n\r\n"+strings.Repeat("b", 100_000))
				if err != nil {
					t.Fatal(err)
				}
				response, err := io.ReadAll(conn)
				if err != nil || !strings.HasSuffix(string(response), content) {
					t.Errorf("%d bytes of the response arrived (%v)", len(response), err)
				}
			})
		}
		f("keep", "HTTP/1.1")
		f("close", "HTTP/1.1\r\nConnection: close")
		f("HTTP/1.0", "HTTP/1.0")
	})
}

// A client must not take the beginning of a body for the whole.
func TestServe_PanicInTheBody(t *testing.T) {
	web.OnBothPaths(t, func(t *testing.T, standardOnly bool) {
		for _, encoding := range []string{"identity", "gzip", "zstd"} {
			for _, rows := range []int{1, 100, 100_000} { // not begun, held back as a whole, and partly sent
				t.Run(fmt.Sprintf("%s, %d rows", encoding, rows), func(t *testing.T) {
					t.Parallel()
					var logs lockedBuffer
					url, stop := smallServer(t, standardOnly, &logs, nil, false, func(*web.Request) (web.Response, error) {
						return web.Rows(web.NewVersion(0, []byte("x")), []byte("["), rows+1, func(dst []byte, k int) []byte {
							if k == rows {
								panic("a bug")
							}
							return append(dst, rand.Text()...)
						}), nil
					})
					request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
					if err != nil {
						t.Fatal(err)
					}
					request.Header.Set("Accept-Encoding", encoding)
					response, err := http.DefaultTransport.RoundTrip(request)
					if err == nil {
						_, err = io.ReadAll(response.Body)
					}
					switch {
					case rows == 1:
						if err != nil || response.StatusCode != http.StatusInternalServerError {
							t.Errorf("a response that has not begun is no error: %v", err)
						}
					case err == nil:
						t.Error("the body ends as if it were whole")
					}
					stop()
					if !strings.Contains(logs.String(), "panic: a bug") || strings.Count(logs.String(), `"msg":"request"`) != 1 {
						t.Errorf("the log does not report it: %s", logs.String())
					}
				})
			}
		}
	})
}

// A client that hangs up is no failure of the server.
func TestServe_ClientHangsUp(t *testing.T) {
	web.OnBothPaths(t, func(t *testing.T, standardOnly bool) {
		var logs lockedBuffer
		ctx, hangUp := context.WithCancel(t.Context())
		url, stop := smallServer(t, standardOnly, &logs, nil, true, func(r *web.Request) (web.Response, error) {
			hangUp()
			<-r.Context().Done()
			return web.Response{}, r.Context().Err()
		})
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if response, err := http.DefaultTransport.RoundTrip(request); err == nil {
			t.Errorf("the server responds %d to a client that is gone", response.StatusCode)
		}
		stop()
		if strings.Contains(logs.String(), `"level":"ERROR"`) || !strings.Contains(logs.String(), "the client went away") {
			t.Errorf("the log is %s", logs.String())
		}
	})
}

// A method is any word that a client likes, such as a key by mistake.
func TestServe_MethodIsRedacted(t *testing.T) {
	r := newRig(t)
	key := r.Keys["full"]
	for _, path := range []string{"/api/gpu/H200", "/nothing", "/"} {
		if got := r.Do(key, "", path); strings.Contains(got.Text+r.Logs.String(), key) {
			t.Errorf("%s: the key is repeated in %s or in the log:\n%s", path, got.Text, r.Logs.String())
		}
	}
}

// Browsers must not guess content types, and must not come back without TLS after they have come with it.
func TestServe_SecurityHeaders(t *testing.T) {
	r := newRig(t, apitest.TrustProxies("10.0.0.0/8"))
	f := func(want, path string, headers ...string) {
		t.Helper()
		got := r.Get("", path, headers...)
		if sniff := got.Header.Values("X-Content-Type-Options"); len(sniff) != 1 || sniff[0] != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options is %q", path, sniff)
		}
		if sts := got.Header.Get("Strict-Transport-Security"); sts != want {
			t.Errorf("%s with %q: Strict-Transport-Security is %q, want %q", path, headers, sts, want)
		}
	}
	const year = "max-age=31536000"
	for _, path := range []string{"/api/gpu/H200", "/api/gpu/TPU", "/health", "/nothing", "/api/session", "/"} {
		f("", path)
		f("", path, "X-Forwarded-Proto", "https", "peer", "192.0.2.1:80") // not a trusted proxy
		f("", path, "X-Forwarded-Proto", "http", "peer", "10.1.1.1:80")
		f(year, path, "X-Forwarded-Proto", "https", "peer", "10.1.1.1:80")
	}
	r = newRig(t, func(c *apitest.Config) { c.Web.PublicURL = "https://assay.example" })
	f(year, "/api/gpu/H200")
}

func TestServe_RequestID(t *testing.T) {
	r := newRig(t)
	f := func(given string, echoed bool) {
		t.Helper()
		got := r.Get("", "/api/gpu/H200", "X-Request-Id", given).Header.Get("X-Request-Id")
		if got == "" || (got == given) != echoed {
			t.Errorf("id %q came back as %q", given, got)
		}
	}
	f("abc-123_x.Y", true)
	f(strings.Repeat("a", 64), true)
	f(strings.Repeat("a", 65), false)
	f("has space", false)
	f("semi;colon", false)
	f("ünïcode", false)
	one, two := r.Get("", "/health").Header.Get("X-Request-Id"), r.Get("", "/health").Header.Get("X-Request-Id")
	if one == two {
		t.Errorf("two requests have the id %s", one)
	}
}

func TestServe_LogsOneLineWithoutSecrets(t *testing.T) {
	r := newRig(t)
	secret := r.Keys["full"]
	r.Get("full", "/api/gpu/H200/hourly?limit=1&api_key="+secret)
	r.Get("", "/api/gpu/"+secret)
	r.Get("", "/"+secret)
	r.Get("", "/api/gpu/H200/index-history?startDate="+secret)
	r.Get("", "/api/gpu/H200", "Authorization", "Bearer "+secret+"x")
	r.Get("", "/api/gpu/H200", "Authorization", secret)
	r.Get("", "/api/gpu/H200", "X-Request-Id", secret)
	logs := r.Logs.String()
	if strings.Contains(logs, secret) || strings.Contains(logs, secret[16:]) {
		t.Errorf("the log holds a key:\n%s", logs)
	}
	if got := strings.Count(logs, "\n"); got != 7 {
		t.Errorf("7 requests left %d lines:\n%s", got, logs)
	}
	if !strings.Contains(logs, `"key":"`+secret[8:14]+`"`) {
		t.Errorf("the log does not name the key's id:\n%s", logs)
	}
}
