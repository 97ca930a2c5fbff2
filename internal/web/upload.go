package web

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// A body of any length must arrive at a pace: a sender who sends next to nothing would hold its place forever. Only the
// time that the server waits for the sender counts, not the time that it takes to store what has arrived.
const (
	uploadPause = 20 * time.Second
	uploadLeast = 20 << 10 // bytes within uploadPause
)

// ErrTooSlow is the error of a body that arrives too slowly.
var ErrTooSlow = fmt.Errorf("it arrives too slowly, must have at least %d bytes within %d seconds",
	uploadLeast, Seconds(uploadPause))

// Upload is a body of any length. Nothing of it is kept.
type Upload struct {
	request *Request
	conn    *conn // nil in tests without connections
	left    time.Duration
	kept    atomic.Int64 // the second of KeepOpen
	arrived int
	ended   bool
	sum     hash.Hash
}

// Upload returns the body of a request, of any length. A reader that is slow slows the sender down.
func (r *Request) Upload() *Upload {
	u := &Upload{request: r, left: uploadPause, sum: sha256.New()}
	u.conn, _ = r.http.Context().Value(connKey{}).(*conn)
	return u
}

// Read reads a part of the body, and gives the connection more time.
func (u *Upload) Read(p []byte) (int, error) {
	begin := time.Now()
	u.request.setBodyDeadline(begin.Add(u.left))
	u.KeepOpen()
	n, err := u.request.http.Body.Read(p)
	_, _ = u.sum.Write(p[:n]) // never fails
	u.left -= time.Since(begin)
	if u.arrived += n; u.arrived >= uploadLeast {
		u.left, u.arrived = uploadPause, 0
	}
	switch {
	case errors.Is(err, io.EOF):
		u.ended = true
		u.request.setBodyDeadline(time.Time{}) // what follows is the wait for the client to hang up
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = ErrTooSlow
	}
	return n, err
}

// KeepOpen gives the connection as much time again as a response may take. Any goroutine may call it.
func (u *Upload) KeepOpen() {
	if u.conn == nil {
		return
	}
	now := u.conn.owner.now.Load()
	u.conn.deadline.Store(now + responseTimeout)
	if u.request.http.ProtoMajor == 2 && u.kept.Swap(now) != now {
		_ = http.NewResponseController(u.request.out.ResponseWriter).SetWriteDeadline(time.Now().Add(streamTimeout))
	}
}

// Close ends the reading of a body. The time that is left is for what net/http reads of the rest.
func (u *Upload) Close() {
	u.KeepOpen()
	if !u.ended {
		u.request.setBodyDeadline(time.Now().Add(bodyTimeout))
	}
}

// Sum returns the SHA-256 of what was read.
func (u *Upload) Sum() (sum [sha256.Size]byte) {
	copy(sum[:], u.sum.Sum(nil))
	return sum
}

// Length is how long the client says the body is; -1 if it does not say.
func (u *Upload) Length() int64 { return u.request.http.ContentLength }

// MediaType is the type that the client says the body has, without parameters; empty if it says none.
func (r *Request) MediaType() string {
	given, _, err := mime.ParseMediaType(r.http.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return given
}

// Coding is the content encoding of the body, in lower case; empty if it is sent as it is.
func (r *Request) Coding() string {
	coding := strings.ToLower(strings.TrimSpace(strings.Join(r.http.Header["Content-Encoding"], ",")))
	if coding == "identity" {
		return ""
	}
	return coding
}

// Bearer returns the key in the Authorization header of a request whose route looks at keys itself.
func (r *Request) Bearer() (key string, ok bool) {
	header := r.http.Header["Authorization"]
	if header == nil {
		return "", false
	}
	key, err := bearer(header)
	return key, err == nil
}
