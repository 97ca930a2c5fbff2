package web

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/assaydata/assay"
)

// kinds maps each kind of error to its status and its label in the body.
var kinds = map[assay.Kind]struct {
	status int
	label  string
}{
	assay.Internal:         {http.StatusInternalServerError, "Internal server error"},
	assay.Invalid:          {http.StatusBadRequest, "Bad request"},
	assay.Unauthorized:     {http.StatusUnauthorized, "Unauthorized"},
	assay.Forbidden:        {http.StatusForbidden, "Forbidden"},
	assay.NotFound:         {http.StatusNotFound, "Not found"},
	assay.NoData:           {http.StatusNotFound, "No data available"},
	assay.MethodNotAllowed: {http.StatusMethodNotAllowed, "Method not allowed"},
	assay.Conflict:         {http.StatusConflict, "Conflict"},
	assay.TooLarge:         {http.StatusRequestEntityTooLarge, "Payload too large"},
	assay.URITooLong:       {http.StatusRequestURITooLong, "URI too long"},
	assay.TooMany:          {http.StatusTooManyRequests, "Too many requests"},
	assay.Unavailable:      {http.StatusServiceUnavailable, "Service unavailable"},
}

// Seconds rounds a duration up to whole seconds, as Retry-After and messages show it.
func Seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// Status is the HTTP status of a kind of error.
func Status(k assay.Kind) int { return kinds[k].status }

// ErrorBody is the body of every failure.
type ErrorBody struct {
	Error     string `json:"error"`
	Message   string `json:"message"`
	Code      string `json:"code"`
	RequestID string `json:"request_id"`

	// What programs need to correct the request.
	Param    string   `json:"param,omitempty"`
	Allowed  []string `json:"allowed,omitempty"`
	FreeFrom string   `json:"free_from,omitempty"`
}

// ErrorBody is the body that reports an error to this request.
func (r *Request) ErrorBody(e *assay.Error) ErrorBody { return newErrorBody(e, r.id) }

func newErrorBody(e *assay.Error, id string) ErrorBody {
	return ErrorBody{
		Error: kinds[e.Kind].label, Message: e.Message, Code: e.Code, RequestID: id,
		Param: e.Param, Allowed: e.Allowed, FreeFrom: e.FreeFrom,
	}
}

// text is the body as JSON.
func (b ErrorBody) text() []byte {
	text, err := json.Marshal(b)
	if err != nil {
		panic(err) // the fields are strings
	}
	return text
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
	raw := r.ErrorBody(e).text()
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
