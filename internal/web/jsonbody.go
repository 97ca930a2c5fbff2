package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/assaydata/assay"
)

// maxBody is how long the body of a request may be; none of ours needs a quarter of it.
const maxBody = 4 << 10

// ReadJSON reads a JSON object into v, whose fields are the named ones. What is wrong with it is said without its values: they
// may be secrets.
func (r *Request) ReadJSON(v any, fields ...string) error {
	allowed := "a JSON object with " + JoinWords(fields, "and")
	if given, _, err := mime.ParseMediaType(r.http.Header.Get("Content-Type")); err != nil || given != "application/json" {
		return InvalidBody("has the Content-Type %q; allowed is application/json", shown(r.http.Header.Get("Content-Type")))
	}
	text, err := io.ReadAll(http.MaxBytesReader(r.out.ResponseWriter, r.http.Body, maxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return &assay.Error{Kind: assay.TooLarge, Code: "body_too_large", Message: fmt.Sprintf("The body is longer than %d bytes.", maxBody)}
	}
	if err != nil {
		return InvalidBody("ended before it was complete; allowed is %s", allowed)
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return misread(err, allowed)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return InvalidBody("goes on after its end; allowed is %s", allowed)
	}
	return nil
}

// misread says what is wrong with a body that does not decode.
func misread(err error, allowed string) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return InvalidBody("has a JSON %s in the field %s; allowed is a %s", wrong.Value, wrong.Field, jsonKind(wrong.Type.Kind().String()))
	}
	if field, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return InvalidBody("has the unknown field %s; allowed is %s", shown(field), allowed)
	}
	return InvalidBody("is not a JSON object; allowed is %s", allowed)
}

// jsonKind is the word of JSON for a Go type of our bodies.
func jsonKind(kind string) string {
	if kind == "string" {
		return kind
	}
	return "whole number"
}

// InvalidBody says what is wrong with the body of a request.
func InvalidBody(format string, args ...any) error {
	return &assay.Error{Kind: assay.Invalid, Code: "invalid_body", Message: "The body " + fmt.Sprintf(format, args...) + "."}
}
