package storetest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assaydata/assay/tools/process"
)

// Standby is a streaming replica of the tests' PostgreSQL server, with all its databases.
type Standby struct{ port int }

// StartStandby starts a replica and stops it when the test ends. It skips the test in a short run, and if there is no
// server that can be copied.
func StartStandby(t *testing.T) *Standby {
	t.Helper()
	if testing.Short() {
		t.Skip("a short run starts no servers")
	}
	server, programs := Server(t), programs(t)
	as, err := process.Unprivileged()
	must(t, err)
	folder, err := os.MkdirTemp("", "assay-standby") // other users cannot read t.TempDir
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if as != nil {
		must(t, os.Chown(folder, int(as.Uid), int(as.Gid)))
	}
	//nolint:gosec // the user who runs the tests names the programs and the server
	copying := exec.CommandContext(t.Context(), filepath.Join(programs, "pg_basebackup"),
		"--dbname", server, "--pgdata", filepath.Join(folder, "data"),
		"--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync")
	copying.Dir, copying.SysProcAttr = folder, process.EndWithParent(syscall.SIGKILL, as)
	if out, err := copying.CombinedOutput(); err != nil {
		t.Skipf("NOT COVERED: a PostgreSQL replica; the server of %s cannot be copied: %v\n%s", Variable, err, out)
	}
	ports, err := process.SparePorts(1)
	must(t, err)
	s := &Standby{ports[0]}
	runtime.LockOSThread() // the server ends with the thread that started it, which must last as long as the test
	running, err := process.Command{
		Name: "standby", Dir: folder, As: as, DeathSignal: syscall.SIGQUIT, Program: filepath.Join(programs, "postgres"),
		Args: slices.Concat([]string{"-D", "data", "-p", fmt.Sprint(s.port)}, standbySettings, sharedSettings(t, server)),
	}.Start()
	must(t, err)
	t.Cleanup(running.Kill)
	ready := func(ctx context.Context) error { return execOn(ctx, s.Of(server), `SELECT 1`) }
	must(t, running.Await(t.Context(), time.Minute, ready))
	return s
}

// standbySettings make a replica fast and reachable only from this machine.
var standbySettings = []string{
	"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
	"-c", "fsync=off", "-c", "lc_messages=C",
}

// sharedSettings returns the settings that must be at least as large on a replica as on its primary, whose command line
// may have raised them.
func sharedSettings(t *testing.T, server string) (args []string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server)
	must(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	for _, name := range []string{
		"max_connections", "max_worker_processes", "max_wal_senders", "max_prepared_transactions",
		"max_locks_per_transaction",
	} {
		var value string
		must(t, conn.QueryRow(t.Context(), `SELECT current_setting($1)`, name).Scan(&value))
		args = append(args, "-c", name+"="+value)
	}
	return args
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
