package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/httperror"
)

// readError reads the error that a response reports.
func (c *Client) readError(response *http.Response) *assay.Error {
	const most = 64 << 10 // an error lists at most the names of a catalog
	var b httperror.Body
	text, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err == nil && isJSON(response.Header) {
		err = json.Unmarshal(text, &b)
	}
	e := &assay.Error{
		Kind: httperror.Kind(response.StatusCode, b.Error), Status: response.StatusCode,
		RetryAfter: retryAfter(response.Header),
	}
	if err != nil || b.Message == "" || b.Code == "" {
		e.Code, e.RequestID = "bad_response", c.plain(response.Header.Get("X-Request-Id"))
		e.Message = fmt.Sprintf("%s responds with %s, and not as the API does: something between may have responded",
			c.base, statusText(response.StatusCode))
		return e
	}
	e.Code, e.Message, e.RequestID = c.plain(b.Code), c.plain(b.Message), c.plain(b.RequestID)
	e.Param, e.FreeFrom = c.plain(b.Param), c.plain(b.FreeFrom)
	for _, value := range b.Allowed {
		e.Allowed = append(e.Allowed, c.plain(value))
	}
	return e
}

// retryAfter is how long the server asks to wait: whole seconds, or an instant by the server's own clock.
func retryAfter(h http.Header) time.Duration {
	const most = 365 * 24 * time.Hour // more is as good as never
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 63); err == nil {
		return min(time.Duration(min(seconds, uint64(most/time.Second)))*time.Second, most)
	}
	at, err := http.ParseTime(text)
	now, dateErr := http.ParseTime(h.Get("Date"))
	if err != nil || dateErr != nil {
		return 0
	}
	return min(max(0, at.Sub(now)), most)
}

// redirected is the error for a redirect. Where it leads is shown without what may be secret.
func (c *Client) redirected(response *http.Response) *assay.Error {
	e := c.badResponse(response, "", nil)
	e.Code = "redirect"
	e.Message = c.base + " redirects, which the API never does: check the base URL"
	if to, err := url.Parse(response.Header.Get("Location")); err == nil && to.Host != "" {
		e.Message = fmt.Sprintf("%s redirects to %s, and the client does not follow: check the base URL",
			c.base, c.plain(to.Scheme+"://"+to.Host))
	}
	return e
}

// noResponse is the error for an attempt that has ended without a response.
func (c *Client) noResponse(ctx, trying context.Context, err error) *assay.Error {
	switch {
	case ctx.Err() != nil:
		return c.ended(ctx, nil)
	case errors.Is(context.Cause(trying), errTimeout):
		return &assay.Error{
			Kind: assay.Unavailable, Code: "timeout", Message: fmt.Sprintf("%s has not responded within %v", c.base, c.timeout),
		}
	}
	return &assay.Error{
		Kind: assay.Unavailable, Code: "connection", Message: "no response from " + c.base, Err: c.quiet(err),
	}
}

// ended is the error for a context that has ended; after is why the client was still waiting, if it was.
func (c *Client) ended(ctx context.Context, after *assay.Error) *assay.Error {
	e := &assay.Error{Kind: assay.Unavailable, Code: "canceled", Message: "the request was canceled", Err: ctx.Err()}
	if after != nil {
		e.Message = "the request was canceled before another attempt; the last one failed (" + after.Error() + ")"
		e.RetryAfter = after.RetryAfter
	}
	return e
}

// broken is the error for a response that ended early, or whose reading was ended.
func (b *body) broken(err error) *assay.Error {
	e := b.client.noResponse(b.ctx, b.trying, err)
	e.Status = b.status
	switch {
	case e.Code == "timeout" && b.pause > 0:
		e.Message = fmt.Sprintf("%s has begun a response, and then sent nothing for %v", b.client.base, b.pause)
	case e.Code == "timeout":
		e.Message = fmt.Sprintf("%s has begun a response, and not finished it within %v", b.client.base, b.client.timeout)
	case e.Code == "connection":
		e.Code, e.Message = "bad_response", "the response of "+b.client.base+" is cut off"
	}
	return e
}

// badResponse is the error for a response that the API would not send.
func (c *Client) badResponse(response *http.Response, why string, cause error) *assay.Error {
	e := &assay.Error{
		Kind: httperror.Kind(response.StatusCode, ""), Code: "bad_response", Status: response.StatusCode,
		RequestID: c.plain(response.Header.Get("X-Request-Id")),
		Message:   fmt.Sprintf("%s responds with %s that cannot be used: %s", c.base, statusText(response.StatusCode), why),
	}
	if own, ok := errors.AsType[*assay.Error](cause); ok { // the reason why reading failed
		return own
	}
	if cause != nil {
		e.Err = c.quiet(cause)
	}
	return e
}

// quiet is an error whose text is safe to show.
type quiet struct {
	text  string
	cause error
}

// quiet makes an error safe to show. Its text may repeat what the server has sent.
func (c *Client) quiet(err error) error {
	const most = 300
	text := c.plain(err.Error())
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return &quiet{text, err}
}

func (q *quiet) Error() string { return q.text }
func (q *quiet) Unwrap() error { return q.cause }

// plain makes a text from outside safe to show: without the key, not too long, and without characters that could do
// something to a terminal.
func (c *Client) plain(text string) string {
	const most = 2000
	text = c.redact(text)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}

// isJSON reports whether a response says that it is JSON.
func isJSON(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && kind == "application/json"
}
