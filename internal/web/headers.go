package web

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/assaydata/assay/internal/http1"
)

// headers are the headers of a response, collected until the status is written.
type headers struct {
	contentType string // empty for none, and none to be guessed
	length      int    // of the body; unknownLength if that is not known
	close       bool
	rateLimit   []byte // the lines of the rate limit, which the next limit replaces
	lines       []byte // all others
}

const unknownLength = -1

// emptied is headers without any, in the memory of these.
func (h *headers) emptied() headers {
	return headers{length: unknownLength, rateLimit: h.rateLimit[:0], lines: h.lines[:0]}
}

func (h *headers) add(name, value string) { h.lines = appendLine(h.lines, name, value) }

// appendLine appends a header line. A line end in the value would begin another header, so it becomes a space.
func appendLine(dst []byte, name, value string) []byte {
	dst = append(append(dst, name...), ": "...)
	if strings.IndexByte(value, '\n') >= 0 || strings.IndexByte(value, '\r') >= 0 {
		value = strings.NewReplacer("\r", " ", "\n", " ").Replace(value)
	}
	return append(append(dst, value...), "\r\n"...)
}

const jsonType = "application/json"

// writer is the response writer of a request. It counts what is written, and writes the headers.
type writer struct {
	http.ResponseWriter
	fast    *http1.Response // the same, if it is one
	headers headers
	status  int   // 0 before the status is written
	bytes   int64 // of the body
}

// WriteHeader writes the status and the headers.
func (w *writer) WriteHeader(status int) {
	w.status = status
	h := &w.headers
	if w.fast == nil {
		w.writeMap()
		w.ResponseWriter.WriteHeader(status)
		return
	}
	if h.contentType != "" {
		h.add("Content-Type", h.contentType)
	}
	if h.close {
		w.fast.CloseAfter()
	}
	h.lines = append(h.lines, h.rateLimit...)
	w.fast.Start(status, h.lines, h.length)
}

// writeMap puts the headers into the map of net/http.
func (w *writer) writeMap() {
	h, known := &w.headers, w.Header()
	for line := range strings.SplitSeq(string(h.lines)+string(h.rateLimit), "\r\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			known.Add(name, value)
		}
	}
	if h.contentType != "" {
		known["Content-Type"] = []string{h.contentType}
	} else if known["Content-Type"] == nil {
		known["Content-Type"] = nil // net/http guesses one only if there is no such key
	}
	if h.length != unknownLength {
		known["Content-Length"] = []string{strconv.Itoa(h.length)}
	}
	if h.close {
		known["Connection"] = []string{"close"}
	}
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
	if w.fast != nil && w.status != 0 {
		w.fast.WriteAll(pieces)
		for _, piece := range pieces {
			w.bytes += int64(len(piece))
		}
		return
	}
	for _, piece := range pieces {
		_, _ = w.Write(piece)
	}
}
