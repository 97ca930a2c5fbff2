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

// services is one run of scripts/with-services. Its command tells the two URLs and then waits for the end of its input.
type services struct {
	cmd             *exec.Cmd
	input           io.WriteCloser
	folder          string // where the servers' folder is made
	pid             string // of the command
	postgres, redis string
	said            bytes.Buffer // standard error; to be read after the end
}

const tellAndWait = `echo "$$ $ASSAY_TEST_POSTGRES $ASSAY_TEST_REDIS"; read -r line; exit 7`

// needServers skips where the servers are not installed: a test must not install anything.
func needServers(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts servers, which the race detector does not look into")
	}
	testenv.Require(t, testenv.Postgres)
	testenv.Require(t, testenv.Redis)
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if _, err := exec.LookPath("redis-server"); err != nil || len(programs) == 0 {
		t.Skip("NOT COVERED: PostgreSQL and Redis are not installed; scripts/need postgres redis-server does it")
	}
}

// command prepares a run without the variables of the run that the test itself is in.
func command(folder string, args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + folder}
	return cmd
}

// openFolder makes a temporary folder that other users can write to, as /tmp is; the one of t.TempDir lies in a closed one.
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

// start runs with-services, behind the words of before, until its command has told the URLs.
func start(t *testing.T, before ...string) *services {
	t.Helper()
	needServers(t)
	s := &services{folder: openFolder(t)}
	s.cmd = command(s.folder, append(before, "./with-services", "sh", "-c", tellAndWait)...)
	s.cmd.Stderr = &s.said
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
	told := strings.Fields(line)
	if err != nil || len(told) != 3 {
		s.cmd.Wait()
		t.Fatalf("the command told %q (%v); with-services said:\n%s", line, err, &s.said)
	}
	s.pid, s.postgres, s.redis = told[0], told[1], told[2]
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

// exchange sends a request and reads the reply, so that the server serves the connection. PostgreSQL gives a connection that
// arrives during its shutdown to a process that waits a minute for the client's first words.
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

// wantClean checks the status of the run, and that neither servers nor files are left.
func (s *services) wantClean(t *testing.T, status int) {
	t.Helper()
	s.cmd.Wait()
	if got := exitStatus(s.cmd.ProcessState); got != status {
		t.Errorf("status %d, want %d; with-services said:\n%s", got, status, &s.said)
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

// exitStatus is the status as a shell tells it.
func exitStatus(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

func (s *services) wantAnswers(t *testing.T) {
	t.Helper()
	query := `SELECT 'B' < 'a', current_setting('fsync')` // not the order of bytes
	if got, err := exec.Command("psql", s.postgres, "-XAtc", query).CombinedOutput(); err != nil || string(got) != "f|off\n" {
		t.Errorf("PostgreSQL answers %q, %v", got, err)
	}
	exchange(t, dial(t, s.redis), "PING\r\n", "+PONG\r\n")
}

func TestWithServices_KeepsTheStatus(t *testing.T) {
	s := start(t)
	s.wantAnswers(t)
	s.input.Close()
	s.wantClean(t, 7)
	for _, want := range []string{"PostgreSQL 1", "Redis ", "on 127.0.0.1:"} {
		if !strings.Contains(s.said.String(), want) {
			t.Errorf("with-services does not say %q:\n%s", want, &s.said)
		}
	}
}

func TestWithServices_TwoAtOnce(t *testing.T) {
	one, two := start(t), start(t)
	one.input.Close()
	one.wantClean(t, 7)
	two.wantAnswers(t)
	two.input.Close()
	two.wantClean(t, 7)
}

func TestWithServices_Terminated(t *testing.T) {
	s := start(t)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.wantClean(t, 128+int(syscall.SIGTERM))
}

func TestWithServices_CommandKilled(t *testing.T) {
	s := start(t)
	if err := exec.Command("kill", "-KILL", s.pid).Run(); err != nil {
		t.Fatal(err)
	}
	s.wantClean(t, 128+int(syscall.SIGKILL))
}

// Nothing can remove the folder then, but the servers end.
func TestWithServices_Killed(t *testing.T) {
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
			t.Errorf("the server at %s outlives with-services", conn.RemoteAddr())
		}
	}
	s.input.Close()
	s.cmd.Wait()
}

func TestWithServices_PlainUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the other tests are it: they do not run as root")
	}
	s := start(t, "setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
	s.wantAnswers(t)
	s.input.Close()
	s.wantClean(t, 7)
}

func TestWithServices_YourOwnServers(t *testing.T) {
	cmd := command(t.TempDir(), "./with-services", "sh", "-c", `echo "$ASSAY_TEST_POSTGRES $ASSAY_TEST_REDIS"; exit 7`)
	cmd.Env = append(cmd.Env, "ASSAY_TEST_POSTGRES=postgres://me:secret@db/x", "ASSAY_TEST_REDIS=redis://:secret@cache/1")
	var said bytes.Buffer
	cmd.Stderr = &said
	told, _ := cmd.Output()
	if got, want := string(told), "postgres://me:secret@db/x redis://:secret@cache/1\n"; got != want {
		t.Errorf("the command has %q, want %q", got, want)
	}
	if got := exitStatus(cmd.ProcessState); got != 7 {
		t.Errorf("status %d, want 7", got)
	}
	if strings.Contains(said.String(), "secret") || strings.Count(said.String(), " names\n") != 2 {
		t.Errorf("with-services says:\n%s", &said)
	}
}

func TestWithServices_OneServerOfYourOwn(t *testing.T) {
	s := start(t, "env", "ASSAY_TEST_POSTGRES=postgres://me@127.0.0.1:1/x")
	if s.postgres != "postgres://me@127.0.0.1:1/x" {
		t.Errorf("PostgreSQL is %s", s.postgres)
	}
	dial(t, s.redis)
	s.input.Close()
	s.wantClean(t, 7)
}

func TestWithServices_Refusals(t *testing.T) {
	f := func(want string, env string, args ...string) {
		t.Helper()
		cmd := command(t.TempDir(), append([]string{"./with-services"}, args...)...)
		cmd.Env = append(cmd.Env, env)
		said, err := cmd.CombinedOutput()
		if err == nil || string(said) != "with-services: "+want+"\n" {
			t.Errorf("says %q (%v), want %q", said, err, want)
		}
	}
	f("name the command to run: scripts/with-services COMMAND…", "A=b")
	f("ASSAY_TEST_FSYNC=yes: it is on or off", "ASSAY_TEST_FSYNC=yes", "true")
	f("PGBIN=/nowhere: no postgres and initdb there", "PGBIN=/nowhere", "true")
}
