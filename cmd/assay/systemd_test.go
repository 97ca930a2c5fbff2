package main

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// manager is a service manager that notes what a program says.
type manager struct {
	t      *testing.T
	socket *net.UnixConn
}

func newManager(t *testing.T) (*manager, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	return &manager{t, socket}, path
}

// receives waits until the program says something, whatever it says before.
func (m *manager) receives(want string) {
	m.t.Helper()
	if err := m.socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
		m.t.Fatal(err)
	}
	message := make([]byte, 1000)
	for {
		n, err := m.socket.Read(message)
		if err != nil {
			m.t.Fatalf("%s was not received: %v", want, err)
		}
		if strings.Contains(string(message[:n]), want) {
			return
		}
	}
}

func TestServe_ServiceManager(t *testing.T) {
	t.Parallel()
	m, socket := newManager(t)
	environment := []string{"NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=300000"}
	p, err := startServerWith(environment, nodeFolder(t), "server", "serve", "--role", "read", "--dir", "data")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	m.receives("READY=1")
	m.receives("WATCHDOG=1")
	m.receives("WATCHDOG=1")
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	m.receives("STOPPING=1")
}

func TestReachable(t *testing.T) {
	t.Parallel()
	f := func(address, want string) {
		t.Helper()
		tcp, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if got := reachable(tcp); got != want {
			t.Errorf("%s is reachable at %s, want %s", address, got, want)
		}
	}
	f("127.0.0.1:80", "127.0.0.1:80")
	f("0.0.0.0:80", "localhost:80")
	f("[::]:80", "localhost:80")
	f("192.0.2.1:80", "192.0.2.1:80")
}
