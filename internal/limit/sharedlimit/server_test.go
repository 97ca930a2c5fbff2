package sharedlimit

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydata/assay/tools/testenv"
)

// server is a redis-server that belongs to one test, which may kill it.
type server struct {
	t       testing.TB
	port    string
	dir     string
	args    []string
	process *exec.Cmd
}

// startServer starts a redis-server on a spare port. It skips the test if none is installed.
func startServer(t testing.TB, args ...string) *server {
	t.Helper()
	testenv.Require(t, testenv.Redis)
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("NOT COVERED: there is no redis-server on this machine; scripts/need redis-server installs it")
	}
	for range 5 { // another process may take the port first
		s := &server{t: t, port: sparePort(t), dir: t.TempDir(), args: args}
		if s.start() {
			return s
		}
	}
	t.Fatal("redis-server did not start on any of five ports")
	return nil
}

// usedPorts are those that sparePort has returned: a killed server gets its port back.
var usedPorts sync.Map

// sparePort returns a port below those that the system gives to outgoing connections, as such a connection could take
// the port of a killed server.
func sparePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(20_000 + rand.IntN(12_000))
		if _, used := usedPorts.LoadOrStore(port, true); used {
			continue
		}
		if listener, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_ = listener.Close()
			return port
		}
	}
	t.Fatal("none of 100 ports is unused")
	return ""
}

// start returns once the server accepts connections, or false if it ends.
func (s *server) start() bool {
	s.t.Helper()
	args := []string{"--bind", "127.0.0.1", "--port", s.port, "--save", "", "--appendonly", "no", "--dir", s.dir}
	args = append(args, s.args...)
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

// restart starts the server again after it was killed.
func (s *server) restart() {
	s.t.Helper()
	if !s.start() {
		s.t.Fatal("redis-server does not start again")
	}
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

// anyServer returns the address of a server that the test does not stop: the one in ASSAY_TEST_REDIS, or a new one.
func anyServer(t testing.TB) string {
	t.Helper()
	testenv.Require(t, testenv.Redis)
	if address := os.Getenv("ASSAY_TEST_REDIS"); address != "" {
		return address
	}
	return startServer(t).address()
}

// node is one process of the program, as far as it uses this package.
type node struct {
	*Redis
	log *recorder
}

// openNode connects and keeps Run running until the test ends.
func openNode(t testing.TB, address string) *node {
	t.Helper()
	n := &node{log: newRecorder()}
	var err error
	if n.Redis, err = Open(t.Context(), address, slog.New(n.log)); err != nil {
		t.Fatal(err)
	}
	n.run(t)
	return n
}

// openPatient is openNode for tests that are not about waiting: the node waits for Redis as long as it takes on a
// busy machine.
func openPatient(t testing.TB, address string) *node {
	t.Helper()
	options, err := parseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	options.DialTimeout, options.PoolTimeout = patience, patience
	options.ReadTimeout, options.WriteTimeout = patience, patience
	n := &node{log: newRecorder()}
	n.Redis = connect(t.Context(), options, slog.New(n.log))
	n.Wait = patience
	n.run(t)
	return n
}

// patience is longer than any delay of the machine.
const patience = 10 * time.Minute

func (n *node) run(t testing.TB) {
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
}

// openShared is openNode for tests that need Redis from the start. The first probe may fail: on a busy machine, or
// just after a cluster was made.
func openShared(t testing.TB, address string) *node {
	t.Helper()
	n := openNode(t, address)
	n.awaitMode(Shared)
	return n
}

// openSharedPatient is both.
func openSharedPatient(t testing.TB, address string) *node {
	t.Helper()
	n := openPatient(t, address)
	n.awaitMode(Shared)
	return n
}

// awaitMode returns once the node is in the mode.
func (n *node) awaitMode(mode Mode) {
	for {
		next := n.log.next() // before the mode is read, so that no change is missed: each is followed by a line
		if n.Mode() == mode {
			return
		}
		<-next
	}
}

// awaitLine returns once the log has a line with the words.
func (n *node) awaitLine(words string) {
	for {
		next := n.log.next()
		if strings.Contains(n.log.text(), words) {
			return
		}
		<-next
	}
}

// recorder is a log handler that keeps every line.
type recorder struct {
	mu    sync.Mutex
	lines []string      // guarded by mu
	more  chan struct{} // closed at the next line; guarded by mu
}

func newRecorder() *recorder { return &recorder{more: make(chan struct{})} }

// next returns a channel that is closed at the next line.
func (r *recorder) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.more
}

// text returns all lines so far.
func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n")
}

func (r *recorder) Enabled(context.Context, slog.Level) bool { return true }
func (r *recorder) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *recorder) WithGroup(string) slog.Handler            { return r }

func (r *recorder) Handle(_ context.Context, record slog.Record) error {
	var line strings.Builder
	line.WriteString(record.Message)
	record.Attrs(func(a slog.Attr) bool {
		line.WriteString(" " + a.String())
		return true
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line.String())
	close(r.more)
	r.more = make(chan struct{})
	return nil
}
