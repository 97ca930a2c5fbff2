package push

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// pair is a connection over TCP: what the hub has of it, and what the client has. Small buffers in the
// kernel fill soon.
func pair(t *testing.T) (server, client *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	dialed, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	accepted, err := l.Accept()
	must(t, err)
	server, client = accepted.(*net.TCPConn), dialed.(*net.TCPConn)
	must(t, server.SetWriteBuffer(16<<10))
	must(t, client.SetReadBuffer(16<<10))
	must(t, client.SetReadDeadline(time.Now().Add(time.Minute)))
	t.Cleanup(func() { server.Close(); client.Close() })
	return server, client
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// all sends every connection the same.
func all(text []byte) func(Class) []byte { return func(Class) []byte { return text } }

func readAll(t *testing.T, client net.Conn) string {
	t.Helper()
	text, err := io.ReadAll(client)
	must(t, err)
	return string(text)
}

func TestSend_ByClass(t *testing.T) {
	t.Parallel()
	h := NewHub(time.Now)
	a, first := pair(t)
	b, second := pair(t)
	h.Add(&Member{Conn: a, Class: "a", First: []byte("event: hello\n\n")})
	h.Add(&Member{Conn: b, Class: "b"})
	calls := map[Class]int{}
	h.Audience().Send(func(c Class) []byte {
		calls[c]++
		return AppendEvent(nil, "price", "7-x", []byte(c.(string)))
	})
	h.Reclassify("a", "b")
	h.Audience().Send(func(c Class) []byte { return []byte(": " + c.(string) + "\n\n") })
	h.Close(t.Context())
	want := "event: hello\n\nid: 7-x\nevent: price\ndata: a\n\n: b\n\n" + string(Shutdown.event())
	if got := readAll(t, first); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := readAll(t, second); !strings.HasPrefix(got, "id: 7-x\nevent: price\ndata: b\n\n: b\n\n") {
		t.Errorf("got %q", got)
	}
	if calls["a"] != 1 || calls["b"] != 1 || h.Len() != 0 {
		t.Errorf("%v, %d connections left", calls, h.Len())
	}
}

// A client that does not read gets the event that it is in the middle of, and one that says why it is the last. No one
// waits for it.
func TestSend_SlowReader(t *testing.T) {
	t.Parallel()
	h := NewHub(time.Now)
	slow, slowClient := pair(t)
	quick, quickClient := pair(t)
	var closed atomic.Int32
	h.Add(&Member{Conn: slow, Closed: func() { closed.Add(1) }})
	h.Add(&Member{Conn: quick})
	in := bufio.NewReaderSize(quickClient, 16<<10)
	for i := range 2000 {
		data := fmt.Appendf(nil, "%d %s", i, bytes.Repeat([]byte("x"), 4<<10))
		h.Audience().Send(all(AppendEvent(nil, "print", fmt.Sprint(i), data)))
		for range 4 { // lines: the other reader has each event before the next
			if _, err := in.ReadSlice('\n'); err != nil {
				t.Fatalf("the other reader, at event %d: %v", i, err)
			}
		}
	}
	events := strings.Split(readAll(t, slowClient), "\n\n")
	for i, event := range events[:len(events)-2] {
		if !strings.HasPrefix(event, fmt.Sprintf("id: %d\nevent: print\ndata: %d x", i, i)) || len(event) < 4<<10 {
			t.Fatalf("event %d is %.60q", i, event)
		}
	}
	if bye := events[len(events)-2]; !strings.Contains(bye, `"reason":"slow_reader"`) || len(events) < 10 {
		t.Errorf("%d events, the last is %.80q", len(events), bye)
	}
	if h.Len() != 1 || closed.Load() != 1 {
		t.Errorf("%d connections left, closed %d times", h.Len(), closed.Load())
	}
	quickClient.Close()
	for h.Len() > 0 { // the goroutine of the connection notices
		time.Sleep(time.Millisecond)
	}
	if h.queued.Load() != 0 {
		t.Errorf("%d bytes wait for no one", h.queued.Load())
	}
}

func TestAdd_ClientLeaves(t *testing.T) {
	t.Parallel()
	f := func(name string, leave func(*net.TCPConn)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := NewHub(time.Now)
			server, client := pair(t)
			closed := make(chan struct{})
			h.Add(&Member{Conn: server, Closed: func() { close(closed) }})
			leave(client)
			<-closed
			if h.Len() != 0 {
				t.Error("the hub keeps the connection")
			}
		})
	}
	f("close", func(c *net.TCPConn) { c.Close() })
	f("reset", func(c *net.TCPConn) { _ = c.SetLinger(0); c.Close() })
	f("close for writing", func(c *net.TCPConn) { _ = c.CloseWrite() })
	f("send what no one reads", func(c *net.TCPConn) { _, _ = c.Write(make([]byte, 2*maxUnread)) })
}

func TestCheck_EndsRevoked(t *testing.T) {
	t.Parallel()
	h := NewHub(time.Now)
	server, client := pair(t)
	var revoked atomic.Bool
	h.Add(&Member{Conn: server, Ended: func() (Bye, bool) { return Bye{"key_revoked", "Gone."}, revoked.Load() }})
	h.check()
	if h.Len() != 1 {
		t.Fatal("ended too early")
	}
	revoked.Store(true)
	h.check()
	if got := readAll(t, client); got != "event: bye\ndata: {\"reason\":\"key_revoked\",\"message\":\"Gone.\"}\n\n" {
		t.Errorf("got %q", got)
	}
}

func TestTake_Places(t *testing.T) {
	t.Parallel()
	h := NewHub(time.Now)
	first, ok := h.Take("key a", 2)
	_, ok2 := h.Take("key a", 2)
	_, ok3 := h.Take("key a", 2)
	_, ok4 := h.Take("key b", 1)
	if !ok || !ok2 || ok3 || !ok4 {
		t.Error(ok, ok2, ok3, ok4)
	}
	first()
	first() // does not give back another one's
	if _, ok := h.Take("key a", 2); !ok {
		t.Error("the place is not free again")
	}
	if _, ok := h.Take("key a", 2); ok {
		t.Error("a place was given back twice")
	}
}

// Heartbeats are spread over the time between two, and connections do not last forever. The time is that of the bubble.
func TestRun_HeartbeatsAndLifetime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(time.Now)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = h.Run(ctx) })
		began := time.Now()
		server, client := net.Pipe()
		h.Add(&Member{Conn: server})
		beats, in, last := 0, bufio.NewReader(client), ""
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				break
			}
			if line == ": heartbeat\n" {
				beats++
			} else if line != "\n" {
				last += line
			}
			if beats == 1 && time.Since(began) > HeartbeatEvery+time.Second {
				t.Errorf("the first heartbeat came after %v", time.Since(began))
			}
		}
		lasted := time.Since(began)
		if lasted < lifetime || lasted > lifetime+lifetime/10+time.Minute || beats < int(lifetime/HeartbeatEvery)-1 {
			t.Errorf("lasted %v, %d heartbeats", lasted, beats)
		}
		if !strings.Contains(last, `"reason":"lifetime"`) {
			t.Errorf("the last event is %q", last)
		}
		stop()
		running.Wait()
	})
}

// A connection that takes nothing for a while ends even if its queue is short.
func TestDrain_Stall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(time.Now)
		server, client := net.Pipe() // takes nothing unless it is read
		defer client.Close()
		began, closed := time.Now(), make(chan time.Duration, 1)
		h.Add(&Member{Conn: server, Closed: func() { closed <- time.Since(began) }})
		h.Audience().Send(all([]byte(": one\n\n")))
		if after := <-closed; after < stall || after > stall+time.Second {
			t.Errorf("closed after %v", after)
		}
	})
}

// What ends while its queue waits for the client still gets the rest of an event, and the reason.
func TestEnd_WithinAnEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(time.Now)
		server, client := net.Pipe()
		h.Add(&Member{Conn: server})
		long := AppendEvent(nil, "day", "1", bytes.Repeat([]byte("y"), 3*drainPiece))
		h.Audience().Send(all(append(bytes.Clone(long), ": never sent\n\n"...)))
		begin := make([]byte, 100)
		if _, err := io.ReadFull(client, begin); err != nil {
			t.Fatal(err)
		}
		closed := make(chan struct{})
		go func() { h.Close(t.Context()); close(closed) }()
		synctest.Wait()
		rest, err := io.ReadAll(client)
		if got := string(begin) + string(rest); err != nil || got != string(long)+string(Shutdown.event()) {
			t.Errorf("%v, %d bytes, the end is %.100q", err, len(got), got[max(0, len(got)-100):])
		}
		<-closed
	})
}

func TestAdd_AfterClose(t *testing.T) {
	t.Parallel()
	h := NewHub(time.Now)
	h.Close(t.Context())
	server, client := pair(t)
	h.Add(&Member{Conn: server, First: []byte(": first\n\n")})
	if got := readAll(t, client); got != ": first\n\n"+string(Shutdown.event()) || h.Len() != 0 {
		t.Errorf("got %q", got)
	}
}
