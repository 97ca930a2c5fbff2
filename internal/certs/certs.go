// Package certs has the certificates of a server that ends TLS itself: from files, which are read again when they
// change, or from an authority that speaks ACME. It decides what TLS is spoken, and knows nothing of what is served.
package certs

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
)

// Options say where the certificates come from: either from files or from an authority.
type Options struct {
	CertFile, KeyFile string // PEM: the certificate, with those between it and the root, and its key
	ClientCA          string // file of authorities: only clients with a certificate of one get through; empty: all do

	ACME *ACMEOptions // nil for certificates from files

	Now func() time.Time
	Log *slog.Logger
}

// Server has the certificates of a server.
type Server struct {
	now     func() time.Time
	log     *slog.Logger
	config  *tls.Config
	pair    *pairFiles // nil with an authority
	clients *clientCA  // nil without
	issuer  *issuer    // nil with files
}

// cipherSuites are those of TLS 1.2: with forward secrecy, and with nothing of CBC. Those of TLS 1.3 are all so.
var cipherSuites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// New reads the files, or prepares to ask the authority, which Run does.
func New(options Options) (*Server, error) {
	s := &Server{now: options.Now, log: options.Log}
	s.config = &tls.Config{
		MinVersion: tls.VersionTLS12, CipherSuites: cipherSuites, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: s.certificate,
	}
	var err error
	if options.ACME != nil {
		s.config.NextProtos = append(s.config.NextProtos, acme.ALPNProto)
		s.issuer, err = newIssuer(*options.ACME, options.Now, options.Log)
	} else {
		s.pair, err = newPairFiles(options.CertFile, options.KeyFile)
	}
	if err != nil {
		return nil, err
	}
	if options.ClientCA != "" {
		s.config.SessionTicketsDisabled = true // a client that is certified no more would resume its session
		s.clients = &clientCA{watched: watch(options.ClientCA), base: s.config.Clone()}
		if s.clients.own, err = newOwn(); err != nil {
			return nil, err
		}
		if err := s.clients.load(); err != nil {
			return nil, err
		}
		s.config.GetConfigForClient = s.configFor
	}
	return s, nil
}

// Config is what a listener needs.
func (s *Server) Config() *tls.Config { return s.config }

// configFor is the configuration for a client where clients need a certificate. An authority that checks a domain has
// none, and gets no further than the handshake.
func (s *Server) configFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if s.issuer != nil && isChallenge(hello) {
		return s.clients.base, nil
	}
	return s.clients.config.Load(), nil
}

func (s *Server) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if s.issuer != nil {
		return s.issuer.certificate(hello)
	}
	return s.pair.current.Load(), nil
}

// Expiry is when the first of the certificates expires; the zero time if there is none yet.
func (s *Server) Expiry() time.Time {
	if s.issuer != nil {
		return s.issuer.expiry()
	}
	return s.pair.current.Load().Leaf.NotAfter
}

// Serves reports whether there is a certificate for a host, or will be.
func (s *Server) Serves(host string) bool {
	if s.issuer != nil {
		return s.issuer.serves(host)
	}
	return s.pair.current.Load().Leaf.VerifyHostname(host) == nil
}

// Challenges responds to the requests with which an authority checks a domain, and leaves the others to next.
func (s *Server) Challenges(next http.Handler) http.Handler {
	if s.issuer == nil {
		return next
	}
	challenges := s.issuer.manager.HTTPHandler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, challengePath) {
			next.ServeHTTP(w, r)
			return
		}
		if host, _, err := net.SplitHostPort(r.Host); err == nil { // the authority may name the port, and autocert knows none
			r.Host = host
		}
		challenges.ServeHTTP(w, r)
	})
}

// challengePath begins the paths of requests with which an authority checks a domain (RFC 8555).
const challengePath = "/.well-known/acme-challenge/"

// WarnInvalid logs that the certificate is not valid now: clients are going to refuse it.
func (s *Server) WarnInvalid() {
	if s.pair == nil {
		return
	}
	leaf := s.pair.current.Load().Leaf
	switch now := s.now(); {
	case now.After(leaf.NotAfter):
		s.log.Warn("the certificate has expired: clients refuse it", "file", s.pair.names[0], "expired", stamp(leaf.NotAfter))
	case now.Before(leaf.NotBefore):
		s.log.Warn("the certificate is not valid yet: clients refuse it; is the clock right?",
			"file", s.pair.names[0], "valid_from", stamp(leaf.NotBefore))
	}
}

// stamp writes an instant as the other log lines do.
func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// pollEvery is how often the files are looked at. Looking takes some microseconds, and unlike a notice of the system it
// works for every way of replacing a file, a link above it included.
const pollEvery = 2 * time.Second

// Run reads the files again when they change, or keeps the certificates of the authority current, until the context
// ends.
func (s *Server) Run(ctx context.Context) error {
	if s.issuer != nil {
		go s.issuer.run(ctx)
	}
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			s.poll()
		}
	}
}

// poll reads the files that have changed.
func (s *Server) poll() {
	if s.pair != nil && s.pair.changed() {
		tell, err := s.pair.retry(s.pair.load)
		s.report(tell, err, "the certificate has changed", "expires")
	}
	if s.clients != nil && s.clients.changed() {
		tell, err := s.clients.retry(s.clients.load)
		s.report(tell, err, "the authorities of --client-ca have changed", "")
	}
}

// Reload reads the files now.
func (s *Server) Reload() {
	if s.pair != nil {
		s.report(true, s.pair.load(), "the certificate was read again", "expires")
	}
	if s.clients != nil {
		s.report(true, s.clients.load(), "the authorities of --client-ca were read again", "")
	}
}

// report logs what became of reading files, if that is to be told.
func (s *Server) report(tell bool, err error, what, expires string) {
	switch {
	case !tell:
	case err != nil:
		s.log.Error("a file for TLS cannot be used: what was read before stays in use", "error", err)
	case expires != "":
		s.log.Info(what, expires, stamp(s.Expiry()))
		s.WarnInvalid()
	default:
		s.log.Info(what)
	}
}

// Own is the certificate with which this process gets through as its own client; none if clients need none. Its key is
// in the memory of the process and nowhere else.
func (s *Server) Own() []tls.Certificate {
	if s.clients == nil {
		return nil
	}
	return []tls.Certificate{s.clients.own}
}

func newOwn() (own tls.Certificate, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return own, err
	}
	const years = 100 // the process does not last as long
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "assay itself"},
		NotBefore: now.AddDate(-years, 0, 0), NotAfter: now.AddDate(years, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return own, err
	}
	own = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	own.Leaf, err = x509.ParseCertificate(der)
	return own, err
}

// clientCA is what a client has to be certified by.
type clientCA struct {
	watched
	base   *tls.Config // without it
	own    tls.Certificate
	config atomic.Pointer[tls.Config]
}

// load reads the file.
func (c *clientCA) load() error {
	name := c.names[0]
	text, err := readSmall(name)
	if err != nil {
		return fmt.Errorf("--client-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return fmt.Errorf("--client-ca %s: %w", name, errNoCertificate)
	}
	pool.AddCert(c.own.Leaf)
	config := c.base.Clone()
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, pool
	c.config.Store(config)
	return nil
}

var errNoCertificate = errors.New(
	"the file has no certificate in PEM form, which begins with -----BEGIN CERTIFICATE-----")
