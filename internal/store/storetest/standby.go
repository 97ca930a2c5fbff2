package storetest

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// Standby is a PostgreSQL server and its streaming replica. They are not the server of the other tests: a replica
// replays everything that its primary does, and under load the databases that other tests create and drop keep it busy
// for minutes.
type Standby struct {
	primary string // address of the server
	port    int    // of the replica
}

// StartStandby starts a server and its replica, and stops them when the test ends. It skips the test in a short run,
// and where the tests have no PostgreSQL.
func StartStandby(t *testing.T) *Standby {
	t.Helper()
	primary := StartPostgres(t)
	ports, err := process.SparePorts(1)
	must(t, err)
	s := &Standby{primary: primary.Address, port: ports[0]}
	primary.run.program("pg_basebackup", "--dbname", s.primary, "--pgdata", "standby", "--write-recovery-conf",
		"--wal-method=stream", "--checkpoint=fast", "--no-sync")
	primary.run.server("standby", s.port, s.Of(s.primary))
	return s
}

// OwnPostgres is a PostgreSQL server of one test, which may crash it.
type OwnPostgres struct {
	Address string // of its database postgres

	run     postgresRunner
	port    int
	running *process.Process
}

// StartPostgres starts a server, and stops it when the test ends. It skips the test in a short run, and where the tests
// have no PostgreSQL. The goroutine of the test must be the one that calls Crash.
func StartPostgres(t *testing.T) *OwnPostgres {
	t.Helper()
	if testing.Short() {
		t.Skip("a short run starts no servers")
	}
	Server(t)
	as, err := process.Unprivileged()
	must(t, err)
	folder, err := os.MkdirTemp("", "assay-postgres") // other users cannot read t.TempDir
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if as != nil {
		must(t, os.Chown(folder, int(as.Uid), int(as.Gid)))
	}
	ports, err := process.SparePorts(1)
	must(t, err)
	s := &OwnPostgres{
		Address: "postgres://test@" + process.Loopback(ports[0]) + "/postgres?sslmode=disable", port: ports[0],
		run: postgresRunner{t: t, programs: programs(t), folder: folder, as: as},
	}
	runtime.LockOSThread() // the servers end with the thread that started them, which must last as long as the test
	s.run.program("initdb", "--pgdata", "primary", "--username", "test", "--auth", "trust", "--encoding", "UTF8",
		"--locale", "C.UTF-8", "--no-sync")
	s.running = s.run.server("primary", s.port, s.Address)
	return s
}

// Crash ends the server as a crash does: without a checkpoint, and without a word to its clients. It starts it again.
func (s *OwnPostgres) Crash() {
	s.run.t.Helper()
	must(s.run.t, syscall.Kill(s.running.Pid(), syscall.SIGQUIT))
	must(s.run.t, process.Await(s.run.t.Context(), "the end of PostgreSQL", time.Minute, func(context.Context) error {
		if !s.running.Ended() {
			return errors.New("it runs")
		}
		return nil
	}))
	s.running = s.run.server("primary", s.port, s.Address)
}

// UseTLS gives the server a certificate and its key.
func (s *OwnPostgres) UseTLS(cert, key []byte) {
	t := s.run.t
	t.Helper()
	for name, text := range map[string][]byte{"server.crt": cert, "server.key": key} {
		name = filepath.Join(s.run.folder, "primary", name)
		must(t, os.WriteFile(name, text, 0o600))
		if s.run.as != nil {
			must(t, os.Chown(name, int(s.run.as.Uid), int(s.run.as.Gid)))
		}
	}
	must(t, execOn(t.Context(), s.Address, `ALTER SYSTEM SET ssl = on`))
	must(t, execOn(t.Context(), s.Address, `SELECT pg_reload_conf()`))
}

// postgresRunner runs programs of PostgreSQL in a folder.
type postgresRunner struct {
	t                *testing.T
	programs, folder string
	as               *syscall.Credential
}

func (r *postgresRunner) program(name string, args ...string) {
	r.t.Helper()
	//nolint:gosec // the user who runs the tests names the programs
	command := exec.CommandContext(r.t.Context(), filepath.Join(r.programs, name), args...)
	command.Dir, command.SysProcAttr = r.folder, process.EndWithParent(syscall.SIGKILL, r.as)
	if out, err := command.CombinedOutput(); err != nil {
		r.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// server starts a server whose data is in the folder of its name, and waits until it responds at an address.
func (r *postgresRunner) server(name string, port int, address string) *process.Process {
	r.t.Helper()
	running, err := process.Command{
		Name: name, Dir: r.folder, As: r.as, DeathSignal: syscall.SIGQUIT, Program: filepath.Join(r.programs, "postgres"),
		Args: append([]string{"-D", name, "-p", strconv.Itoa(port)}, serverSettings...),
	}.Start()
	must(r.t, err)
	r.t.Cleanup(running.Kill)
	ready := func(ctx context.Context) error { return execOn(ctx, address, `SELECT 1`) }
	must(r.t, running.Await(r.t.Context(), time.Minute, ready))
	return running
}

// serverSettings make a server fast and reachable only from this machine.
var serverSettings = []string{
	"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
	"-c", "fsync=off", "-c", "lc_messages=C",
}

// Postgres creates a database on the primary, drops it when the test ends, and returns its address.
func (s *Standby) Postgres(t *testing.T) (address string) {
	t.Helper()
	return newPostgres(t, s.primary)
}

// programs returns the folder of PostgreSQL's programs, as scripts/with-services finds it.
func programs(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("PGBIN")
	if folder == "" {
		found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
		must(t, err)
		if len(found) == 0 {
			t.Skip("NOT COVERED: a PostgreSQL replica; its programs are not installed, and PGBIN is not set")
		}
		folder = found[len(found)-1]
	}
	if _, err := exec.LookPath(filepath.Join(folder, "pg_basebackup")); err != nil {
		t.Skip("NOT COVERED: a PostgreSQL replica; there is no pg_basebackup in " + folder)
	}
	return folder
}

// Of returns the address on the replica of a database of its primary.
func (s *Standby) Of(address string) string { return at(address, process.Loopback(s.port)) }

// at returns an address with another host.
func at(address, host string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(strings.ReplaceAll(err.Error(), address, "the address"))
	}
	u.Host = host
	return u.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
