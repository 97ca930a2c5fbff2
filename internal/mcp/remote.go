package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Remote is a server that is asked over HTTP, for an agent on the computer of its user.
type Remote struct {
	URL string // without a slash at the end
	Key string // empty for none

	client http.Client
}

// patience is how long a server may take for a response.
const patience = 30 * time.Second

// maxLine is how long a message of an agent may be.
const maxLine = 1 << 20

// Run serves an agent that writes messages to in and reads the responses from out, until in ends.
func Run(ctx context.Context, c Config, in io.ReadCloser, out io.WriteCloser) error {
	server, service, err := newServer(c)
	if err != nil {
		return err
	}
	server.AddReceivingMiddleware(service.count)
	return server.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out, MaxLineLength: maxLine})
}

// NewRemote makes a source of a server. A redirect is not followed: the key is for this server only.
func NewRemote(address, key string) *Remote {
	return &Remote{URL: strings.TrimRight(address, "/"), Key: key, client: http.Client{
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Get sends a request.
func (r *Remote) Get(ctx context.Context, target string, body *rows) (status int, header http.Header, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+target, nil)
	if err != nil {
		return 0, nil, err
	}
	if r.Key != "" {
		request.Header.Set("Authorization", "Bearer "+r.Key)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return 0, nil, unreachable(cause(err))
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if _, err := io.Copy(stopping{body}, response.Body); err != nil && body.err == nil {
		return 0, nil, unreachable(fmt.Errorf("%s: %w", r.URL, cause(err)))
	}
	return response.StatusCode, response.Header, nil
}

// cause is an error without the address of the request, which the agent knows, and without the word Get.
func cause(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// stopping ends reading a response that cannot be used.
type stopping struct{ *rows }

// Write reads the next part.
func (s stopping) Write(part []byte) (int, error) {
	n, _ := s.rows.Write(part)
	return n, s.err
}

// Count counts nothing: the server counts what it is asked.
func (r *Remote) Count(context.Context) error { return nil }

// Base is the address of the server.
func (r *Remote) Base(context.Context) string { return r.URL }

// RequestID is empty: errors of the server have theirs.
func (r *Remote) RequestID(context.Context) string { return "" }
