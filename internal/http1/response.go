package http1

import (
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay/internal/memfile"
)

// Response writes the response to a request. It is the http.ResponseWriter of handlers; one that knows it can start the
// response at less cost.
type Response struct {
	conn    *conn
	header  http.Header // nil unless the handler uses it
	status  int         // 0 before the response has started
	form    bodyForm
	length  int64 // that the handler has promised; -1 for none
	written int64 // of the body
	sent    bool  // some of it has left
	piece   [1][]byte
}

// bodyForm is how the body is sent.
type bodyForm uint8

const (
	noBody  bodyForm = iota // there is none, or it is not sent
	counted                 // it is not sent, but its length is
	sized                   // its length is in the header
	waiting                 // its length is not known yet; it waits, as far as there is room
	chunked                 // it had no room, and goes out in chunks
)

// maxWaiting is how much of a body waits for its end, so that its length can be told.
const maxWaiting = 32 << 10

func (w *Response) reset() {
	*w = Response{conn: w.conn, header: w.header, length: -1}
	clear(w.header)
}

// Header returns the header that WriteHeader is going to send.
func (w *Response) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

// WriteHeader starts the response.
func (w *Response) WriteHeader(status int) { w.Start(status, nil, -1) }

// CloseAfter ends the connection after the response. It must be called before the response starts.
func (w *Response) CloseAfter() { w.conn.closing = true }

// Take makes take the owner of the connection once the handler has returned, which must not have started a response:
// whatever the client gets from then on, take sends. A request that the client has sent meanwhile is lost.
func (w *Response) Take(take func(net.Conn)) { w.conn.taken = take }

// Start is WriteHeader with further lines of the header, each of the form "Name: value\r\n", and with the length of the
// body if that is known; otherwise it is -1.
func (w *Response) Start(status int, lines []byte, length int) {
	if w.status != 0 {
		w.conn.server.Log.Warn("a handler has started its response twice", "status", w.status, "again", status)
		return
	}
	w.status = status
	out := appendStatusLine(w.conn.out, status)
	out = append(out, lines...)
	w.conn.out = appendDate(out)
	w.length = int64(length)
	for name, values := range w.header {
		w.addHeader(name, values)
	}
	if w.conn.closing || w.conn.server.stopping.Load() {
		w.conn.closing = true
		w.conn.out = append(w.conn.out, "Connection: close\r\n"...)
	}
	w.startBody()
}

// addHeader adds a header of the map, unless it is for this package.
func (w *Response) addHeader(name string, values []string) {
	for _, value := range values {
		switch name {
		case "Content-Length":
			if n, err := strconv.ParseUint(value, 10, 63); err == nil {
				w.length = int64(n)
			}
			continue
		case "Connection":
			w.conn.closing = w.conn.closing || value == "close"
			continue
		case "Transfer-Encoding", "Date":
			continue
		case "Content-Type":
			if w.status == http.StatusNotModified {
				continue
			}
		}
		w.conn.out = append(append(w.conn.out, name...), ": "...)
		w.conn.out = append(appendValue(w.conn.out, value), "\r\n"...)
	}
}

// appendValue appends the value of a header. A line end in it would begin another header, so it becomes a space.
func appendValue(dst []byte, value string) []byte {
	start := len(dst)
	dst = append(dst, value...)
	for i := start; i < len(dst); i++ {
		if dst[i] == '\r' || dst[i] == '\n' {
			dst[i] = ' '
		}
	}
	return dst
}

// startBody ends the head, if all of it is known.
func (w *Response) startBody() {
	bodiless := w.status < http.StatusOK || w.status == http.StatusNoContent || w.status == http.StatusNotModified
	head := w.conn.request.fields.Method == http.MethodHead
	switch {
	case bodiless:
		w.form = noBody
		w.conn.out = append(w.conn.out, "\r\n"...)
	case w.length >= 0:
		if w.form = sized; head {
			w.form = noBody
		}
		w.endHead(w.length)
	case head:
		w.form = counted
	default:
		w.form = waiting
	}
}

// endHead ends the head with the length of the body.
func (w *Response) endHead(length int64) {
	w.conn.out = strconv.AppendInt(append(w.conn.out, "Content-Length: "...), length, 10)
	w.conn.out = append(w.conn.out, "\r\n\r\n"...)
}

// Write writes a part of the body. It fails if the connection has failed, or the body is longer than promised.
func (w *Response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	c := w.conn
	w.written += int64(len(p))
	switch w.form {
	case noBody:
		if c.request.fields.Method != http.MethodHead && len(p) > 0 {
			return 0, http.ErrBodyNotAllowed
		}
		return len(p), nil
	case counted:
		return len(p), nil
	case sized:
		if w.written > w.length {
			w.written -= int64(len(p))
			return 0, http.ErrContentLength
		}
		w.writePiece(p)
	case waiting:
		if len(c.body)+len(p) <= maxWaiting {
			c.body = append(c.body, p...)
			break
		}
		c.out = append(c.out, "Transfer-Encoding: chunked\r\n\r\n"...)
		w.form = chunked
		if len(c.body) > 0 {
			w.writeChunk(c.body)
			c.body = c.body[:0]
		}
		w.writeChunk(p)
	case chunked:
		w.writeChunk(p)
	}
	if c.err != nil {
		return 0, errNotSent
	}
	return len(p), nil
}

func (w *Response) writePiece(p []byte) {
	if len(p) <= maxCopied && len(w.conn.out)+len(p) <= maxOut {
		w.conn.out = append(w.conn.out, p...)
		return
	}
	w.piece[0] = p
	w.conn.send(w.piece[:])
	w.piece[0] = nil
}

// WriteAll writes several parts of a body. It is Write for each of them, in one system call if they are large.
func (w *Response) WriteAll(parts [][]byte) {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if w.form != sized || size <= maxCopied || w.written+int64(size) > w.length {
		for _, part := range parts {
			_, _ = w.Write(part) // a network failure ends the connection
		}
		return
	}
	w.written += int64(size)
	w.conn.send(parts)
}

// WritesFiles reports whether WriteFile can be called.
func (w *Response) WritesFiles() bool { return w.conn.files != nil }

// WriteFile writes a file as the whole body, whose length was given to Start. The file is not copied.
func (w *Response) WriteFile(f *memfile.File) {
	if w.form != sized || w.length != int64(f.Size()) {
		return // no body is wanted, or finish notices that there is none
	}
	w.written = w.length
	w.conn.sendFile(f)
}

func (w *Response) writeChunk(p []byte) {
	if len(p) == 0 {
		return // it would be the end
	}
	w.conn.out = append(strconv.AppendInt(w.conn.out, int64(len(p)), 16), "\r\n"...)
	w.writePiece(p)
	w.conn.out = append(w.conn.out, "\r\n"...)
	if len(w.conn.out) > maxOut {
		w.conn.flush()
	}
}

// finish ends the response when the handler has returned.
func (w *Response) finish() {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	c := w.conn
	switch w.form {
	case counted:
		if w.written == 0 { // the handler may have noticed that none is wanted
			c.out = append(c.out, "\r\n"...)
			break
		}
		w.endHead(w.written)
	case waiting:
		w.endHead(w.written)
		w.writePiece(c.body)
		c.body = c.body[:0]
	case chunked:
		c.out = append(c.out, "0\r\n\r\n"...)
	case sized:
		if w.written < w.length { // the next response must not be taken for the rest of the body
			c.closing = true
		}
	case noBody:
	}
}

func appendStatusLine(dst []byte, status int) []byte {
	if status == http.StatusOK {
		return append(dst, "HTTP/1.1 200 OK\r\n"...)
	}
	dst = strconv.AppendInt(append(dst, "HTTP/1.1 "...), int64(status), 10)
	dst = append(append(dst, ' '), http.StatusText(status)...)
	return append(dst, "\r\n"...)
}

// dateLine is the header line Date of a second.
type dateLine struct {
	second int64
	text   string
}

var lastDate atomic.Pointer[dateLine]

// appendDate appends the header line Date.
func appendDate(dst []byte) []byte {
	now := time.Now()
	line := lastDate.Load()
	if second := now.Unix(); line == nil || line.second != second {
		line = &dateLine{second, "Date: " + now.UTC().Format(http.TimeFormat) + "\r\n"}
		lastDate.Store(line)
	}
	return append(dst, line.text...)
}
