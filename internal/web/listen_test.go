package web_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/web"

	"github.com/google/go-cmp/cmp"
)

// TestServe_OverTheNetwork: what a client gets over one of our connections, which write header lines by themselves, is
// what the handler says.
func TestServe_OverTheNetwork(t *testing.T) {
	web.OnBothPaths(t, func(t *testing.T, standardOnly bool) {
		r := newRig(t, onPath(standardOnly), apitest.TrustProxies("127.0.0.0/8"), func(c *apitest.Config) { c.Web.Requests, c.Web.Log = nil, slog.New(slog.DiscardHandler) })
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- r.Serve(ctx, l) }()
		client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
		for _, target := range append(targets, "/health", "/nothing", "/api/gpu/TPU", "/api/day-index", "/api/gpu/H200/history?datetime=x") {
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions} {
				for name, value := range map[string]string{"Accept-Encoding": "gzip", "If-None-Match": "*", "Origin": "https://page.example", "Connection": "close"} {
					for _, caller := range []string{"", "full"} {
						address := fmt.Sprintf("192.0.%d.%d", r.Sent/256, r.Sent%256) // each pair has its own limit
						want := r.Do(method, caller, target, name, value, "X-Request-Id", "same", "X-Forwarded-For", address, "peer", "127.0.0.1:1")
						request, err := http.NewRequestWithContext(ctx, method, "http://"+l.Addr().String()+target, nil)
						if err != nil {
							t.Fatal(err)
						}
						request.Header.Set(name, value)
						request.Header.Set("X-Request-Id", "same")
						request.Header.Set("X-Forwarded-For", address)
						if caller != "" {
							request.Header.Set("Authorization", "Bearer "+r.Keys[caller])
						}
						got, err := client.Do(request)
						if err != nil {
							t.Fatal(err)
						}
						body, err := io.ReadAll(got.Body)
						if err != nil {
							t.Fatal(err)
						}
						compare(t, method+" "+target+" with "+name, want, apitest.Reply{Response: got, Text: string(body)})
					}
				}
			}
		}
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// TestServe_OptionsOfTheServer: OPTIONS * is a request like any other, with an id and a line in the log.
func TestServe_OptionsOfTheServer(t *testing.T) {
	web.OnBothPaths(t, func(t *testing.T, standardOnly bool) {
		r := newRig(t, onPath(standardOnly))
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- r.Serve(ctx, l) }()
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "OPTIONS * HTTP/1.1\r\nHost: assay.example\r\nX-Request-Id: star\r\nConnection: close\r\n\r\n")
		got, err := io.ReadAll(conn)
		if err != nil {
			t.Fatal(err)
		}
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if !strings.HasPrefix(string(got), "HTTP/1.1 404 ") || !strings.Contains(string(got), "X-Request-Id: star\r\n") ||
			!strings.Contains(r.Logs.String(), `"id":"star"`) {
			t.Errorf("response %q\nlog %s", got, r.Logs.String())
		}
	})
}

// failing is a listener that fails some times, as the kernel lets it when there are no descriptors left.
type failing struct {
	net.Listener

	times int
}

func (l *failing) Accept() (net.Conn, error) {
	if l.times > 0 {
		l.times--
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

// TestServe_WithoutDescriptors: connections wait until there are descriptors, and the log says so once, not each time.
func TestServe_WithoutDescriptors(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- r.Serve(ctx, &failing{l, 3}) }()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr().String()+"/livez", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	log := r.Logs.String()
	if response.StatusCode != http.StatusOK || strings.Count(log, "cannot accept connections") != 1 ||
		!strings.Contains(log, "too many open files") {
		t.Errorf("status %d, log %s", response.StatusCode, log)
	}
}

// onPath chooses the path of the connections.
func onPath(standardOnly bool) func(*apitest.Config) {
	return func(c *apitest.Config) { c.Web.StandardHTTP = standardOnly }
}

// compare compares a response of the network with the handler's. The network adds a date, a length and its own words on
// the connection.
func compare(t *testing.T, what string, want, got apitest.Reply) {
	t.Helper()
	for _, r := range []apitest.Reply{want, got} {
		for _, name := range []string{"Date", "Content-Length", "Connection", "RateLimit", "Ratelimit", "RateLimit-Policy"} {
			delete(r.Header, name)
		}
		if len(r.Header["Content-Type"]) == 0 {
			delete(r.Header, "Content-Type")
		}
	}
	if diff := cmp.Diff(want.Header, got.Header); diff != "" || want.StatusCode != got.StatusCode {
		t.Errorf("%s: %d over the network, %d from the handler; headers (-handler +network):\n%s", what, got.StatusCode, want.StatusCode, diff)
	}
	if want.Text != got.Text {
		t.Errorf("%s: %d bytes over the network, %d from the handler", what, len(got.Text), len(want.Text))
	}
}
