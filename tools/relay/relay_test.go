package relay

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// echo is a server that sends back what it receives.
func echo(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); _ = conn.Close() }()
		}
	}()
	return listener.Addr().String()
}

type rig struct {
	*Relay
	t    *testing.T
	conn net.Conn
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r, err := Open(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return &rig{Relay: r, t: t}
}

func (r *rig) dial() {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.Address())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	r.conn = conn
}

func (r *rig) set(fault Fault) {
	r.t.Helper()
	if err := r.Set(fault); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) send(text string) {
	r.t.Helper()
	if _, err := io.WriteString(r.conn, text); err != nil {
		r.t.Fatal(err)
	}
}

// receives waits for the text to come back, and returns how long that took.
func (r *rig) receives(text string) time.Duration {
	r.t.Helper()
	began, got := time.Now(), make([]byte, len(text))
	if _, err := io.ReadFull(r.conn, got); err != nil || string(got) != text {
		r.t.Fatalf("got %q, %v; want %q", got, err, text)
	}
	return time.Since(began)
}

func TestRelay_Passes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.dial()
	r.send("hello")
	r.receives("hello")
	if err := r.conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open after its end")
	}
}

func TestRelay_SilentThenAll(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.dial()
	r.set(Silent)
	r.send("held ")
	_ = r.conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := r.conn.Read(make([]byte, 1)); n > 0 || !os.IsTimeout(err) {
		t.Fatalf("%d bytes, %v; want nothing", n, err)
	}
	_ = r.conn.SetReadDeadline(time.Time{})
	old := r.conn
	r.dial()
	r.send("new")
	r.set(None)
	r.receives("new")
	r.conn = old
	r.send("and more")
	r.receives("held and more")
}

func TestRelay_SlowAndTrickle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.dial()
	r.set(Slow)
	r.send("late")
	if took := r.receives("late"); took < slowBy {
		t.Errorf("slow: %v, want at least %v", took, slowBy)
	}
	r.set(Trickle)
	r.send("drops")
	if took := r.receives("drops"); took < 5*trickleEvery {
		t.Errorf("trickle: %v, want at least %v", took, 5*trickleEvery)
	}
}

func TestRelay_ResetAndDown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, fault := range []Fault{Reset, Down} {
		r.dial()
		r.send("hello")
		r.receives("hello")
		r.set(fault)
		if _, err := r.conn.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v, want a reset", fault, err)
		}
		conn, err := net.Dial("tcp", r.Address())
		if fault == Down && err == nil {
			t.Error("down: a connection was made")
		}
		if err == nil {
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				t.Errorf("%s: a new connection is served", fault)
			}
			_ = conn.Close()
		}
		r.set(None)
	}
	r.dial()
	r.send("again")
	r.receives("again")
}

func TestRelay_Closed(t *testing.T) {
	t.Parallel()
	r, err := Open(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Set(Silent); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", r.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "held"); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if r.Set(None) == nil {
		t.Error("a closed relay accepts a fault")
	}
}
