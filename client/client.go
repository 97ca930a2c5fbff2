package client

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/assaydata/assay"
)

// Version is the version of this client, as the User-Agent names it.
const Version = "0.6.0"

// Client sends requests to one server. It is safe for concurrent use.
type Client struct {
	base      string              // scheme, host and path of the server, without a slash at the end
	authorize func(http.Header)   // adds the key. A function, because fmt would print a field
	redact    func(string) string // removes the key from a text
	http      *http.Client
	sleep     func(context.Context, time.Duration) error
	timeout   time.Duration
	retries   int
	maxWait   time.Duration
	cache     *cache // nil without one
}

// The defaults of a client.
const (
	defaultTimeout = 30 * time.Second
	defaultRetries = 3
	defaultMaxWait = time.Minute
)

// New returns a client of the server at a base URL such as https://data.example. If it is empty, the environment
// variable ASSAY_URL has it. Unless there is an option WithKey, the environment variable ASSAY_KEY has the API key;
// without a key the client reads what is free.
func New(baseURL string, options ...Option) (*Client, error) {
	if baseURL == "" {
		baseURL = os.Getenv("ASSAY_URL")
	}
	base, err := parseBase(baseURL)
	if err != nil {
		return nil, err
	}
	s := settings{
		key: os.Getenv("ASSAY_KEY"), timeout: defaultTimeout, retries: defaultRetries, maxWait: defaultMaxWait,
		sleep: sleep, http: &http.Client{},
	}
	for _, option := range options {
		option(&s)
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	c := &Client{
		base: base, http: withoutRedirects(s.http), sleep: s.sleep, timeout: s.timeout, retries: s.retries,
		maxWait: s.maxWait, cache: newCache(s.cacheEntries, s.cacheBytes),
	}
	c.authorize, c.redact = keep(s.key)
	return c, nil
}

// String names the server.
func (c *Client) String() string { return "assay client of " + c.base }

// parseBase checks a base URL. A key or a password in it would end up in logs.
func parseBase(text string) (string, error) {
	if text == "" {
		return "", badArgument("the base URL is missing: give New one, such as https://data.example, or set ASSAY_URL")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil: // the error of url.Parse repeats the text
		return "", badArgument("the base URL cannot be read; it should be like https://data.example")
	case u.User != nil:
		return "", badArgument("the base URL must not have a user name or password; give the API key with WithKey")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "":
		return "", badArgument("the base URL must begin with https:// or http:// and a host, such as https://data.example")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(text, "#"):
		return "", badArgument("the base URL must not have a query or fragment")
	}
	return u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// keep hides a key in two functions: one adds it to a request, the other removes it from a text.
func keep(key string) (authorize func(http.Header), redact func(string) string) {
	if key == "" {
		return func(http.Header) {}, func(text string) string { return text }
	}
	authorize = func(h http.Header) { h.Set("Authorization", "Bearer "+key) }
	return authorize, func(text string) string { return strings.ReplaceAll(text, key, "[the API key]") }
}

// withoutRedirects is an HTTP client that returns redirects: following one could send the key to another host.
func withoutRedirects(given *http.Client) *http.Client {
	own := *given
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// sleep waits, or returns early with the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// badArgument is the error for what the client cannot send.
func badArgument(message string) *assay.Error { return badArgumentOf(message, nil) }

// badArgumentOf is badArgument with its cause.
func badArgumentOf(message string, cause error) *assay.Error {
	return &assay.Error{Kind: assay.Invalid, Code: "bad_argument", Message: message, Err: cause}
}
