// Package httperror is how an error looks in HTTP: the status and the label of each kind, and the body. The server
// writes errors this way, and the client reads them back.
package httperror

import (
	"encoding/json"
	"net/http"

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
	assay.OutOfRange:       {http.StatusRequestedRangeNotSatisfiable, "Range not satisfiable"},
	assay.TooMany:          {http.StatusTooManyRequests, "Too many requests"},
	assay.Unavailable:      {http.StatusServiceUnavailable, "Service unavailable"},
}

// Status is the HTTP status of a kind of error.
func Status(k assay.Kind) int { return kinds[k].status }

// Label is the label of a kind of error.
func Label(k assay.Kind) string { return kinds[k].label }

// Kind is the kind of an error that arrived with a status and a label. Two kinds share a status, and the label tells
// them apart. Proxies respond with statuses that the server does not use: those get the kind that means the same to a
// caller.
func Kind(status int, label string) assay.Kind {
	found := assay.Internal
	for _, kind := range assay.Kinds() {
		if form := kinds[kind]; form.status == status {
			if form.label == label {
				return kind
			}
			if found == assay.Internal {
				found = kind
			}
		}
	}
	switch {
	case found != assay.Internal:
		return found
	case status == http.StatusBadGateway || status == http.StatusGatewayTimeout:
		return assay.Unavailable
	case status >= 400 && status < 500:
		return assay.Invalid
	}
	return assay.Internal
}

// Body is the body of every failure.
type Body struct {
	Error     string `json:"error"`
	Message   string `json:"message"`
	Code      string `json:"code"`
	RequestID string `json:"request_id"`
	DocURL    string `json:"doc_url,omitempty"` // relative to the server

	// What programs need to correct the request.
	Param    string   `json:"param,omitempty"`
	Allowed  []string `json:"allowed,omitempty"`
	FreeFrom string   `json:"free_from,omitempty"`
}

// DocURL is where a server explains a code.
func DocURL(code string) string { return "/docs/errors.md#" + code }

// JSON is the body as JSON.
func (b Body) JSON() []byte {
	text, err := json.Marshal(b)
	if err != nil {
		panic(err) // the fields are strings
	}
	return text
}
