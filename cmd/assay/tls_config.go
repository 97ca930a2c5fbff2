package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/certs"
	"github.com/assaydata/assay/internal/web"
)

// tlsConfig is how the server ends TLS itself. Without it a proxy has to.
type tlsConfig struct {
	cert, key    string // files
	clientCA     string // file; empty: clients need no certificate
	redirectAddr string // empty: none
	domains      []string
	email        string
	directory    string // URL; empty: Let's Encrypt
	directoryCA  string // file; empty: the usual roots
}

func (c *tlsConfig) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.cert, "tls-cert", "",
		"`FILE` with the certificate to serve HTTPS with, and those between it and the root (PEM)")
	flags.StringVar(&c.key, "tls-key", "", "`FILE` with the key of --tls-cert (PEM)")
	flags.StringVar(&c.clientCA, "client-ca", "",
		"`FILE` with authorities (PEM): only clients with a certificate of one get through, health checks included")
	parsedFlag(flags, "redirect-addr", textFlag, "",
		"`HOST:PORT` in the clear, such as 0.0.0.0:80, that sends browsers to HTTPS and responds to the ACME authority",
		c.setRedirectAddr)
	parsedFlag(flags, "acme-domain", listFlag, "",
		"`DOMAIN,…` to get certificates for automatically; with it you agree to the terms of the authority", c.setDomains)
	parsedFlag(flags, "acme-email", textFlag, "", "`EMAIL` under which the ACME authority reaches you", c.setEmail)
	addAddressFlag(flags, &c.directory, "acme-directory", "`URL` of the ACME authority (default: Let's Encrypt)",
		checkDirectory)
	flags.StringVar(&c.directoryCA, "acme-ca", "",
		"`FILE` with the root (PEM) that certifies the server of --acme-directory, if it is not a public one")
}

func (c *tlsConfig) setRedirectAddr(text string) error {
	if text == "" {
		c.redirectAddr = ""
		return nil
	}
	if err := checkHostPort(text, "0.0.0.0:80"); err != nil {
		return err
	}
	c.redirectAddr = text
	return nil
}

func (c *tlsConfig) setDomains(text string) error {
	c.domains = nil
	for _, domain := range splitList(strings.ToLower(text)) {
		if !isDomain.MatchString(domain) {
			return errors.New("must be domains such as data.example.com, with commas between them and without wildcards")
		}
		c.domains = append(c.domains, domain)
	}
	return nil
}

func (c *tlsConfig) setEmail(text string) error {
	if address, err := mail.ParseAddress(text); text != "" && (err != nil || address.Address != text) {
		return errors.New("must be an email address such as ada@example.com")
	}
	c.email = text
	return nil
}

func checkDirectory(text string) error {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "https" || parsed.Host == "" || parsed.User != nil {
		return errors.New("must be an address that starts with https://")
	}
	return nil
}

// enabled reports whether the server ends TLS itself.
func (c *tlsConfig) enabled() bool { return c.cert != "" || c.key != "" || len(c.domains) > 0 }

// scheme is the one of the server's address.
func (c *tlsConfig) scheme() string {
	if c.enabled() {
		return "https"
	}
	return "http"
}

// check refuses settings that are incomplete or contradict each other.
func (c *tlsConfig) check() error {
	files, automatic := c.cert != "" || c.key != "", len(c.domains) > 0
	switch {
	case c.cert == "" && c.key != "":
		return usagef("--tls-key needs --tls-cert, the file with its certificate")
	case c.cert != "" && c.key == "":
		return usagef("--tls-cert needs --tls-key, the file with its key")
	case files && automatic:
		return usagef("--tls-cert and --acme-domain exclude each other: certificates come from files or automatically")
	}
	for _, flag := range []struct {
		name  string
		given bool
		needs bool
		which string
	}{
		{"client-ca", c.clientCA != "", c.enabled(), "--tls-cert or --acme-domain"},
		{"redirect-addr", c.redirectAddr != "", c.enabled(), "--tls-cert or --acme-domain"},
		{"acme-email", c.email != "", automatic, "--acme-domain"},
		{"acme-directory", c.directory != "", automatic, "--acme-domain"},
		{"acme-ca", c.directoryCA != "", automatic, "--acme-domain"},
	} {
		if flag.given && !flag.needs {
			return usagef("--%s needs %s", flag.name, flag.which)
		}
	}
	return nil
}

// acmeFolder keeps what authorities have issued, next to the database. Each authority has a folder of its own there, so
// that the certificates of one for tests are not taken for those of another.
const acmeFolder = "acme"

func (c *tlsConfig) acmeOptions(location databaseLocation) *certs.ACMEOptions {
	if len(c.domains) == 0 {
		return nil
	}
	authority := "letsencrypt"
	if parsed, err := url.Parse(c.directory); err == nil && parsed.Host != "" {
		authority = strings.ReplaceAll(parsed.Host, ":", "_")
	}
	return &certs.ACMEOptions{
		Domains: c.domains, Email: c.email, Directory: c.directory, CA: c.directoryCA,
		Folder: filepath.Join(location.folder(), acmeFolder, authority), Agent: "assay/" + assay.Release(),
		Redirect: c.redirectAddr != "",
	}
}

// openCertificates reads the certificates, or prepares to get them.
func (v *service) openCertificates() (err error) {
	c := &v.config.tls
	if err := c.check(); err != nil || !c.enabled() {
		return err
	}
	v.certs, err = certs.New(certs.Options{
		CertFile: c.cert, KeyFile: c.key, ClientCA: c.clientCA, ACME: c.acmeOptions(v.config.location),
		Now: v.now, Log: v.log,
	})
	if err != nil {
		return usagef("%w", err)
	}
	v.certs.WarnInvalid()
	return nil
}

// listenRedirect takes the port of --redirect-addr.
func (v *service) listenRedirect(ctx context.Context) (err error) {
	addr := v.config.tls.redirectAddr
	if addr == "" {
		return nil
	}
	if v.redirect, err = (&net.ListenConfig{}).Listen(ctx, "tcp", addr); err != nil {
		return fmt.Errorf("listen on --redirect-addr %s: %w", addr, err)
	}
	v.log.Info("requests without TLS are redirected", "address", v.redirect.Addr().String())
	return nil
}

// serveHTTP serves the listener, with TLS if there are certificates.
func (n *node) serveHTTP(ctx context.Context) error {
	if n.certs == nil {
		return n.server.Serve(ctx, n.listener)
	}
	return n.server.ServeTLS(ctx, n.listener, n.certs.Config())
}

// serveRedirect serves --redirect-addr until the context ends.
func (n *node) serveRedirect(ctx context.Context) error {
	if n.redirect == nil {
		return nil
	}
	_, port, _ := net.SplitHostPort(n.listener.Addr().String()) // a listener's address has a port
	return n.server.ServeRedirect(ctx, n.redirect, web.HTTPSRedirect{
		Serves: n.certs.Serves, Port: port, Challenges: n.certs.Challenges,
	})
}

// keepCertificates keeps the certificates current until the context ends.
func (n *node) keepCertificates(ctx context.Context) error {
	if n.certs == nil {
		return nil
	}
	return n.certs.Run(ctx)
}
