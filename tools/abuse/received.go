//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
)

// received is a response as it arrived. Its body is valid until the next one is read.
type received struct {
	status  int
	headers []field // names in canonical form
	body    []byte
	closes  bool // the connection ends with it
}

// get returns the value of a header.
func (a *received) get(name string) string {
	for _, h := range a.headers {
		if h.name == name {
			return h.value
		}
	}
	return ""
}

// shown is the response as a failure shows it.
func (a *received) shown() string { return fmt.Sprintf("%d %q %.500q", a.status, a.headers, a.body) }

// readResponse reads a response strictly: a line that is not what it should be means that the caller's text has reached
// the connection. buffer is reused for the body.
func readResponse(in *bufio.Reader, head bool, buffer []byte) (received, error) {
	for {
		a, err := readHead(in)
		if err != nil {
			return a, err
		}
		if a.status >= 200 {
			err = a.readBody(in, head, buffer[:0])
			return a, err
		}
		if a.status != http.StatusContinue {
			return a, fmt.Errorf("an interim response of status %d", a.status)
		}
	}
}

func readHead(in *bufio.Reader) (a received, err error) {
	line, err := readLine(in)
	if err != nil {
		return a, err
	}
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	if a.status, err = strconv.Atoi(code); err != nil || len(code) != 3 || version != "HTTP/1.1" && version != "HTTP/1.0" {
		return a, fmt.Errorf("%q is no status line", line)
	}
	a.closes = version == "HTTP/1.0"
	for {
		line, err := readLine(in)
		if err != nil {
			return a, noEOF(err)
		}
		if line == "" {
			return a, nil
		}
		name, value, ok := strings.Cut(line, ": ")
		if !ok && strings.HasSuffix(line, ":") {
			name, ok = line[:len(line)-1], true
		}
		if !ok || strings.ContainsAny(name, " \t\"(),/:;<=>?@[\\]{}") || strings.ContainsFunc(line, isControl) {
			return a, fmt.Errorf("%q is no header line", line)
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		a.headers = append(a.headers, field{name, value})
		if name == "Connection" {
			a.closes = value == "close" || a.closes && value != "keep-alive"
		}
	}
}

func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }

// readLine reads a line that ends with CR and LF.
func readLine(in *bufio.Reader) (string, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		if len(line) > 0 {
			err = noEOF(err)
		}
		return "", err
	}
	if !bytes.HasSuffix(line, []byte("\r\n")) {
		return "", fmt.Errorf("%q does not end with CR LF", line)
	}
	return string(line[:len(line)-2]), nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (a *received) readBody(in *bufio.Reader, head bool, buffer []byte) (err error) {
	length, encoding := a.get("Content-Length"), a.get("Transfer-Encoding")
	if length != "" && encoding != "" {
		return errors.New("the response has both a length and a transfer encoding")
	}
	untilEnd := length == "" && encoding == "" && a.closes
	switch {
	case a.status == http.StatusNoContent || a.status == http.StatusNotModified, head && (!untilEnd || a.status < 400):
	case encoding == "chunked":
		a.body, err = readChunks(in, buffer)
	case length != "":
		n, numberErr := strconv.Atoi(length)
		if numberErr != nil || n < 0 {
			return fmt.Errorf("the length %q is no number", length)
		}
		a.body = grown(buffer, n)
		_, err = io.ReadFull(in, a.body)
	case untilEnd:
		a.body, err = readAll(in, buffer)
	default:
		return errors.New("the end of the response is not marked")
	}
	return noEOF(err)
}

// grown is the buffer with n more bytes.
func grown(buffer []byte, n int) []byte { return slices.Grow(buffer, n)[:len(buffer)+n] }

func readAll(in *bufio.Reader, buffer []byte) ([]byte, error) {
	for {
		piece, err := in.ReadByte()
		if errors.Is(err, io.EOF) {
			return buffer, nil
		}
		if err != nil {
			return buffer, err
		}
		buffer = append(buffer, piece)
	}
}

func readChunks(in *bufio.Reader, body []byte) ([]byte, error) {
	for {
		line, err := readLine(in)
		if err != nil {
			return body, err
		}
		size, err := strconv.ParseUint(line, 16, 31)
		if err != nil {
			return body, fmt.Errorf("%q is no size of a chunk", line)
		}
		before := len(body)
		body = grown(body, int(size)+2)
		if _, err := io.ReadFull(in, body[before:]); err != nil {
			return body, err
		}
		if !bytes.HasSuffix(body, []byte("\r\n")) {
			return body, errors.New("a chunk does not end with CR LF")
		}
		body = body[:len(body)-2]
		if size == 0 {
			return body, nil
		}
	}
}
