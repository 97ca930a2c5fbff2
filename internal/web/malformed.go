package web

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
)

// net/http refuses what is no valid HTTP by itself, in plain text, before there is a request. Such a response is found
// as it is written, and becomes one in the shape of all errors.

// plainError follows the status line of what net/http writes by itself. No response of ours has these headers only.
var plainError = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// expectationFailed begins the response to a header Expect that net/http does not understand. No response of ours has
// this status.
var expectationFailed = []byte("HTTP/1.1 417 ")

// malformed are what net/http finds, by status.
var malformed = map[int]ErrorBody{
	http.StatusBadRequest: {
		Error: "Bad request", Code: "malformed_request",
		Message: "The request is not valid HTTP: its first line or one of its headers is malformed.",
	},
	http.StatusExpectationFailed: {
		Error: "Expectation failed", Code: "expectation_failed",
		Message: `Unsupported value of the header "Expect": must be 100-continue.`,
	},
	http.StatusRequestHeaderFieldsTooLarge: {
		Error: "Request header fields too large", Code: "headers_too_large",
		Message: fmt.Sprintf("The headers are longer than %d bytes.", maxHeaderBytes),
	},
	http.StatusNotImplemented: {
		Error: "Not implemented", Code: "unsupported_encoding",
		Message: `Unsupported value of the header "Transfer-Encoding": must be chunked.`,
	},
	http.StatusHTTPVersionNotSupported: {
		Error: "HTTP version not supported", Code: "unsupported_version",
		Message: "The version must be HTTP/1.0 or HTTP/1.1.",
	},
}

// inOurShape returns the response in place of one that net/http has written by itself; nil for every other.
func (s *Server) inOurShape(written []byte, secure bool) []byte {
	const begin = len("HTTP/1.1 ")
	if len(written) < begin+3 || written[begin] != '4' && written[begin] != '5' {
		return nil // nearly all
	}
	line, _, _ := bytes.Cut(written, []byte("\r\n"))
	if !bytes.HasPrefix(written[len(line):], plainError) && !bytes.HasPrefix(written, expectationFailed) {
		return nil
	}
	status, err := strconv.Atoi(string(written[begin : begin+3]))
	body, known := malformed[status]
	if err != nil || !known {
		return nil
	}
	_, reason, found := bytes.Cut(line, []byte(": "))
	if found { // one of the constant texts of net/http
		body.Message = "The request is not valid HTTP: " + string(reason) + "."
	}
	response := s.closingResponse(status, body, 0, secure)
	if status == http.StatusExpectationFailed && !bytes.Contains(written, emptyBody) { // the request was HEAD
		head, _, _ := bytes.Cut(response, endOfHead)
		return append(head, endOfHead...)
	}
	return response
}

var (
	emptyBody = []byte("\r\nContent-Length: 0\r\n")
	endOfHead = []byte("\r\n\r\n")
)
