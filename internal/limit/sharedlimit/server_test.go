package sharedlimit

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/tools/testenv"
)

// server is a redis-server of the test's own, which it may kill.
type server struct {
	t       testing.TB
	port    string
	dir     string
	args    []string
	process *exec.Cmd
}

// startServer starts one on a spare port. A test that needs it says so when there is none on this machine.
func startServer(t testing.TB, args ...string) *server {
	t.Helper()
	testenv.Require(t, testenv.Redis)
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("NOT COVERED: there is no redis-server on this machine; scripts/need redis-server installs it")
	}
	for range 5 { // somebody else may take the port first
		s := &server{t: t, port: sparePort(t), dir: t.TempDir(), args: args}
		if s.start() {
			return s
		}
	}
	t.Fatal("redis-server did not start on any of five ports")
	return nil
}

func sparePort(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

// start starts the server, or starts it again after it was killed, and returns once it takes connections.
func (s *server) start() bool {
	s.t.Helper()
	args := append([]string{"--bind", "127.0.0.1", "--port", s.port, "--save", "", "--appendonly", "no", "--dir", s.dir}, s.args...)
	s.process = exec.Command("redis-server", args...)
	out, err := s.process.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	process := s.process
	s.t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "eady to accept connections") {
			go io.Copy(io.Discard, out)
			return true
		}
	}
	return false
}

// kill ends the server as kill -9 does, and returns once it is gone.
func (s *server) kill() {
	s.t.Helper()
	if err := s.process.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	_ = s.process.Wait()
}

func (s *server) signal(what os.Signal) {
	s.t.Helper()
	if err := s.process.Process.Signal(what); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) address() string { return "redis://127.0.0.1:" + s.port }

// anyServer is the address of a server that the test does not stop: the one that ASSAY_TEST_REDIS names, or its own.
func anyServer(t testing.TB) string {
	t.Helper()
	testenv.Require(t, testenv.Redis)
	if address := os.Getenv("ASSAY_TEST_REDIS"); address != "" {
		return address
	}
	return startServer(t).address()
}

// node is what one process of the program has of this package.
type node struct {
	*Redis
	told lines
}

// openNode connects and keeps Run running until the test ends.
func openNode(t testing.TB, address string) *node {
	t.Helper()
	n := &node{told: make(lines, 100)}
	var err error
	if n.Redis, err = Open(t.Context(), address, slog.New(n.told)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// openShared is openNode for tests that begin with Redis at hand: on a busy machine, or just after a cluster was made, the
// first probe may fail.
func openShared(t testing.TB, address string) *node {
	t.Helper()
	n := openNode(t, address)
	if n.Mode() != Shared {
		n.hears(t, "shared through Redis again")
	}
	return n
}

// patient lets the node wait for Redis as long as it takes: on a busy machine a test that is not about waiting must not fail.
func (n *node) patient() *node {
	n.Wait = time.Minute
	return n
}

// hears waits for a line of the log with the words in it.
func (n *node) hears(t testing.TB, words string) string {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		select {
		case line := <-n.told:
			if strings.Contains(line, words) {
				return line
			}
		case <-late:
			t.Fatalf("the log has no line with %q", words)
		}
	}
}

// lines is a log that can be waited for.
type lines chan string

func (l lines) Enabled(context.Context, slog.Level) bool { return true }
func (l lines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l lines) WithGroup(string) slog.Handler            { return l }

func (l lines) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	line.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool { line.WriteString(" " + a.String()); return true })
	l <- line.String()
	return nil
}
