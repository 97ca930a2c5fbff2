package web

import (
	"errors"
	"io"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// slowBody is a body of which a piece arrives each time that the pause has passed, over a connection with a deadline.
type slowBody struct {
	http.ResponseWriter
	piece, pieces int
	pause         time.Duration
	deadline      time.Time
}

func (b *slowBody) SetReadDeadline(at time.Time) error {
	b.deadline = at
	return nil
}

func (b *slowBody) Close() error { return nil }

func (b *slowBody) Read(p []byte) (int, error) {
	if b.pieces == 0 {
		return 0, io.EOF
	}
	if left := time.Until(b.deadline); left < b.pause {
		time.Sleep(max(0, left))
		return 0, os.ErrDeadlineExceeded
	}
	time.Sleep(b.pause)
	b.pieces--
	return min(len(p), b.piece), nil
}

func TestUpload_Pace(t *testing.T) {
	t.Parallel()
	f := func(name string, b *slowBody, storing time.Duration, want error) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &Request{http: &http.Request{Body: b}, out: writer{ResponseWriter: b}}
				u := r.Upload()
				var err error
				for buffer := make([]byte, 32<<10); err == nil; time.Sleep(storing) {
					_, err = u.Read(buffer)
				}
				if !errors.Is(err, want) {
					t.Errorf("the body ends with %v, want %v", err, want)
				}
			})
		})
	}
	f("at once", &slowBody{piece: 100, pieces: 1}, 0, io.EOF)
	f("silent", &slowBody{piece: 100, pieces: 1, pause: time.Hour}, 0, ErrTooSlow)
	f("byte by byte", &slowBody{piece: 1, pieces: 1000, pause: time.Second}, 0, ErrTooSlow)
	f("just fast enough", &slowBody{piece: 10 << 10, pieces: 100, pause: 9 * time.Second}, 0, io.EOF)
	f("just too slow", &slowBody{piece: 10 << 10, pieces: 100, pause: 11 * time.Second}, 0, ErrTooSlow)
	f("our own slowness", &slowBody{piece: 10 << 10, pieces: 100, pause: time.Second}, time.Minute, io.EOF)
}
