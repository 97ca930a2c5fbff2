package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/assaydata/assay"
)

const (
	maxBody     = 4 << 10          // bytes; none of ours needs a quarter of it
	bodyTimeout = 10 * time.Second // for the body to arrive
)

// setBodyDeadline ends the connection at that time if it still waits for the body then, whether a handler reads the
// body or the server skips it. The zero time is never.
func (r *Request) setBodyDeadline(at time.Time) {
	// A connection without deadlines is one of a test.
	_ = http.NewResponseController(r.out.ResponseWriter).SetReadDeadline(at)
}

// maxSkipped is how much of a body is read that no one wants: as much as net/http reads on a connection that it keeps.
const maxSkipped = 256 << 10

// skipBody reads what the handler has left of the body. On a connection that ends with this request net/http would
// leave it: closing with unread bytes resets the connection, and a client that is still reading loses the response.
func (r *Request) skipBody() {
	switch {
	case !r.HasBody():
	case r.http.Header.Get("Expect") == "" || !r.http.ProtoAtLeast(1, 1):
		_, _ = io.CopyN(io.Discard, r.http.Body, maxSkipped)
	default:
		// The client expects to be asked for the body: it may send it all the same, or wait for the response first.
		if c, ok := r.http.Context().Value(connKey{}).(*conn); ok {
			c.lingers.Store(true)
		}
	}
}

// ReadJSON reads a JSON object into v, which has the named fields. Errors do not repeat its values, which may be
// secrets.
func (r *Request) ReadJSON(v any, fields ...string) error {
	allowed := "a JSON object with " + JoinWords(fields, "and")
	text, err := r.ReadBody(allowed, maxBody)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return misread(err, allowed)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return InvalidBody("it has more than one value, must be %s", allowed)
	}
	return nil
}

// ReadBody reads a body of JSON, of which errors say what it must be and how many bytes it may have.
func (r *Request) ReadBody(mustBe string, most int64) ([]byte, error) {
	given, _, err := mime.ParseMediaType(r.http.Header.Get("Content-Type"))
	if err != nil || given != "application/json" {
		return nil, InvalidBody("the Content-Type is %q, must be application/json", shown(r.http.Header.Get("Content-Type")))
	}
	text, err := io.ReadAll(http.MaxBytesReader(r.out.ResponseWriter, r.http.Body, most))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, &assay.Error{
			Kind: assay.TooLarge, Code: "body_too_large", Message: fmt.Sprintf("The body is longer than %d bytes.", most),
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, InvalidBody("it did not arrive within %d seconds, must be %s", Seconds(bodyTimeout), mustBe)
	}
	if err != nil {
		return nil, InvalidBody("it is incomplete, must be %s", mustBe)
	}
	r.setBodyDeadline(time.Time{}) // what follows is the wait for the client to hang up
	return text, nil
}

// misread says what is wrong with a body that does not decode.
func misread(err error, allowed string) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return InvalidBody("%s is a JSON %s, must be %s", wrong.Field, wrong.Value, fieldType(wrong.Type))
	}
	if field, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return InvalidBody("unknown field %s, must be %s", shown(field), allowed)
	}
	return InvalidBody("must be %s", allowed)
}

// fieldType is the JSON type of a field of a body.
func fieldType(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[json.Number]():
		return "a number"
	case t.Kind() == reflect.String:
		return "a string"
	case t.Kind() == reflect.Bool:
		return "true or false"
	}
	return "an integer"
}

// InvalidBody says what is wrong with the body of a request.
func InvalidBody(format string, args ...any) error {
	return &assay.Error{
		Kind: assay.Invalid, Code: "invalid_body", Message: "Invalid body: " + fmt.Sprintf(format, args...) + ".",
	}
}

// Optional returns nil for an empty text, which JSON shows as null.
func Optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
