package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// ACMEOptions say whom to ask for certificates, and for what.
type ACMEOptions struct {
	Domains   []string // in lower case; no others ever
	Email     string   // where the authority writes to; may be empty
	Directory string   // URL; empty for Let's Encrypt
	CA        string   // file with the roots that the authority's own server is certified by; empty for the usual ones
	Folder    string   // keeps the account and the certificates
	Agent     string   // this program, as the authority gets to know it
	Redirect  bool     // Challenges is served on port 80, so the authority may check domains there too
}

// issuer gets certificates and keeps them current. Clients wait for none of that: a handshake gets an existing
// certificate or fails. So no flood of handshakes makes the authority refuse us.
type issuer struct {
	manager *autocert.Manager
	domains []string
	now     func() time.Time
	log     *slog.Logger

	mu    sync.RWMutex
	certs map[string]*tls.Certificate // guarded by mu
}

func newIssuer(options ACMEOptions, now func() time.Time, log *slog.Logger) (*issuer, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if options.CA != "" {
		text, err := readSmall(options.CA)
		if err != nil {
			return nil, fmt.Errorf("--acme-ca: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--acme-ca %s: %w", options.CA, errNoCertificate)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	const private = 0o700
	if err := os.MkdirAll(options.Folder, private); err != nil {
		return nil, fmt.Errorf("create the folder of certificates: %w", err)
	}
	i := &issuer{domains: options.Domains, now: now, log: log, certs: map[string]*tls.Certificate{}}
	i.manager = &autocert.Manager{
		Prompt: autocert.AcceptTOS, Email: options.Email,
		Cache: autocert.DirCache(options.Folder), HostPolicy: autocert.HostWhitelist(options.Domains...),
		Client: &acme.Client{
			DirectoryURL: options.Directory, UserAgent: options.Agent,
			HTTPClient: &http.Client{Transport: transport, Timeout: requestTimeout},
		},
	}
	if options.Redirect {
		_ = i.manager.HTTPHandler(nil) // before the first certificate is asked for: from now on it offers HTTP-01
	}
	return i, nil
}

// How long the authority may take to respond, and how long to wait after it has refused a certificate: at first as long
// as autocert remembers that, at last so long that the limits of Let's Encrypt for failures (five an hour) are kept.
const (
	requestTimeout = time.Minute
	firstRetry     = 70 * time.Second
	longestRetry   = time.Hour
)

// lookEvery is how often autocert is asked whether it has renewed a certificate.
const lookEvery = time.Minute

// run keeps the certificates current until the context ends.
func (i *issuer) run(ctx context.Context) {
	var all sync.WaitGroup
	for _, domain := range i.domains {
		all.Go(func() { i.keep(ctx, domain) })
	}
	all.Wait()
}

// keep keeps the certificate of a domain current.
func (i *issuer) keep(ctx context.Context, domain string) {
	retry := firstRetry
	for {
		wait := lookEvery
		if err := i.obtain(domain); err != nil {
			wait = retry
			retry = min(2*retry, longestRetry)
			i.log.Error("there is no certificate for a domain", "domain", domain, "error", err, "again_in", wait.String())
		} else {
			retry = firstRetry
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// obtain gets the certificate of a domain: from the folder, from the authority, or the one that autocert has renewed.
func (i *issuer) obtain(domain string) error {
	cert, err := i.manager.GetCertificate(&tls.ClientHelloInfo{
		ServerName: domain, SupportedVersions: []uint16{tls.VersionTLS13},
		SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256}, CipherSuites: cipherSuites,
	})
	if err != nil {
		return err
	}
	i.mu.Lock()
	before := i.certs[domain]
	i.certs[domain] = cert
	i.mu.Unlock()
	if before == nil || !before.Leaf.Equal(cert.Leaf) {
		i.log.Info("there is a certificate for a domain", "domain", domain, "expires", stamp(cert.Leaf.NotAfter))
	}
	return nil
}

// isChallenge reports whether a client is an authority that checks a domain. A client that can also speak something
// else is none.
func isChallenge(hello *tls.ClientHelloInfo) bool {
	return len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == acme.ALPNProto
}

// certificate is the one for a client.
func (i *issuer) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if isChallenge(hello) {
		return i.manager.GetCertificate(hello)
	}
	name := normalize(hello.ServerName)
	if name == "" { // a client that knows only the address, such as a health check
		name = i.domains[0]
	}
	if !i.serves(name) {
		return nil, errUnknownDomain
	}
	i.mu.RLock()
	defer i.mu.RUnlock()
	if cert := i.certs[name]; cert != nil {
		return cert, nil
	}
	return nil, fmt.Errorf("there is no certificate for %s yet", name)
}

var errUnknownDomain = errors.New("the client wants a domain that is not in --acme-domain")

// normalize is a host as the list of domains has it.
func normalize(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

func (i *issuer) serves(host string) bool { return slices.Contains(i.domains, normalize(host)) }

// expiry is the first of the certificates; the zero time if one is missing.
func (i *issuer) expiry() (first time.Time) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for _, cert := range i.certs {
		if first.IsZero() || cert.Leaf.NotAfter.Before(first) {
			first = cert.Leaf.NotAfter
		}
	}
	return first
}
