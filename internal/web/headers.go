package web

import "net/http"

// headers are the headers of a response, collected until the status is written.
type headers struct {
	contentType   []string // net/http must see these three, because it acts on them
	contentLength []string
	close         bool
	fields        []field // all others
}

// field is one header line.
type field struct{ name, value string }

func (h *headers) add(name, value string) { h.fields = append(h.fields, field{name, value}) }

// set replaces a header that may have been added before.
func (h *headers) set(name, value string) {
	for i := range h.fields {
		if h.fields[i].name == name {
			h.fields[i].value = value
			return
		}
	}
	h.add(name, value)
}

// Content types, as net/http takes header values.
var (
	jsonType = []string{"application/json"}
	noType   = []string{} // none, and none to be guessed
)

// writer is the response writer of a request. It counts what is written, and writes the headers.
type writer struct {
	http.ResponseWriter
	headers headers
	conn    *conn // nil when the request did not arrive on one of our connections
	status  int   // 0 before the status is written
	bytes   int64 // of the body
}

// WriteHeader writes the status and the headers. Our own connection writes most lines as they are; net/http would keep
// each in a map, copy, sort and check it.
func (w *writer) WriteHeader(status int) {
	w.status = status
	known := w.Header()
	if w.headers.contentType != nil {
		known["Content-Type"] = w.headers.contentType
	}
	if w.headers.contentLength != nil {
		known["Content-Length"] = w.headers.contentLength
	}
	if w.headers.close {
		known["Connection"] = []string{"close"}
	}
	if w.conn != nil {
		w.conn.hold(w.headers.fields)
	} else {
		for _, f := range w.headers.fields {
			known.Add(f.name, f.value)
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the body.
func (w *writer) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// writeAll writes a body. A network failure is not ours to report.
func (w *writer) writeAll(pieces ...[]byte) {
	for _, piece := range pieces {
		_, _ = w.Write(piece)
	}
}
