package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/httperror"
)

// Seconds rounds a duration up to whole seconds, as Retry-After and messages show it.
func Seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// Status is the HTTP status of a kind of error.
func Status(k assay.Kind) int { return httperror.Status(k) }

// ErrorBody is the body of every failure.
type ErrorBody = httperror.Body

// ErrorBody is the body that reports an error to this request.
func (r *Request) ErrorBody(e *assay.Error) ErrorBody { return NewErrorBody(e, r.id) }

// NewErrorBody is the body that reports an error to the request with an id.
func NewErrorBody(e *assay.Error, id string) ErrorBody {
	return ErrorBody{
		Error: httperror.Label(e.Kind), Message: e.Message, Code: e.Code, RequestID: id, DocURL: httperror.DocURL(e.Code),
		Param: e.Param, Allowed: e.Allowed, FreeFrom: e.FreeFrom,
	}
}

// fail responds with an error. If a response has begun, only the log can tell.
func (r *Request) fail(err error) {
	e := assay.AsError(err)
	if e.Kind == assay.Internal {
		r.cause = err
	}
	if r.out.status != 0 {
		return
	}
	raw := r.ErrorBody(e).JSON()
	r.out.headers.contentType = jsonType
	r.out.headers.length = len(raw)
	r.SetHeader("Cache-Control", noStore)
	if e.RetryAfter > 0 {
		r.SetHeader("Retry-After", strconv.Itoa(Seconds(e.RetryAfter)))
	}
	if challenge := challenge(e); challenge != "" {
		r.SetHeader("WWW-Authenticate", challenge)
	}
	r.out.WriteHeader(Status(e.Kind))
	if r.http.Method != http.MethodHead {
		_, _ = r.out.Write(raw) // a network failure is not ours to report
	}
}

// challenge is the header WWW-Authenticate (RFC 6750): which credentials are understood and, if the caller has sent
// some, what is wrong with them. The codes are those that only keys get.
func challenge(e *assay.Error) string {
	const scheme = `Bearer realm="assay"`
	switch {
	case e.Code == "invalid_key" || e.Code == "inactive_key" && e.Kind == assay.Unauthorized:
		return scheme + `, error="invalid_token", error_description="` + e.Message + `"`
	case e.Kind == assay.Unauthorized:
		return scheme
	case e.Code == "full_required":
		return scheme + `, error="insufficient_scope"`
	}
	return ""
}
