// Package fetch sends requests to servers of others: a response takes neither more time nor more memory than it may.
package fetch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Limits bound one request.
type Limits struct {
	Patience time.Duration // until the response has been read
	Most     int64         // bytes of the response
}

// Small are the limits for a text of some lines.
var Small = Limits{Patience: 10 * time.Second, Most: 64 << 10}

// Get reads the response to a request. A key, unless it is empty, is sent as a bearer token.
func (l Limits) Get(ctx context.Context, url, key string) (text []byte, status int, err error) {
	header := http.Header{}
	if key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	return l.send(ctx, http.MethodGet, url, header, nil)
}

// Post sends a body of a content type, and reads the response.
func (l Limits) Post(
	ctx context.Context, url, contentType string, body io.Reader,
) (text []byte, status int, err error) {
	return l.send(ctx, http.MethodPost, url, http.Header{"Content-Type": {contentType}}, body)
}

func (l Limits) send(
	ctx context.Context, method, url string, header http.Header, body io.Reader,
) (text []byte, status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, 0, err
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	text, err = io.ReadAll(io.LimitReader(response.Body, l.Most+1))
	if err == nil && int64(len(text)) > l.Most {
		err = fmt.Errorf("the response has more than %d bytes", l.Most)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s %s: %w", method, url, err)
	}
	return text, response.StatusCode, nil
}

// Unexpected is the error for a response with another status than the caller can use.
func Unexpected(url string, status int, text []byte) error {
	return fmt.Errorf("%s responds %d %s: %.200s", url, status, http.StatusText(status), text)
}
