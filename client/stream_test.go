package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/client"
)

const hello = "id: 7-0\nevent: hello\ndata: {\"success\":true,\"access\":\"full\",\"version\":7,\"heartbeat_seconds\":15}\n\n"

// streamer serves one text after the other, each on a connection of its own. Behind the last it responds 403.
type streamer struct {
	texts []string
	piece int // bytes that are sent at a time; 0 for all

	mu   sync.Mutex
	seen []string // Last-Event-ID, by connection
	url  string   // of the last request
}

func (s *streamer) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	s.mu.Lock()
	n := len(s.seen)
	s.seen, s.url = append(s.seen, in.Header.Get("Last-Event-ID")), in.URL.RequestURI()
	s.mu.Unlock()
	if n >= len(s.texts) {
		writeJSON(out, 403, `{"error":"Forbidden","code":"full_required","message":"No more.","request_id":"r"}`)
		return
	}
	if status, rest, ok := strings.Cut(s.texts[n], "!"); ok {
		out.Header().Set("Retry-After", rest)
		writeJSON(out, map[string]int{"500": 500, "503": 503, "404": 404}[status], "{}")
		return
	}
	out.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	text := s.texts[n]
	for len(text) > 0 {
		size := len(text)
		if s.piece > 0 {
			size = min(size, s.piece)
		}
		_, _ = io.WriteString(out, text[:size])
		out.(http.Flusher).Flush()
		text = text[size:]
	}
}

// follow collects the events of a stream, and the error that ends it.
func follow(t *testing.T, c *client.Client, p *client.StreamParams) (events []string, err error) {
	t.Helper()
	for e, err := range c.Stream(t.Context(), p) {
		if err != nil {
			return events, err
		}
		events = append(events, fmt.Sprintf("%s %s %s", e.ID, e.Name, e.Data))
	}
	return events, nil
}

// A stream is read as the standard says, wherever the network cuts it.
func TestStream_Format(t *testing.T) {
	t.Parallel()
	f := func(name, text string, want ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, piece := range []int{0, 1, 3} {
				s := &streamer{texts: []string{text}, piece: piece}
				got, err := follow(t, respond(t, s.ServeHTTP), nil)
				if fmt.Sprint(got) != fmt.Sprint(want) || failure(t, err).Code != "full_required" {
					t.Errorf("in pieces of %d: got %q, %v, want %q", piece, got, err, want)
				}
			}
		})
	}
	f("LF", "id: 1\nevent: day\ndata: {}\n\n", "1 day {}")
	f("CR LF", "id: 1\r\nevent: day\r\ndata: {}\r\n\r\ndata: 2\r\n\r\n", "1 day {}", "1 message 2")
	f("CR", "id: 1\revent: day\rdata: {}\r\r", "1 day {}")
	f("all three", "id: 1\revent: day\r\ndata: {}\n\r\ndata: 2\r\r", "1 day {}", "1 message 2")
	f("a byte order mark", "\ufeffid: 1\ndata: {}\n\n", "1 message {}")
	f("a byte order mark later is text", "id: 1\n\ufeffdata: {}\ndata: 2\n\n", "1 message 2")
	f("comments", ": heartbeat\n\n:\n:x\nid: 1\n: data: no\ndata: {}\n\n: heartbeat\n\n", "1 message {}")
	f("many lines of data", "data: {\ndata:  \"a\":\ndata\ndata:1}\n\n", " message {\n \"a\":\n\n1}")
	f("one space is dropped", "data:  x\ndata:y\n\n", " message  x\ny")
	f("more colons", "data: a:b: c\n\n", " message a:b: c")
	f("beyond ASCII", "event: day\ndata: \"Zürich — 東京 🖥\"\n\n", ` day "Zürich — 東京 🖥"`)
	f("no data, no event", "id: 1\nevent: day\n\ndata: {}\n\n", "1 message {}")
	f("an empty id forgets", "id: 1\ndata: 1\n\nid:\ndata: 2\n\n", "1 message 1", " message 2")
	f("an id stays", "id: 1\ndata: 1\n\ndata: 2\n\n", "1 message 1", "1 message 2")
	f("an id with NUL is ignored", "id: 1\ndata: 1\n\nid: 2\x00\ndata: 2\n\n", "1 message 1", "1 message 2")
	f("an id that no header can have is ignored", "id: 1\ndata: 1\n\nid: a\x01b\ndata: 2\n\n", "1 message 1", "1 message 2")
	f("unknown fields", "color: red\nid: 1\nevents: x\ndata: {}\n\n", "1 message {}")
	f("an unknown event", "event: eclipse\ndata: {}\n\n", " eclipse {}")
	f("the end within an event", "data: 1\n\nid: 2\ndata: 2\n", " message 1")
}

// After a lost connection the stream resumes after the last event that the loop has taken.
func TestStream_Resumes(t *testing.T) {
	t.Parallel()
	s := &streamer{texts: []string{
		hello + "id: 7-1\nevent: hour\ndata: 1\n\nid: 7-2\nevent: hour\ndata: 2\n",
		"503!9",
		"500!",
		hello + "id: 8-1\nevent: gap\ndata: {\"reason\":\"too_old\",\"catch_up\":\"/api/corrections?since=x\"}\n\n",
		"retry: 90000\n" + hello + "id: 8-2\nevent: bye\ndata: {\"reason\":\"slow_reader\",\"message\":\"Too slow.\"}\n\nid: 8-3\nevent: hour\ndata: 9\n\n",
	}}
	sleeps := &sleeper{}
	c := respond(t, s.ServeHTTP, sleeps.option())
	got, err := follow(t, c, &client.StreamParams{
		Event: []string{"hour", "day"}, GPU: []string{"H100 SXM"}, LastEventID: "6-9",
	})
	if failure(t, err).Kind != assay.Forbidden {
		t.Errorf("it ends with %v", err)
	}
	if text := strings.Join(eventNames(got), " "); text != "hello hour hello gap hello bye" {
		t.Errorf("the events are %s", text)
	}
	if text := fmt.Sprint(s.seen); text != "[6-9 7-1 7-1 7-1 8-1 8-2]" {
		t.Errorf("it has resumed after %s", text)
	}
	if s.url != "/api/stream?event=hour&event=day&gpu=H100+SXM" {
		t.Errorf("it requests %s", s.url)
	}
	w := sleeps.waits
	if len(w) != 5 || w[1] < 9*time.Second || w[4] != 90*time.Second {
		t.Errorf("it waits %v", w)
	}
	for _, i := range []int{0, 2, 3} {
		if w[i] > 4*time.Second {
			t.Errorf("wait %d is %v", i, w[i])
		}
	}
}

// eventNames are the names of events.
func eventNames(events []string) (list []string) {
	for _, e := range events {
		list = append(list, strings.Fields(strings.TrimLeft(e, "0123456789-"))[0])
	}
	return list
}

// What ends a stream, and what does not.
func TestStream_Ends(t *testing.T) {
	t.Parallel()
	f := func(name string, want string, connections int, texts ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &streamer{texts: texts}
			_, err := follow(t, respond(t, s.ServeHTTP), nil)
			if e := failure(t, err); e.Code != want || len(s.seen) != connections {
				t.Errorf("after %d connections: %+v; want %s after %d", len(s.seen), e, want, connections)
			}
		})
	}
	f("a refusal", "full_required", 1)
	f("a key that was revoked", "key_revoked", 1, hello+"event: bye\ndata: {\"reason\":\"key_revoked\",\"message\":\"Bye.\"}\n\n")
	f("a shutdown", "full_required", 2, hello+"event: bye\ndata: {\"reason\":\"shutdown\",\"message\":\"Bye.\"}\n\n")
	f("a word that is new", "full_required", 2, hello+"event: bye\ndata: {\"reason\":\"boredom\",\"message\":\"Bye.\"}\n\n")
	f("a bye that says nothing", "full_required", 2, hello+"event: bye\ndata: x\n\n")
	f("no such route", "bad_response", 1, "404!")
	f("no such route any longer", "bad_response", 2, hello, "404!")
	f("a server that is never ready", "bad_response", 4, "503!", "503!", "503!", "503!")
	f("a server that is not ready at first", "full_required", 3, "503!", hello)
	f("a server that is not ready for long", "full_required", 8, hello, "503!", "503!", "503!", "503!", "503!", hello)
	f("a line without end", "full_required", 2, hello+"data: "+strings.Repeat("x", 2<<20))
	f("an event without end", "full_required", 2, hello+strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 2000))
}

// A response that is no stream ends it, and does not loop.
func TestStream_NoStream(t *testing.T) {
	t.Parallel()
	f := func(kind string, status int, want string) {
		t.Helper()
		c := respond(t, func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Type", kind)
			out.WriteHeader(status)
		})
		if _, err := follow(t, c, nil); !strings.Contains(failure(t, err).Message, want) {
			t.Errorf("%s with %d: %v", kind, status, err)
		}
	}
	f("text/html", 200, "not a stream of events")
	f("", 200, "not a stream of events")
	f("text/event-stream", 204, "204 No Content")
}

// The end of the context ends the stream, also while it waits.
func TestStream_Canceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := respond(t, func(out http.ResponseWriter, in *http.Request) {
		out.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(out, hello)
		out.(http.Flusher).Flush()
		<-in.Context().Done()
	})
	for e, err := range c.Stream(ctx, nil) {
		if e.Name == "hello" {
			cancel()
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("got %+v, %v", e, err)
		}
	}
	ctx, cancel = context.WithCancel(t.Context())
	s := &streamer{texts: []string{hello}}
	waiting := &sleeper{then: cancel}
	for _, err := range respond(t, s.ServeHTTP, waiting.option()).Stream(ctx, nil) {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("while it waits: %v", err)
		}
	}
}

// A loop that is left closes the connection.
func TestStream_Left(t *testing.T) {
	t.Parallel()
	closed := make(chan bool)
	c := respond(t, func(out http.ResponseWriter, in *http.Request) {
		out.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(out, hello)
		out.(http.Flusher).Flush()
		<-in.Context().Done()
		close(closed)
	})
	for e, err := range c.Stream(t.Context(), nil) {
		var h client.Hello
		if err != nil || e.Decode(&h) != nil || h != (client.Hello{Access: "full", Version: 7, HeartbeatSeconds: 15}) {
			t.Errorf("got %+v, %v", h, err)
		}
		break
	}
	<-closed
}

// A server that says hello and then nothing, as a network that is cut off does, is given up after three heartbeats.
// With heartbeats it is not, however long no event comes.
func TestStream_Silence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		silent := &pipes{heartbeats: 3}
		began := time.Now()
		var last time.Duration
		c := newClient(t, "http://assay.example", client.WithKey(""), client.WithHTTPClient(&http.Client{Transport: silent}))
		n := 0
		for _, err := range c.Stream(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 2 {
				last = time.Since(began)
				break
			}
		}
		// three heartbeats every 15 seconds, then three of the promised 20 seconds that do not come, then less than a second
		if last < 105*time.Second || last > 106*time.Second {
			t.Errorf("it connects again after %v", last)
		}
	})
}

// pipes is a transport whose streams say hello, send some heartbeats, and are silent from then on.
type pipes struct{ heartbeats int }

func (p *pipes) RoundTrip(request *http.Request) (*http.Response, error) {
	reader, writer := io.Pipe()
	go func() {
		_, _ = io.WriteString(writer, strings.Replace(hello, `"heartbeat_seconds":15`, `"heartbeat_seconds":20`, 1))
		for range p.heartbeats {
			if !pass(request.Context(), 15*time.Second) {
				break
			}
			_, _ = io.WriteString(writer, ": heartbeat\n\n")
		}
		<-request.Context().Done()
		writer.CloseWithError(request.Context().Err())
	}()
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: reader, Request: request,
	}, nil
}

// pass lets time pass, unless the context ends first.
func pass(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
