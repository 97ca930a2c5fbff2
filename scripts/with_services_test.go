package scripts_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assaydata/assay/tools/testenv"
)

// services is one run of scripts/with-services. Its command prints the two URLs and then waits for the end of its
// input.
type services struct {
	cmd             *exec.Cmd
	input           io.WriteCloser
	folder          string // holds the folder of the servers
	pid             string // of the command
	postgres, redis string
	log             bytes.Buffer // standard error; read it after the end
}

const printAndWait = `echo "$$ $ASSAY_TEST_POSTGRES $ASSAY_TEST_REDIS"; read -r line; exit 7`

// needServers skips the test if the servers are not installed: a test must not install anything.
func needServers(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("the race detector finds nothing in a shell script")
	}
	testenv.Require(t, testenv.Postgres)
	testenv.Require(t, testenv.Redis)
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if _, err := exec.LookPath("redis-server"); err != nil || len(programs) == 0 {
		t.Skip("NOT COVERED: PostgreSQL and Redis are not installed; run scripts/need postgres redis-server")
	}
}

// command prepares a run without the variables of the test's own environment.
func command(folder string, args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + folder}
	return cmd
}

// openFolder makes a temporary folder that other users can write to, like /tmp; t.TempDir is inside a closed one.
func openFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "with-services-test")
	if err == nil {
		err = os.Chmod(folder, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

// start runs with-services, with a prefix, until its command has printed the URLs.
func start(t *testing.T, prefix ...string) *services {
	t.Helper()
	needServers(t)
	s := &services{folder: openFolder(t)}
	s.cmd = command(s.folder, append(prefix, "./with-services", "sh", "-c", printAndWait)...)
	s.cmd.Stderr = &s.log
	s.cmd.WaitDelay = 30 * time.Second
	input, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { input.Close() })
	s.input = input
	line, err := bufio.NewReader(output).ReadString('\n')
	fields := strings.Fields(line)
	if err != nil || len(fields) != 3 {
		s.cmd.Wait()
		t.Fatalf("the command printed %q (%v); with-services logged:\n%s", line, err, &s.log)
	}
	s.pid, s.postgres, s.redis = fields[0], fields[1], fields[2]
	return s
}

// dial opens a connection that ends when the server does.
func dial(t *testing.T, server string) net.Conn {
	t.Helper()
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// exchange sends a request and reads the reply, so that the server serves the connection. PostgreSQL gives a
// connection that arrives during its shutdown to a process that waits a minute for the client's first words.
func exchange(t *testing.T, conn net.Conn, request, reply string) {
	t.Helper()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(reply))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != reply {
		t.Fatalf("%s replies %q, %v; want %q", conn.RemoteAddr(), got, err, reply)
	}
}

// wantClean checks the status of the run, and that no servers and no files are left.
func (s *services) wantClean(t *testing.T, status int) {
	t.Helper()
	s.cmd.Wait()
	if got := exitStatus(s.cmd.ProcessState); got != status {
		t.Errorf("status %d, want %d; with-services logged:\n%s", got, status, &s.log)
	}
	for _, server := range []string{s.postgres, s.redis} {
		address, _ := url.Parse(server)
		if conn, err := net.Dial("tcp", address.Host); err == nil {
			conn.Close()
			t.Errorf("%s still listens", server)
		}
	}
	if left, err := os.ReadDir(s.folder); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder: %v %v", left, err)
	}
}

// exitStatus is the status as a shell reports it.
func exitStatus(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

func (s *services) wantReplies(t *testing.T) {
	t.Helper()
	query := `SELECT 'B' < 'a', current_setting('fsync')` // false in a language's order
	if got, err := exec.Command("psql", s.postgres, "-XAtc", query).CombinedOutput(); err != nil || string(got) != "f|off\n" {
		t.Errorf("PostgreSQL replies %q, %v", got, err)
	}
	exchange(t, dial(t, s.redis), "PING\r\n", "+PONG\r\n")
}

func TestWithServices_ReturnsTheStatus(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.wantReplies(t)
	s.input.Close()
	s.wantClean(t, 7)
	for _, want := range []string{"PostgreSQL 1", "Redis ", "on 127.0.0.1:"} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("with-services does not log %q:\n%s", want, &s.log)
		}
	}
}

func TestWithServices_TwoAtOnce(t *testing.T) {
	t.Parallel()
	one, two := start(t), start(t)
	one.input.Close()
	one.wantClean(t, 7)
	two.wantReplies(t)
	two.input.Close()
	two.wantClean(t, 7)
}

func TestWithServices_Terminated(t *testing.T) {
	t.Parallel()
	s := start(t)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.wantClean(t, 128+int(syscall.SIGTERM))
}

func TestWithServices_CommandKilled(t *testing.T) {
	t.Parallel()
	s := start(t)
	if err := exec.Command("kill", "-KILL", s.pid).Run(); err != nil {
		t.Fatal(err)
	}
	s.wantClean(t, 128+int(syscall.SIGKILL))
}

// The folder stays then, but the servers end.
func TestWithServices_Killed(t *testing.T) {
	t.Parallel()
	s := start(t)
	postgres, redis := dial(t, s.postgres), dial(t, s.redis)
	exchange(t, postgres, "\x00\x00\x00\x08\x04\xd2\x16\x2f", "N") // a request for TLS
	exchange(t, redis, "PING\r\n", "+PONG\r\n")
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, conn := range []net.Conn{postgres, redis} {
		conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the server at %s is still running", conn.RemoteAddr())
		}
	}
	s.input.Close()
	s.cmd.Wait()
}

func TestWithServices_PlainUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("the other tests cover it: they do not run as root")
	}
	s := start(t, "setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
	s.wantReplies(t)
	s.input.Close()
	s.wantClean(t, 7)
}

func TestWithServices_ExistingServers(t *testing.T) {
	t.Parallel()
	cmd := command(t.TempDir(), "./with-services", "sh", "-c", `echo "$ASSAY_TEST_POSTGRES $ASSAY_TEST_REDIS"; exit 7`)
	cmd.Env = append(cmd.Env, "ASSAY_TEST_POSTGRES=postgres://me:secret@db/x", "ASSAY_TEST_REDIS=redis://:secret@cache/1")
	var log bytes.Buffer
	cmd.Stderr = &log
	output, _ := cmd.Output()
	if got, want := string(output), "postgres://me:secret@db/x redis://:secret@cache/1\n"; got != want {
		t.Errorf("the command printed %q, want %q", got, want)
	}
	if got := exitStatus(cmd.ProcessState); got != 7 {
		t.Errorf("status %d, want 7", got)
	}
	if strings.Contains(log.String(), "secret") || strings.Count(log.String(), ": using the ") != 2 {
		t.Errorf("with-services logged:\n%s", &log)
	}
}

func TestWithServices_OneExistingServer(t *testing.T) {
	t.Parallel()
	s := start(t, "env", "ASSAY_TEST_POSTGRES=postgres://me@127.0.0.1:1/x")
	if s.postgres != "postgres://me@127.0.0.1:1/x" {
		t.Errorf("PostgreSQL is %s", s.postgres)
	}
	dial(t, s.redis)
	s.input.Close()
	s.wantClean(t, 7)
}

func TestWithServices_Refusals(t *testing.T) {
	t.Parallel()
	f := func(want string, env string, args ...string) {
		t.Helper()
		cmd := command(t.TempDir(), append([]string{"./with-services"}, args...)...)
		cmd.Env = append(cmd.Env, env)
		output, err := cmd.CombinedOutput()
		if err == nil || string(output) != "with-services: "+want+"\n" {
			t.Errorf("logged %q (%v), want %q", output, err, want)
		}
	}
	f("usage: scripts/with-services COMMAND…", "A=b")
	f("ASSAY_TEST_FSYNC=yes: must be on or off", "ASSAY_TEST_FSYNC=yes", "true")
	f("PGBIN=/nowhere: no postgres and initdb in this folder", "PGBIN=/nowhere", "true")
}
