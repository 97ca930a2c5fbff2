package anchor_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/digitorus/timestamp"

	"github.com/assaydata/assay/internal/anchor"
	"github.com/assaydata/assay/internal/anchortest"
)

const text = "assay/test\n12\nAQIDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"

var now = time.Date(2026, 3, 4, 0, 1, 0, 0, time.UTC)

func newAuthority(change ...func(*x509.Certificate)) *anchortest.Authority {
	a := anchortest.New(change...)
	a.Now = func() time.Time { return now }
	return a
}

// wantError wants an error that contains a text.
func wantError(t *testing.T, what string, err error, want string) {
	t.Helper()
	if !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("%s: %v, want an error with %q", what, err, want)
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newAuthority())
	defer server.Close()
	token, err := anchor.Request(t.Context(), server.URL, text, now.Add(anchor.MaxSkew))
	if err != nil {
		t.Fatal(err)
	}
	if token.Time != now.UnixMilli() || token.Signer != "CN=Authority of the tests" {
		t.Errorf("the token is of %d, signed by %s", token.Time, token.Signer)
	}
	opened, err := anchor.Open(token.DER, text)
	if err != nil || opened.Time != token.Time || opened.Signer != token.Signer || !bytes.Equal(opened.DER, token.DER) {
		t.Errorf("opened later: %+v, %v", opened, err)
	}
	_, err = anchor.Open(token.DER, strings.Replace(text, "12", "13", 1))
	wantError(t, "another text", err, "the timestamp is of something else")
}

// Nothing of what a hostile authority sends becomes a token.
func TestRequest_HostileAuthority(t *testing.T) {
	t.Parallel()
	honest := newAuthority()
	f := func(what string, respond func(query *timestamp.Request) (status int, body []byte), want string) {
		t.Helper()
		server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
			body, _ := io.ReadAll(in.Body)
			query, err := timestamp.ParseRequest(body)
			if err != nil || !query.Certificates {
				t.Errorf("%s: the request is %+v, %v", what, query, err)
				return
			}
			status, reply := respond(query)
			out.WriteHeader(status)
			_, _ = out.Write(reply)
		}))
		defer server.Close()
		token, err := anchor.Request(t.Context(), server.URL, text, now)
		wantError(t, what, err, want)
		if token.DER != nil {
			t.Errorf("%s: there is a token", what)
		}
	}
	sent := func(body []byte) func(*timestamp.Request) (int, []byte) {
		return func(*timestamp.Request) (int, []byte) { return http.StatusOK, body }
	}
	changed := func(
		a *anchortest.Authority, change func(*timestamp.Timestamp),
	) func(*timestamp.Request) (int, []byte) {
		return func(query *timestamp.Request) (int, []byte) {
			stamp := a.Stamp(text)
			stamp.Nonce = query.Nonce
			change(stamp)
			return http.StatusOK, a.Reply(stamp)
		}
	}
	same := func(*timestamp.Timestamp) {}

	f("an error", func(*timestamp.Request) (int, []byte) { return http.StatusTeapot, []byte("no") }, "418 I'm a teapot: no")
	f("nothing", sent(nil), "not a value in DER")
	f("garbage", sent([]byte("<html>")), "not a value in DER")
	f("too much", sent(bytes.Repeat([]byte{'x'}, 1<<20)), "the response has more than")
	f("an endless value", sent([]byte{0x30, 0x80, 0x30, 0x80}), "not a value in DER")
	f("a deep value", sent(nested(1000)), "nested more than")
	refused, err := timestamp.CreateErrorResponse(timestamp.Rejection, timestamp.SystemFailure)
	if err != nil {
		t.Fatal(err)
	}
	f("a rejection", sent(refused), "the request is rejected")
	f("another hash", changed(honest, func(s *timestamp.Timestamp) { s.HashedMessage[7] ^= 1 }), "of something else")
	f("another algorithm", changed(honest, func(s *timestamp.Timestamp) { s.HashAlgorithm = crypto.SHA512 }),
		"of something else")
	f("an old token", sent(honest.Reply(honest.Stamp(text))), "is to another request")
	f("another nonce", changed(honest, func(s *timestamp.Timestamp) { s.Nonce = big.NewInt(5) }), "is to another request")
	f("the past", changed(honest, func(s *timestamp.Timestamp) { s.Time = now.Add(-time.Hour) }),
		"is of 2026-03-03T23:01:00.000Z, and this node's clock shows 2026-03-04T00:01:00.000Z")
	f("the future", changed(honest, func(s *timestamp.Timestamp) { s.Time = now.Add(time.Hour) }), "one of them is wrong")
	f("no certificate", changed(honest, func(s *timestamp.Timestamp) { s.AddTSACertificate = false }),
		"must have one signature and its certificate")
	web := newAuthority(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
	f("another purpose", changed(web, same), "a key that is not for timestamps")
	expired := newAuthority(func(c *x509.Certificate) { c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now() })
	f("a certificate of another time", changed(expired, same), "response of")
	f("a changed signature", func(query *timestamp.Request) (int, []byte) {
		_, reply := changed(honest, same)(query)
		reply[len(reply)-1] ^= 1
		return http.StatusOK, reply
	}, "response of")
}

// nested is a value in a value, and so on.
func nested(depth int) (der []byte) {
	for range depth {
		header := []byte{0x30, byte(len(der))}
		if n := len(der); n > 127 {
			header = []byte{0x30, 0x82, byte(n >> 8), byte(n)}
			if n < 256 {
				header = []byte{0x30, 0x81, byte(n)}
			}
		}
		der = append(header, der...)
	}
	return der
}

// An authority that does not end its response takes no longer than the context lasts.
func TestRequest_Endless(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		_, _ = out.Write([]byte{0x30})
		_ = http.NewResponseController(out).Flush()
		cancel()
		<-in.Context().Done()
	}))
	defer server.Close()
	_, err := anchor.Request(ctx, server.URL, text, now)
	wantError(t, "a response without an end", err, context.Canceled.Error())
}

// No token with a changed byte is one for another text or of another time.
func TestOpen_AnyByte(t *testing.T) {
	t.Parallel()
	a := newAuthority()
	token := a.Token(a.Stamp(text))
	refused := 0
	for i := range token {
		changed := bytes.Clone(token)
		changed[i] ^= 1 << (i % 8)
		opened, err := anchor.Open(changed, text)
		if err != nil {
			refused++
		} else if opened.Time != now.UnixMilli() {
			t.Errorf("with byte %d changed, the token is of %d", i, opened.Time)
		}
	}
	if refused < len(token)/2 {
		t.Errorf("%d of %d changes were noticed", refused, len(token))
	}
}

// The name of an authority contains no commands for a terminal.
func TestOpen_Signer(t *testing.T) {
	t.Parallel()
	a := newAuthority(func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: "a\x1b[2Jb"} })
	if token, err := anchor.Open(a.Token(a.Stamp(text)), text); err != nil || token.Signer != "CN=a\ufffd[2Jb" {
		t.Errorf("signed by %q, %v", token.Signer, err)
	}
}

func FuzzOpen(f *testing.F) {
	a := newAuthority()
	f.Add(a.Token(a.Stamp(text)))
	f.Add(nested(40))
	f.Add([]byte{0x30, 0x80, 0, 0})
	f.Fuzz(func(t *testing.T, der []byte) {
		if token, err := anchor.Open(der, text); err == nil && !bytes.Equal(token.DER, der) {
			t.Errorf("the token is not what was opened")
		}
	})
}
