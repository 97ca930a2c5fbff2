package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func newSender(t testing.TB) *Sender {
	t.Helper()
	return &Sender{Allowed: prefixes("127.0.0.0/8"), Agent: "Assay-Webhook/test", Now: time.Now}
}

// The library of Standard Webhooks accepts what is sent, with the old and the new secret while both sign.
func TestSend_Signature(t *testing.T) {
	t.Parallel()
	current, old := NewSecret(), NewSecret()
	payload := []byte(`{"type":"alert.price_above","data":{"message":"ü"}}`)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != string(payload) {
			t.Errorf("received %q, %v", body, err)
		}
		for _, secret := range [][]byte{current, old} {
			judge, err := standardwebhooks.NewWebhook(SecretText(secret))
			if err != nil {
				t.Error(err)
				return
			}
			if err := judge.Verify(body, r.Header); err != nil {
				t.Error(err)
			}
			if judge.Verify(append(body, ' '), r.Header) == nil {
				t.Error("a changed body is accepted")
			}
		}
		other, err := standardwebhooks.NewWebhook(SecretText(NewSecret()))
		if err != nil || other.Verify(body, r.Header) == nil {
			t.Errorf("another secret is accepted (%v)", err)
		}
		if r.Method != http.MethodPost || r.UserAgent() != "Assay-Webhook/test" || r.Header.Get("Content-Type") != "application/json" ||
			r.Header.Get("webhook-id") != "msg_1" {
			t.Errorf("received %s with %v", r.Method, r.Header)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer receiver.Close()
	m := Message{ID: "msg_1", URL: receiver.URL, Payload: payload, Secrets: [][]byte{current, old}}
	if got := newSender(t).Send(t.Context(), m); got != (Result{Status: 204}) {
		t.Errorf("the outcome is %+v", got)
	}
}

func TestSend_Outcomes(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool // what a redirect leads to
	f := func(name string, serve http.HandlerFunc, want Result) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			receiver := httptest.NewServer(serve)
			defer receiver.Close()
			m := Message{ID: "msg_1", URL: receiver.URL, Payload: []byte(`{}`), Secrets: [][]byte{NewSecret()}}
			if got := newSender(t).Send(t.Context(), m); got != want {
				t.Errorf("the outcome is %+v, want %+v", got, want)
			}
			if reached.Load() {
				t.Error("a redirect was followed")
			}
		})
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	f("accepted", status(200), Result{Status: 200})
	f("refused", status(400), Result{Status: 400, Error: ErrStatus})
	f("gone", status(410), Result{Status: 410, Error: ErrStatus})
	f("broken", status(503), Result{Status: 503, Error: ErrStatus})
	f("redirected", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			reached.Store(true)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusFound)
	}, Result{Status: 302, Error: ErrRedirect})
	f("endless body", func(w http.ResponseWriter, r *http.Request) {
		for text := make([]byte, 1<<20); r.Context().Err() == nil; {
			if _, err := w.Write(text); err != nil {
				return
			}
		}
	}, Result{Status: 200})
	f("huge header", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 2*maxHeader))
	}, Result{Error: ErrConnect})
	f("ends in the middle", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("x"))
	}, Result{Status: 200, Error: ErrConnect})
	f("no HTTP", func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = c.Write([]byte("SSH-2.0-x\r\n"))
			_ = c.Close()
		}
	}, Result{Error: ErrConnect})
}

// A receiver that accepts the connection and says nothing, or sends its response byte by byte, ends with the attempt.
func TestSend_Slow(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client is gone
		if r.URL.Path == "/trickle" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}))
	t.Cleanup(receiver.Close)
	for _, path := range []string{"/silent", "/trickle"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			m := Message{ID: "msg_1", URL: receiver.URL + path, Payload: []byte(`{}`)}
			if got := newSender(t).Send(ctx, m); got.Error != ErrTimeout {
				t.Errorf("the outcome is %+v", got)
			}
		})
	}
}

// Nothing connects to an address that is not allowed, whatever name led there and however it is written.
func TestSend_NotAllowed(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			reached.Store(true)
			_ = c.Close()
		}
	}()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	// The rules for URLs alone would let a name and any port pass, as some network is allowed.
	s := &Sender{Allowed: prefixes("10.0.0.0/8"), Now: time.Now}
	for _, scheme := range []string{"http", "https"} {
		got := s.Send(t.Context(), Message{URL: scheme + "://localhost:" + port + "/", Payload: []byte(`{}`)})
		if got.Error != ErrAddress {
			t.Errorf("localhost by %s: %+v", scheme, got)
		}
	}
	for _, host := range []string{"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "0x7f.1", "127.1"} {
		got := s.Send(t.Context(), Message{URL: "https://" + host + ":" + port + "/", Payload: []byte(`{}`)})
		if got.Status != 0 || got.Error == "" {
			t.Errorf("%s: %+v", host, got)
		}
	}
	if reached.Load() {
		t.Error("a connection was made")
	}
}

func TestSend_TLS(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer receiver.Close()
	s := newSender(t)
	m := Message{ID: "msg_1", URL: receiver.URL, Payload: []byte(`{}`)}
	if got := s.Send(t.Context(), m); got.Error != ErrTLS {
		t.Errorf("an unknown certificate: %+v", got)
	}
	roots := x509.NewCertPool()
	roots.AddCert(receiver.Certificate())
	s.Roots = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if got := s.Send(t.Context(), m); got != (Result{Status: 200}) {
		t.Errorf("a known certificate: %+v", got)
	}
}
