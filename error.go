package assay

import (
	"errors"
	"time"
)

// Kind says what went wrong in one word. The HTTP layer maps each to a status and a label.
type Kind uint8

// The kinds. Internal is the zero value: an unclassified error is the server's, not the caller's.
const (
	Internal Kind = iota
	Invalid
	Unauthorized
	Forbidden
	NotFound
	NoData
	MethodNotAllowed
	Conflict
	TooLarge
	URITooLong
	OutOfRange
	TooMany
	Unavailable
	kinds // the number of kinds
)

// Kinds lists all kinds.
func Kinds() []Kind {
	list := make([]Kind, kinds)
	for i := range list {
		list[i] = Kind(i)
	}
	return list
}

// Error is a failure the caller may read. Err is for the log only.
type Error struct {
	Kind    Kind
	Code    string // a stable machine word, finer than the kind
	Message string // a sentence for the caller
	Err     error

	RetryAfter time.Duration // when trying again may succeed; 0 if that is unknown
	Param      string        // the parameter that is wrong; empty if it is none
	Allowed    []string      // the values of Param, where they can be listed
	FreeFrom   string        // the first day that needs no key, when an earlier one was requested

	// What a client knows of the response that it got. On the server they are empty.
	Status    int    // the HTTP status; 0 without a response
	RequestID string // what to quote in a report
}

// Error gives the message, and the cause and the request id where there are any.
func (e *Error) Error() string {
	text := e.Message
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// AsError is the Error inside err, or an internal one that hides err from the caller.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{
		Kind: Internal, Code: "internal", Err: err,
		Message: "Something went wrong on our side. Quote the request id when you report it.",
	}
}
