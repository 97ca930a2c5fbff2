package assay

import (
	"errors"
	"net/http"
)

// Kind says what went wrong in one word; each has one status and one label in the API.
type Kind uint8

// The kinds. Internal is the zero value: an error nobody classified is ours, not the caller's.
const (
	Internal Kind = iota
	Invalid
	Unauthorized
	Forbidden
	NotFound
	NoData
	MethodNotAllowed
	TooLarge
	URITooLong
	TooMany
	Unavailable
	kinds // the number of kinds
)

var kindTable = [kinds]struct {
	status int
	label  string
}{
	Internal:         {http.StatusInternalServerError, "Internal server error"},
	Invalid:          {http.StatusBadRequest, "Bad request"},
	Unauthorized:     {http.StatusUnauthorized, "Unauthorized"},
	Forbidden:        {http.StatusForbidden, "Forbidden"},
	NotFound:         {http.StatusNotFound, "Not found"},
	NoData:           {http.StatusNotFound, "No data available"},
	MethodNotAllowed: {http.StatusMethodNotAllowed, "Method not allowed"},
	TooLarge:         {http.StatusRequestEntityTooLarge, "Payload too large"},
	URITooLong:       {http.StatusRequestURITooLong, "URI too long"},
	TooMany:          {http.StatusTooManyRequests, "Too many requests"},
	Unavailable:      {http.StatusServiceUnavailable, "Service unavailable"},
}

// Status is the HTTP status of the kind.
func (k Kind) Status() int { return kindTable[k].status }

// Label is the short text in the error field of the body.
func (k Kind) Label() string { return kindTable[k].label }

// Error is a failure the caller may read. Err is for the log only.
type Error struct {
	Kind    Kind
	Code    string // a stable machine word, finer than the kind
	Message string // a sentence for the caller
	Err     error
}

// Error gives the message, and the cause where there is one.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// AsError is the Error inside err, or an internal one that hides err from the caller.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: Internal, Code: "internal", Message: "Something went wrong on our side. Quote the request id when you report it.", Err: err}
}
