package http1

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/memfile"
)

// running is a server on loopback.
type running struct {
	*Server
	listener net.Listener
	handed   chan string   // what was read of connections that were handed off
	idle     chan struct{} // a connection has become idle
	conns    sync.WaitGroup
}

// serve runs a handler on loopback.
func serve(t *testing.T, handler http.HandlerFunc) *running {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &running{listener: l, handed: make(chan string, 1), idle: make(chan struct{}, 1)}
	r.Server = &Server{
		Handler: handler, Log: slog.New(slog.DiscardHandler),
		Changed: func(_ net.Conn, state http.ConnState) {
			if state == http.StateIdle {
				select {
				case r.idle <- struct{}{}:
				default: // no one has looked for a while
				}
			}
		},
		HandOff: func(nc net.Conn, unread []byte) {
			nc.Close()
			r.handed <- string(unread)
		},
	}
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			r.conns.Go(func() { r.ServeConn(nc) })
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-accepting
		r.Close()
		r.conns.Wait()
	})
	return r
}

// dial connects to the server. A test that would hang fails instead.
func (r *running) dial(t *testing.T) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	nc, err := net.Dial("tcp", r.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return nc.(*net.TCPConn), bufio.NewReader(nc)
}

func send(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

// receive reads a response.
func receive(t *testing.T, from *bufio.Reader) (*http.Response, string) {
	t.Helper()
	response, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

const hello = "GET /hello HTTP/1.1\r\nHost: assay\r\n\r\n"

func echo(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) }

func TestServer_Pipelined(t *testing.T) {
	t.Parallel()
	client, reader := serve(t, echo).dial(t)
	const many = 2000 // with their responses far more than any buffer here
	go func() {
		for range many {
			_, _ = io.WriteString(client, "GET /one HTTP/1.1\r\nHost: a\r\n\r\nGET /two HTTP/1.1\r\nHost: a\r\n\r\n")
		}
	}()
	for range many {
		for _, want := range []string{"/one", "/two"} {
			if _, body := receive(t, reader); body != want {
				t.Fatalf("response %q, want %q", body, want)
			}
		}
	}
}

// A client that reads slowly gets every byte, and keeps no one else waiting.
func TestServer_SlowReader(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // more than the kernel takes
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hello" {
			echo(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		if r.URL.Path == "/sized" {
			w.Header().Set("Content-Length", "16777216")
		}
		for piece := range bytes.Lines(content) {
			_, _ = w.Write(piece)
		}
	})
	for _, path := range []string{"/sized", "/chunks"} {
		slow, slowReader := s.dial(t)
		send(t, slow, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n")
		other, otherReader := s.dial(t)
		send(t, other, hello)
		if _, body := receive(t, otherReader); body != "/hello" {
			t.Errorf("another client gets %q", body)
		}
		if _, body := receive(t, slowReader); body != string(content) {
			t.Errorf("%s: %d bytes of %d, or others", path, len(body), len(content))
		}
	}
}

// A file is sent as the body: to a HEAD request only its length, between other responses in their order, and to a slow
// client even when no one else refers to the file any more.
func TestServer_File(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // more than the kernel takes
	var file atomic.Pointer[memfile.File]
	newFile := func() { file.Store(memfile.New([][]byte{content[:1], content[1:]})) }
	if newFile(); file.Load() == nil {
		t.Skip("this system has no such files")
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hello" {
			echo(w, r)
			return
		}
		out := w.(*Response)
		if !out.WritesFiles() {
			t.Error("a connection that takes no files")
		}
		f := file.Swap(nil)
		out.Start(http.StatusOK, []byte("Content-Type: text/plain\r\n"), f.Size())
		out.WriteFile(f)
	})
	const get, head = "GET /file HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD /file HTTP/1.1\r\nHost: a\r\n\r\n"
	client, reader := s.dial(t)
	send(t, client, head)
	response, err := http.ReadResponse(reader, &http.Request{Method: http.MethodHead})
	if err != nil || response.ContentLength != int64(len(content)) {
		t.Fatalf("%v, %+v", err, response)
	}

	newFile()
	send(t, client, hello+get+hello)
	if _, body := receive(t, reader); body != "/hello" {
		t.Errorf("before it comes %q", body)
	}
	if _, err := reader.Peek(1); err != nil { // it is being sent
		t.Fatal(err)
	}
	runtime.GC()
	runtime.GC()
	if _, body := receive(t, reader); body != string(content) {
		t.Errorf("%d bytes of %d, or others", len(body), len(content))
	}
	if _, body := receive(t, reader); body != "/hello" {
		t.Errorf("after it comes %q", body)
	}

	newFile()
	send(t, client, get)
	if _, err := reader.Peek(1); err != nil {
		t.Fatal(err)
	}
	client.Close() // serve's cleanup waits for the connection to end
}

// The context of a request ends when its client goes away, and not when the client sends its next request.
func TestServer_Context(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan error, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hello" {
			echo(w, r)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), time.Hour)
		defer cancel()
		close(began)
		<-ctx.Done()
		ended <- r.Context().Err()
	})
	client, _ := s.dial(t)
	send(t, client, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
	<-began
	client.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the context ends with %v", err)
	}
}

func TestServer_ContextOfPipelinedRequests(t *testing.T) {
	t.Parallel()
	contexts := make(chan context.Context, 10)
	proceed := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		r.Context().Done()
		contexts <- r.Context()
		<-proceed
		if err := r.Context().Err(); err != nil {
			t.Errorf("%s: the context ends with %v", r.RequestURI, err)
		}
		echo(w, r)
	})
	client, reader := s.dial(t)
	send(t, client, "GET /one HTTP/1.1\r\nHost: a\r\n\r\n")
	first := <-contexts
	send(t, client, "GET /two HTTP/1.1\r\nHost: a\r\n\r\nGET /three HTTP/1.1\r\nHost: a\r\n\r\n"+
		"GET /four HTTP/1.1\r\nHost: a\r\n\r\n")
	for _, want := range []string{"/one", "/two", "/three", "/four"} {
		proceed <- struct{}{}
		if _, body := receive(t, reader); body != want {
			t.Errorf("response %q, want %q", body, want)
		}
	}
	<-first.Done() // when its request has been served
}

func TestServer_HandOff(t *testing.T) {
	t.Parallel()
	s := serve(t, echo)
	const post = "POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel"
	client, reader := s.dial(t)
	send(t, client, hello+post)
	if _, body := receive(t, reader); body != "/hello" {
		t.Errorf("the request before it gets %q", body)
	}
	if got := <-s.handed; got != post {
		t.Errorf("%q was handed off", got)
	}
	client, _ = s.dial(t)
	long := "GET /" + strings.Repeat("x", 2*maxHead) + " HTTP/1.1\r\nHost: a\r\n\r\n"
	send(t, client, long)
	if got := <-s.handed; !strings.HasPrefix(long, got) || len(got) < maxHead {
		t.Errorf("%d bytes were handed off", len(got))
	}
}

func TestServer_Shutdown(t *testing.T) {
	t.Parallel()
	proceed := make(chan struct{})
	began := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(began)
			<-proceed
		}
		echo(w, r)
	})
	idle, idleReader := s.dial(t)
	send(t, idle, hello)
	receive(t, idleReader)
	<-s.idle
	partial, partialReader := s.dial(t)
	send(t, partial, "GET /par")
	busy, busyReader := s.dial(t)
	send(t, busy, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
	<-began
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(short); !errors.Is(err, context.Canceled) {
		t.Errorf("a server with a request in flight has shut down: %v", err)
	}
	for _, reader := range []*bufio.Reader{idleReader, partialReader} {
		if b, err := reader.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a connection without a request is open, and says %q", b)
		}
	}
	stopped := make(chan error)
	go func() { stopped <- s.Shutdown(t.Context()) }()
	close(proceed)
	if response, body := receive(t, busyReader); body != "/slow" || !response.Close {
		t.Errorf("the request in flight gets %q, and the connection stays: %v", body, !response.Close)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	late, lateReader := s.dial(t)
	_, _ = io.WriteString(late, hello)
	if b, err := lateReader.ReadByte(); err == nil {
		t.Errorf("a server that was shut down says %q", b)
	}
}

// A handler that panics has responded with nothing that could be taken for the whole.
func TestServer_Panic(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, 100_000} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hello" {
				echo(w, r)
				return
			}
			_, _ = w.Write(bytes.Repeat([]byte("x"), size))
			panic("a bug")
		})
		client, reader := s.dial(t)
		send(t, client, hello+"GET /panic HTTP/1.1\r\nHost: a\r\n\r\n"+hello)
		if _, body := receive(t, reader); body != "/hello" {
			t.Errorf("the request before gets %q", body)
		}
		response, err := http.ReadResponse(reader, nil)
		if err == nil {
			_, err = io.ReadAll(response.Body)
		}
		if err == nil {
			t.Errorf("a body of %d bytes ends as if it were whole", size)
		}
	}
}

// A handler cannot add headers by a line end in a value.
func TestResponse_LineEndInHeader(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-A", "1\r\nX-B: 2\n\r\nbody") })
	client, reader := s.dial(t)
	send(t, client, hello)
	response, body := receive(t, reader)
	if response.Header.Get("X-A") != "1  X-B: 2   body" || response.Header["X-B"] != nil || body != "" {
		t.Errorf("%v %q", response.Header, body)
	}
}

// A handler that promises more or less than it writes cannot mix up the responses after it.
func TestResponse_WrongLength(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "5")
		_, err := io.WriteString(w, strings.TrimPrefix(r.URL.Path, "/"))
		if (err != nil) != (r.URL.Path == "/longer") {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
	})
	for _, path := range []string{"/four", "/longer"} {
		client, reader := s.dial(t)
		send(t, client, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\nGET /fives HTTP/1.1\r\nHost: a\r\n\r\n")
		text, err := io.ReadAll(reader)
		if err != nil || strings.Contains(string(text), "fives") || strings.Contains(string(text), "longer") {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
}
