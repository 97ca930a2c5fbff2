// Package webhook sends messages to addresses that users have chosen, as Standard Webhooks describes it: signed, with
// an id that stays the same in every attempt.
//
// Users choose where the server connects to, so the sender must not reach what only the server can reach. It connects
// to public addresses alone, unless the operator allows a network. The address is checked when the connection is made,
// after the name was resolved, in every attempt: a name that resolves to another address a moment later changes
// nothing. Redirects are not followed, proxies of the environment are not used, and of a response only its status is
// kept.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Timeout bounds an attempt, from the look-up of the name to the end of the response.
const Timeout = 10 * time.Second

// Limits of a response.
const (
	maxBody   = 64 << 10 // bytes that are read; a larger one is no failure
	maxHeader = 32 << 10
)

// Message is one message to one address.
type Message struct {
	ID      string
	URL     string
	Payload []byte
	Secrets [][]byte // each signs the message
}

// Result is the outcome of an attempt.
type Result struct {
	Status int    // of the response; 0: there was none
	Error  string // empty: the message was accepted. It says nothing about what is at the address
}

// The errors of an attempt. They are words for the owner of the webhook, and tell nothing of the server's network.
const (
	ErrAddress  = "address_not_allowed"
	ErrResolve  = "name_not_resolved"
	ErrTimeout  = "timeout"
	ErrTLS      = "tls_failed"
	ErrConnect  = "connection_failed"
	ErrRedirect = "redirect"
	ErrStatus   = "unsuccessful_status"
	ErrURL      = "url_not_allowed"
)

// Sender sends messages. It is safe for concurrent use.
type Sender struct {
	Allowed []netip.Prefix // networks that may be reached although they are not public, also without TLS
	Agent   string         // User-Agent
	Now     func() time.Time
	Roots   *tls.Config // for tests; nil: the system's certificates
}

// Send makes one attempt.
func (s *Sender) Send(ctx context.Context, m Message) Result {
	if s.CheckURL(m.URL) != nil { // the rules may be stricter than when it was entered
		return Result{Error: ErrURL}
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Payload))
	if err != nil {
		return Result{Error: ErrURL}
	}
	now := s.Now()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", s.Agent)
	request.Header["webhook-id"] = []string{m.ID}
	request.Header["webhook-timestamp"] = []string{strconv.FormatInt(now.Unix(), 10)}
	request.Header["webhook-signature"] = []string{Sign(m.Secrets, m.ID, now, m.Payload)}
	transport := s.transport(request.URL)
	response, err := transport.RoundTrip(request)
	if err != nil {
		return Result{Error: name(err)}
	}
	// What the connection is still sending after that much is not waited for.
	_, err = io.CopyN(io.Discard, response.Body, maxBody)
	_ = response.Body.Close()
	return outcome(response.StatusCode, err)
}

// outcome judges a response whose body was read.
func outcome(status int, err error) Result {
	switch {
	case status >= 300 && status < 400:
		return Result{Status: status, Error: ErrRedirect}
	case status < 200 || status >= 300:
		return Result{Status: status, Error: ErrStatus}
	case err != nil && !errors.Is(err, io.EOF) && errors.Is(err, context.DeadlineExceeded):
		return Result{Status: status, Error: ErrTimeout}
	case err != nil && !errors.Is(err, io.EOF):
		return Result{Status: status, Error: ErrConnect}
	}
	return Result{Status: status}
}

// transport connects once: the name is resolved again for each attempt. Without TLS it reaches allowed networks only.
func (s *Sender) transport(u *url.URL) *http.Transport {
	dialer := &net.Dialer{Timeout: Timeout, Control: func(_, address string, _ syscall.RawConn) error {
		return s.checkAddress(address, u.Scheme == "https")
	}}
	t := &http.Transport{
		DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true,
		MaxResponseHeaderBytes: maxHeader, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		Protocols: new(http.Protocols),
	}
	if s.Roots != nil {
		t.TLSClientConfig = s.Roots.Clone()
	}
	t.Protocols.SetHTTP1(true)
	return t
}

// errAddress ends a connection to an address that must not be reached.
var errAddress = errors.New("the address is not allowed")

// name is the word for an error. Its text could tell of the server's network, and would repeat the URL.
func name(err error) string {
	var resolving *net.DNSError
	var netError net.Error
	switch {
	case errors.Is(err, errAddress):
		return ErrAddress
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return ErrTimeout
	case errors.As(err, &resolving):
		return ErrResolve
	case errors.As(err, &netError) && netError.Timeout():
		return ErrTimeout
	case isTLS(err):
		return ErrTLS
	}
	return ErrConnect
}

func isTLS(err error) bool {
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &certificate)
}

// The form of secrets: what Standard Webhooks calls whsec, of 32 random bytes.
const (
	secretPrefix = "whsec_"
	secretBytes  = 32
)

// NewSecret draws a secret.
func NewSecret() []byte {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails
	return secret
}

// SecretText is a secret as its owner enters it into a program that verifies signatures.
func SecretText(secret []byte) string {
	return secretPrefix + base64.StdEncoding.EncodeToString(secret)
}

// Sign makes the header webhook-signature: one signature for each secret.
func Sign(secrets [][]byte, id string, at time.Time, payload []byte) string {
	var signatures []string
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(payload)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(signatures, " ")
}
