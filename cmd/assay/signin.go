package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/assaydata/assay/internal/httpapi"
	"github.com/assaydata/assay/internal/oidc"
)

// signInConfig is what the operator says of how people get here and sign in.
type signInConfig struct {
	publicURL  string // scheme and host
	issuer     string
	clientID   string
	secretFile string
	name       string
}

func (c *signInConfig) register(flags *flag.FlagSet) {
	flags.Func("public-url", "`URL` that browsers know this server by, such as https://data.example.com (needed for --oidc-issuer)", func(s string) (err error) {
		c.publicURL, err = parseOrigin(s)
		return err
	})
	flags.Func("oidc-issuer", "`URL` of the OpenID Connect provider that people may sign in through (default none)", func(s string) error {
		parsed, err := url.Parse(s)
		if err != nil || parsed.Host == "" || parsed.Scheme != "https" && (parsed.Scheme != "http" || !isLoopback(parsed.Hostname())) {
			return errors.New("allowed is an address that begins with https://")
		}
		c.issuer = s
		return nil
	})
	flags.StringVar(&c.clientID, "oidc-client-id", "", "`ID` that the provider knows this server by")
	flags.StringVar(&c.secretFile, "oidc-client-secret-file", "", "`FILE` with the secret that the provider knows this server by")
	flags.StringVar(&c.name, "oidc-name", "single sign-on", "`NAME` of the provider on the sign-in page")
}

// parseOrigin reads scheme and host.
func parseOrigin(s string) (string, error) {
	parsed, err := url.Parse(s)
	if err != nil || parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Host == "" || parsed.User != nil ||
		strings.Trim(parsed.Path, "/") != "" || parsed.RawQuery != "" || parsed.Fragment != "" {
		return "", errors.New("allowed is https:// or http:// and a host, without a path")
	}
	return parsed.Scheme + "://" + parsed.Host, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// provider makes the provider that people may sign in through, or nil when there is none.
func (c *signInConfig) provider(now func() time.Time, log *slog.Logger) (*oidc.Provider, error) {
	if c.issuer == "" && c.clientID == "" && c.secretFile == "" {
		return nil, nil //nolint:nilnil // no provider is no error
	}
	for _, needed := range [][2]string{
		{"oidc-issuer", c.issuer}, {"oidc-client-id", c.clientID}, {"oidc-client-secret-file", c.secretFile}, {"public-url", c.publicURL},
	} {
		if needed[1] == "" {
			return nil, usageError{fmt.Errorf("flag --%s is missing: signing in through a provider needs it", needed[0])}
		}
	}
	secret, err := os.ReadFile(c.secretFile)
	if err != nil {
		return nil, usageError{fmt.Errorf("invalid value for flag --oidc-client-secret-file: %w", err)}
	}
	text := strings.TrimSpace(string(secret))
	if text == "" {
		return nil, usageError{fmt.Errorf("invalid value %q for flag --oidc-client-secret-file: the file is empty", c.secretFile)}
	}
	return oidc.New(oidc.Config{
		Issuer: c.issuer, ClientID: c.clientID, ClientSecret: text, RedirectURL: c.publicURL + httpapi.OIDCCallback, Now: now, Log: log,
	}), nil
}
