package client

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// Option changes how a client works.
type Option func(*settings)

// settings are what options change.
type settings struct {
	key          string
	http         *http.Client
	sleep        func(context.Context, time.Duration) error
	timeout      time.Duration
	retries      int
	maxWait      time.Duration
	cacheEntries int
	cacheBytes   int
}

func (s *settings) check() error {
	switch {
	case strings.ContainsFunc(s.key, isNoKeyCharacter):
		return badArgument("the API key has characters that no key has; it may have been copied with a line end or a space")
	case s.timeout <= 0:
		return badArgument("WithTimeout takes a positive duration")
	case s.retries < 0:
		return badArgument("WithRetries takes 0 or more")
	case s.maxWait < 0:
		return badArgument("WithMaxWait takes 0 or more")
	case s.http == nil || s.sleep == nil:
		return badArgument("WithHTTPClient and WithSleep do not take nil")
	}
	return nil
}

// isNoKeyCharacter reports whether a character cannot be in a header's token: a control character, a space, or not
// ASCII.
func isNoKeyCharacter(r rune) bool { return r <= ' ' || r >= 0x7f }

// WithKey sets the API key. An empty key reads what is free, also if ASSAY_KEY is set.
func WithKey(key string) Option { return func(s *settings) { s.key = key } }

// WithHTTPClient sets the HTTP client, and with it the transport. Its redirect policy is replaced: redirects are
// errors.
func WithHTTPClient(c *http.Client) Option { return func(s *settings) { s.http = c } }

// WithTimeout bounds an attempt: 30 seconds unless given. Iterators and tables may last longer: of them it bounds the
// time to the response, and each pause in it. So it does for a stream, whose pauses the server's heartbeats bound.
func WithTimeout(d time.Duration) Option { return func(s *settings) { s.timeout = d } }

// WithRetries sets how often a request is tried again: three times unless given.
func WithRetries(n int) Option { return func(s *settings) { s.retries = n } }

// WithMaxWait bounds how long a request waits before its retries, all together: one minute unless given. If the server
// asks for more, the request fails at once.
func WithMaxWait(d time.Duration) Option { return func(s *settings) { s.maxWait = d } }

// WithCache keeps up to so many responses, of so many bytes together, in memory. A request for one of them asks the
// server whether it is still current, and sends nothing again if it is. Iterators, tables and streams do not use it.
// 256 entries and 16 MiB are a good start. A cache belongs to one client, and so to one key.
func WithCache(entries, bytes int) Option {
	return func(s *settings) { s.cacheEntries, s.cacheBytes = entries, bytes }
}

// WithSleep replaces the function that waits before a retry, for tests. It returns the context's error if that ends
// first.
func WithSleep(f func(ctx context.Context, d time.Duration) error) Option {
	return func(s *settings) { s.sleep = f }
}
