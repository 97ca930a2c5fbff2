package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/web"
)

// Source is a way to the API.
type Source interface {
	// Get sends a GET request to a target, a path with its query, and writes the body of the response. The caller is the
	// one of the context.
	Get(ctx context.Context, target string, body *rows) (status int, header http.Header, err error)
	// Count counts a call that has led to no request, and returns an error if the caller has made too many.
	Count(ctx context.Context) error
	// Base is the address of the server, without a path, as the caller knows it.
	Base(ctx context.Context) string
	// RequestID is what a caller quotes in a report; empty if there is none.
	RequestID(ctx context.Context) string
}

// maxText is how long a response may be, apart from rows that are left out.
const maxText = 4 << 20

// get reads a response. The body of an error is returned as problem, an error if there is no response.
func (s *service) get(
	ctx context.Context, target string, most int, newest bool,
) (found *rows, problem []byte, err error) {
	found = newRows(most, newest)
	status, header, err := s.Source.Get(ctx, target, found)
	switch {
	case err != nil:
		return nil, nil, err
	case found.err != nil:
		return nil, nil, unreachable(fmt.Errorf("the response to %s: %w", target, found.err))
	case status != http.StatusOK:
		text := found.whole()
		if !isError(text) {
			return nil, nil, unreachable(
				fmt.Errorf("the server responds %d %s without saying why", status, http.StatusText(status)))
		}
		return nil, text, nil
	}
	found.synthetic = header.Get("X-Assay-Synthetic") == "true"
	return found, nil, nil
}

// isError reports whether a text is the body of an error of the API.
func isError(text []byte) bool {
	var body web.ErrorBody
	return json.Unmarshal(text, &body) == nil && body.Code != "" && body.Message != ""
}

// unreachable is the error of a server that cannot be asked.
func unreachable(err error) error {
	return &assay.Error{
		Kind: assay.Unavailable, Code: "unavailable", Message: "The server cannot be asked: " + err.Error() + ".",
	}
}

// failure is the body of an error that did not come from the API, in the same form.
func (s *service) failure(ctx context.Context, err error) json.RawMessage {
	e := assay.AsError(err)
	if e.Kind == assay.Internal && !errors.Is(err, context.Canceled) {
		s.Log.Error("call of a tool failed", "error", err)
	}
	text, err := json.Marshal(web.NewErrorBody(e, s.Source.RequestID(ctx)))
	if err != nil {
		panic(err) // the fields are strings
	}
	return bytes.TrimSpace(text)
}
