package main

import (
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/console"
	"github.com/assaydata/assay/internal/factor"
	"github.com/assaydata/assay/internal/oidc"
)

// signInConfig is how browsers reach the server and how people sign in.
type signInConfig struct {
	publicURL  string // scheme and host
	issuer     string
	clientID   string
	secretFile string
	name       string
	domains    []string // of email addresses

	secretKeyFile string // empty: next to the database
	requireFactor string // account.Requirement
}

func (c *signInConfig) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	parsedFlag(flags, "public-url", textFlag, "",
		"`URL` of this server in browsers, such as https://data.example.com (required with --oidc-issuer)",
		func(text string) (err error) {
			c.publicURL, err = parseOrigin(text)
			return err
		})
	parsedFlag(flags, "oidc-issuer", textFlag, "", "`URL` of the OpenID Connect provider to sign in through", c.setIssuer)
	flags.StringVar(&c.clientID, "oidc-client-id", "", "`ID` of this server at the provider")
	flags.StringVar(&c.secretFile, "oidc-client-secret-file", "", "`FILE` with the client secret of this server")
	flags.StringVar(&c.name, "oidc-name", "single sign-on", "`NAME` of the provider on the sign-in page")
	parsedFlag(flags, "oidc-email-domains", listFlag, "",
		"`DOMAIN,…` of the email addresses that may sign in through the provider (default: all)", c.setDomains)
	flags.StringVar(&c.secretKeyFile, "secret-key-file", "",
		"`FILE` with the secret that protects second factors (default: "+secretKeyFile+" in the folder of the database)")
	c.requireFactor = string(account.RequireNone)
	addChoiceFlag(cmd, &c.requireFactor, "require-second-factor",
		"`WHO` must have a second factor to do anything else: none, owners (of organizations) or all",
		string(account.RequireNone), string(account.RequireOwners), string(account.RequireAll))
}

// checkSecretKey returns an error if the file of the secret key cannot be used, so that it shows at once, also on a
// node that waits for its database.
func (c *signInConfig) checkSecretKey(location databaseLocation) error {
	if c.secretKeyFile == "" {
		return nil
	}
	_, err := readSecretKey(c.secretKeyFile, location)
	return err
}

// origin is the address to which passkeys belong; empty if there is none.
func (v *service) origin() string {
	if public := v.config.signIn.publicURL; public != "" {
		return public
	}
	host, port, _ := net.SplitHostPort(v.listener.Addr().String()) // a listener's address has a port
	scheme, domains := v.config.tls.scheme(), v.config.tls.domains
	switch {
	case len(domains) > 0 && port == "443":
		return scheme + "://" + domains[0]
	case len(domains) > 0:
		return scheme + "://" + domains[0] + ":" + port
	case isLoopback(host):
		return scheme + "://localhost:" + port // browsers have passkeys there, and not for 127.0.0.1
	}
	return ""
}

// protect gives the accounts their secret key, the passkeys of an origin and the requirement of second factors.
func (c *signInConfig) protect(
	accounts *account.Service, location databaseLocation, origin string, log *slog.Logger,
) (err error) {
	if accounts.Secret, err = readSecretKey(c.secretKeyFile, location); err != nil {
		return err
	}
	accounts.Require = account.Requirement(c.requireFactor)
	if accounts.Secret == nil {
		if accounts.Require != account.RequireNone {
			return usagef("--secret-key-file is required with --require-second-factor on PostgreSQL")
		}
		log.Warn("second factors are off: give every node the same --secret-key-file")
		return nil
	}
	if origin == "" {
		return nil
	}
	if accounts.Passkeys, err = factor.NewSite(origin); err != nil {
		log.Warn("passkeys are off", "error", err)
	}
	return nil
}

func (c *signInConfig) setIssuer(text string) error {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || !secureEnough(parsed) {
		return errors.New("must be an address that starts with https://")
	}
	c.issuer = text
	return nil
}

func (c *signInConfig) setDomains(text string) error {
	c.domains = nil
	for domain := range strings.SplitSeq(text, ",") {
		domain = strings.ToLower(strings.TrimSpace(domain))
		if !isDomain.MatchString(domain) {
			return errors.New("must be domains such as example.com, with commas between them")
		}
		c.domains = append(c.domains, domain)
	}
	return nil
}

// isDomain matches a domain of email addresses, an international one in its ASCII form.
var isDomain = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$`)

// secureEnough reports whether nothing secret can be read on the way to an address: HTTPS, or a server on this machine.
func secureEnough(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

// parseOrigin reads an address of nothing but scheme and host.
func parseOrigin(s string) (string, error) {
	parsed, err := url.Parse(s)
	web := err == nil && (parsed.Scheme == "https" || parsed.Scheme == "http") && parsed.Host != ""
	if !web || parsed.User != nil || strings.Trim(parsed.Path, "/")+parsed.RawQuery+parsed.Fragment != "" {
		return "", errors.New("must be https:// or http:// and a host, without a path")
	}
	return parsed.Scheme + "://" + parsed.Host, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// provider makes the provider to sign in through, or nil if none is configured.
func (c *signInConfig) provider(now func() time.Time, log *slog.Logger) (*oidc.Provider, error) {
	if c.issuer == "" && c.clientID == "" && c.secretFile == "" && c.domains == nil {
		return nil, nil //nolint:nilnil // no provider is not an error
	}
	for _, needed := range []struct{ flag, value string }{
		{"oidc-issuer", c.issuer},
		{"oidc-client-id", c.clientID},
		{"oidc-client-secret-file", c.secretFile},
		{"public-url", c.publicURL},
	} {
		if needed.value == "" {
			return nil, usagef("--%s is required to sign in through a provider", needed.flag)
		}
	}
	secret, err := os.ReadFile(c.secretFile)
	if err != nil {
		return nil, usagef("invalid value for --oidc-client-secret-file: %w", err)
	}
	text := strings.TrimSpace(string(secret))
	if text == "" {
		return nil, usagef("invalid value %q for --oidc-client-secret-file: the file is empty", c.secretFile)
	}
	return oidc.New(oidc.Config{
		Issuer: c.issuer, ClientID: c.clientID, ClientSecret: text, RedirectURL: c.publicURL + console.OIDCCallback,
		EmailDomains: c.domains, Now: now, Log: log,
	}), nil
}
