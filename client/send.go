package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/assaydata/assay"
)

// call is a request, which may take several attempts.
type call struct {
	target

	accept      string // media type of the response
	tag         string // of the response that the client has; empty if it has none
	lastEventID string // of the last event that a stream has received
	from        int64  // the first byte that is needed; 0 for all
	ifRange     string // the tag of the file that these bytes are of
	lasting     bool   // the response may take long: only its pauses are bounded
	unhealthy   bool   // a 503 is a response like any other
}

// send sends a request, again where that may help, and returns the response. Its body must be closed.
func (c *Client) send(ctx context.Context, q call) (*http.Response, error) {
	var waited time.Duration
	for attempt := 0; ; attempt++ {
		response, err := c.attempt(ctx, q)
		if err == nil {
			return response, nil
		}
		if attempt == c.retries || q.unhealthy || !mayHelp(err) {
			return nil, err
		}
		wait := err.RetryAfter
		if wait == 0 {
			wait = backoff(attempt)
		}
		waited += wait
		if waited > c.maxWait || endsWithin(ctx, wait) {
			return nil, err
		}
		if c.sleep(ctx, wait) != nil {
			return nil, c.ended(ctx, err)
		}
	}
}

// endsWithin reports whether a context ends before a wait does.
func endsWithin(ctx context.Context, wait time.Duration) bool {
	deadline, has := ctx.Deadline()
	return has && time.Until(deadline) < wait
}

// attempt sends a request once.
func (c *Client) attempt(ctx context.Context, q call) (*http.Response, *assay.Error) {
	trying, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(c.timeout, func() { cancel(errTimeout) })
	response, err := c.roundTrip(trying, q)
	if err != nil {
		timer.Stop()
		cancel(nil)
		return nil, c.noResponse(ctx, trying, err)
	}
	response.Body = &body{
		ReadCloser: response.Body, client: c, ctx: ctx, trying: trying, cancel: cancel, timer: timer,
		pause: pauseOf(q.lasting, c.timeout), status: response.StatusCode,
	}
	if e := c.check(q, response); e != nil {
		_ = response.Body.Close() // it was read as far as it is needed
		return nil, e
	}
	return response, nil
}

func pauseOf(lasting bool, timeout time.Duration) time.Duration {
	if lasting {
		return timeout
	}
	return 0
}

// roundTrip sends a request.
func (c *Client) roundTrip(ctx context.Context, q call) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.address(q.target), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "assay-go/"+Version)
	request.Header.Set("Accept", q.accept)
	if q.tag != "" {
		request.Header.Set("If-None-Match", q.tag)
	}
	if q.lastEventID != "" {
		request.Header.Set("Last-Event-ID", q.lastEventID)
	}
	if q.from > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", q.from))
		request.Header.Set("If-Range", q.ifRange)
	}
	c.authorize(request.Header)
	response, err := c.http.Do(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the address is said in another place
	}
	return response, err
}

// address is the URL of a target.
func (c *Client) address(t target) string {
	if t.query == "" {
		return c.base + t.path
	}
	return c.base + t.path + "?" + t.query
}

// check returns the error that a response reports, if it is one.
func (c *Client) check(q call, response *http.Response) *assay.Error {
	switch {
	case response.StatusCode == http.StatusOK:
		return nil
	case response.StatusCode == http.StatusPartialContent && q.from > 0:
		return nil
	case response.StatusCode == http.StatusNotModified && q.tag != "":
		return nil
	case response.StatusCode == http.StatusServiceUnavailable && q.unhealthy && isJSON(response.Header):
		return nil
	case response.StatusCode >= 300 && response.StatusCode < 400:
		return c.redirected(response)
	case response.StatusCode >= 400:
		return c.readError(response)
	}
	return c.badResponse(response, "it is not one of the API", nil)
}

// errTimeout is why an attempt ended that took too long.
var errTimeout = errors.New("the client has waited long enough")

// body is the body of a response. It ends the attempt when it is closed, and bounds how long reading takes: all of it,
// or, with a pause, each part.
type body struct {
	io.ReadCloser

	client *Client
	ctx    context.Context // of the caller
	trying context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	pause  time.Duration
	status int
}

// Read reads a part. The time between two parts is the caller's, so it does not count.
func (b *body) Read(p []byte) (n int, err error) {
	if b.pause > 0 {
		b.timer.Reset(b.pause)
		defer b.timer.Stop()
	}
	n, err = b.ReadCloser.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, b.broken(err)
}

// Close ends the attempt.
func (b *body) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}
