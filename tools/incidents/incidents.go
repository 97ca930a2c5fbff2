//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // to give the tables a later schema

	"github.com/assaydata/assay/tools/process"
)

// incident is something that happens to a node that is prepared but not started. It says what the program did; at its
// end, the hour that was running has all its rows and is published or about to be.
type incident struct {
	name        string
	onSmallDisk bool
	onBadDisk   bool // which can turn read-only
	needsRoot   bool
	watched     bool // by a Prometheus
	do          func(*node, context.Context) (observed string, err error)
}

var incidents = []incident{
	{name: "the clock jumps 72 hours ahead, and back", do: (*node).clockJumps},
	{name: "the disk is full", onSmallDisk: true, watched: true, do: (*node).diskFills},
	{name: "the disk turns read-only", onBadDisk: true, needsRoot: true, watched: true, do: (*node).diskTurnsReadOnly},
	{name: "the write-ahead log is damaged while the server is down", do: (*node).logIsDamaged},
	{name: "descriptors run out", do: (*node).descriptorsRunOut},
	{name: "the kernel kills the server because memory runs out", needsRoot: true, do: (*node).memoryRunsOut},
	{name: "no one reads the log", do: (*node).logBlocks},
	{name: "a backup is restored", do: (*node).backupIsRestored},
	{name: "an expected feed stays away for an hour", watched: true, do: (*node).feedStaysAway},
	{name: "the database is destroyed", watched: true, do: (*node).databaseIsDestroyed},
	{name: "the publisher is suspended past the end of an hour", do: (*node).publisherIsSuspended},
	{name: "a later release has changed the tables", do: (*node).tablesAreNewer},
}

// quoted is a reason of /health in the table.
func quoted(state, reason string) string {
	return fmt.Sprintf("`/health`: %s, “%s”", state, reason)
}

func (n *node) clockJumps(ctx context.Context) (string, error) {
	if err := n.start(ctx); err != nil {
		return "", err
	}
	if err := n.receive(ctx, n.now()); err != nil {
		return "", err
	}
	right := n.offset
	if err := n.setClock(right + 72*time.Hour); err != nil {
		return "", err
	}
	reason, err := n.awaitPublishing(ctx, "held")
	if err != nil {
		return "", err
	}
	if err := n.setClock(right); err != nil {
		return "", err
	}
	_, err = n.awaitPublishing(ctx, "current")
	return "nothing is published; " + quoted("held", reason) + ". Publishing continues when the clock is right", err
}

func (n *node) diskFills(ctx context.Context) (string, error) {
	if err := n.start(ctx); err != nil {
		return "", err
	}
	if err := n.receive(ctx, n.now()); err != nil {
		return "", err
	}
	if err := n.awaitQuiet(ctx, "AssayDiskFull"); err != nil {
		return "", err
	}
	filler := n.path("data/filler")
	if err := n.shell(ctx, fmt.Sprintf("dd if=/dev/zero of='%s' bs=64k 2>/dev/null || true", filler)); err != nil {
		return "", err
	}
	refused, err := n.importRefused(ctx)
	if err != nil {
		return "", err
	}
	if !strings.Contains(refused, "the disk is full") {
		return "", fmt.Errorf("the import says %q", refused)
	}
	reason, err := n.awaitPublishing(ctx, "failing")
	if err != nil {
		return "", err
	}
	if status, body, err := n.get(ctx, "/api/gpu-types"); err != nil || status != http.StatusOK {
		return "", fmt.Errorf("a read gets %d %s (%w)", status, body, err)
	}
	if err := n.awaitAlert(ctx, "AssayDiskFull"); err != nil {
		return "", err
	}
	if err := n.shell(ctx, fmt.Sprintf("rm '%s'", filler)); err != nil {
		return "", err
	}
	_, err = n.awaitPublishing(ctx, "current")
	return "imports fail and say so, reads continue; " + quoted("failing", reason) +
		". With space again, the hour is published", err
}

// importRefused imports a row that cannot be stored, and returns the error.
func (n *node) importRefused(ctx context.Context) (message string, err error) {
	var at []time.Time
	for i := range 20_000 { // more than fits into what the database has allocated
		at = append(at, n.hour.Add(-time.Duration(i)*time.Millisecond))
	}
	name, err := n.write(at...)
	if err != nil {
		return "", err
	}
	_, err = n.assay(ctx, "import", "transactions", name)
	if err == nil {
		return "", errors.New("the import succeeded")
	}
	return err.Error(), os.Remove(name)
}

// logBlocks lets the server log into a pipe that no one reads.
func (n *node) logBlocks(ctx context.Context) (string, error) {
	pipe := n.path("server.log") // where process.Start sends the output
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		return "", err
	}
	reader, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0) // so that it can be opened; it reads nothing
	if err != nil {
		return "", err
	}
	defer reader.Close()
	if err := n.start(ctx); err != nil {
		return "", err
	}
	if err := n.receive(ctx, n.now()); err != nil {
		return "", err
	}
	const requests = 5000
	for i := range requests {
		if status, _, err := n.get(ctx, "/livez"); err != nil || status != http.StatusOK {
			return "", fmt.Errorf("request %d: status %d, %w", i, status, err)
		}
	}
	return fmt.Sprintf("it responds to %d of %d requests; lines that do not fit into memory are dropped, "+
		"and counted in the log", requests, requests), nil
}

func (n *node) backupIsRestored(ctx context.Context) (string, error) {
	if err := n.start(ctx); err != nil {
		return "", err
	}
	backup := n.path("backup.db")
	if _, err := n.assay(ctx, "backup", backup); err != nil {
		return "", err
	}
	if err := n.receive(ctx, n.now()); err != nil {
		return "", err
	}
	n.server.Kill()
	for _, name := range []string{"assay.db", "assay.db-wal", "assay.db-shm"} {
		if err := os.Remove(filepath.Join(n.path("data"), name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	if err := os.Rename(backup, filepath.Join(n.path("data"), "assay.db")); err != nil {
		return "", err
	}
	if err := n.setClock(n.offset + 10*time.Minute); err != nil { // the repair took a while
		return "", err
	}
	if err := n.start(ctx); err != nil {
		return "", err
	}
	reason, err := n.awaitPublishing(ctx, "held")
	if err != nil {
		return "", err
	}
	if _, err := n.assay(ctx, "import", "transactions", n.files[len(n.files)-1]); err != nil {
		return "", err
	}
	if _, err := n.assay(ctx, "publish", "--to", n.hour.Add(time.Hour).Format(time.RFC3339)); err != nil {
		return "", err
	}
	return "nothing since the backup is published until the operator has imported what is missing " +
		"and runs `assay publish`; " +
		quoted("held", reason), nil
}

func (n *node) feedStaysAway(ctx context.Context) (string, error) {
	if _, err := n.assay(ctx, "source", "expect", "feed"); err != nil {
		return "", err
	}
	if err := n.start(ctx); err != nil {
		return "", err
	}
	if err := n.awaitQuiet(ctx, "AssayFixingMissed"); err != nil {
		return "", err
	}
	reason, err := n.awaitPublishing(ctx, "held")
	if err != nil {
		return "", err
	}
	// A fixing counts as missed after a minute. This step is too small for a clock to be in doubt.
	if err := n.setClock(n.offset + 55*time.Second); err != nil {
		return "", err
	}
	if err := n.awaitAlert(ctx, "AssayFixingMissed"); err != nil {
		return "", err
	}
	if err := n.receive(ctx, n.hour.Add(30*time.Minute)); err != nil {
		return "", err
	}
	err = n.awaitQuiet(ctx, "AssayFixingMissed")
	return "the hour is held, not published empty, until rows of the source arrive; " + quoted("held", reason), err
}

// databaseIsDestroyed takes away what is in the file of the database, and restores a backup that was made just before.
func (n *node) databaseIsDestroyed(ctx context.Context) (string, error) {
	if err := n.start(ctx); err != nil {
		return "", err
	}
	if err := n.receive(ctx, n.now()); err != nil {
		return "", err
	}
	backup, file := n.path("backup.db"), filepath.Join(n.path("data"), "assay.db")
	if _, err := n.assay(ctx, "backup", backup); err != nil {
		return "", err
	}
	if err := n.awaitQuiet(ctx, "AssayNodeStale", "AssayErrorBurst"); err != nil {
		return "", err
	}
	if err := errors.Join(os.Truncate(file, 0), os.Rename(file, n.path("destroyed.db"))); err != nil {
		return "", err
	}
	if err := n.setClock(n.offset + 40*time.Second); err != nil { // as if no one had noticed for so long
		return "", err
	}
	failed, err := n.readRecords(ctx)
	if err != nil {
		return "", err
	}
	for _, alert := range []string{"AssayErrorBurst", "AssayNodeStale"} { // the burst is soon over
		if err := n.awaitAlert(ctx, alert); err != nil {
			return "", err
		}
	}
	if status, body, err := n.get(ctx, "/api/gpu-types"); err != nil || status != http.StatusOK {
		return "", fmt.Errorf("a read gets %d %s (%w)", status, body, err)
	}
	n.server.Kill()
	if err := n.shell(ctx, fmt.Sprintf("rm -f '%[1]s-wal' '%[1]s-shm' && mv '%[2]s' '%[1]s'", file, backup)); err != nil {
		return "", err
	}
	if err := n.start(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("reads of market data continue, and say how old it is; %d of %d requests for determination "+
		"records get 503. With the backup, the hour is published", failed, recordRequests), nil
}

// recordRequests is how many requests for what is in the database make a burst.
const recordRequests = 40

// readRecords requests determination records, and counts those that fail.
func (n *node) readRecords(ctx context.Context) (failed int, err error) {
	path := "/api/gpu/H100%20SXM/determination?timestamp=" + n.hour.Format(time.RFC3339)
	for range recordRequests {
		status, body, err := n.get(ctx, path)
		switch {
		case err != nil:
			return failed, err
		case status >= http.StatusInternalServerError:
			failed++
		case status != http.StatusOK:
			return failed, fmt.Errorf("%s: %d %s", path, status, body)
		}
	}
	return failed, nil
}

func (n *node) publisherIsSuspended(ctx context.Context) (string, error) {
	if err := n.start(ctx); err != nil {
		return "", err
	}
	if err := n.receive(ctx, n.now()); err != nil {
		return "", err
	}
	if err := syscall.Kill(n.server.Pid(), syscall.SIGSTOP); err != nil {
		return "", err
	}
	err := process.Await(ctx, "the end of the hour", patience, func(context.Context) error {
		if left := n.hour.Add(time.Hour + 6*time.Second).Sub(n.now()); left > 0 {
			return fmt.Errorf("%s are left", left)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if err := syscall.Kill(n.server.Pid(), syscall.SIGCONT); err != nil {
		return "", err
	}
	_, err = n.awaitPublishing(ctx, "current")
	return "the hour is published when the process continues", err
}

// tablesAreNewer gives the tables a schema of a later release, first one that this program can use and then one that it
// cannot.
func (n *node) tablesAreNewer(ctx context.Context) (string, error) {
	if err := n.start(ctx); err != nil {
		return "", err
	}
	if err := n.receive(ctx, n.now()); err != nil {
		return "", err
	}
	db, err := sql.Open("sqlite", filepath.Join(n.path("data"), "assay.db")+"?_pragma=busy_timeout(30000)")
	if err != nil {
		return "", err
	}
	defer db.Close()
	const add = `INSERT INTO migrations (number, applied_at, usable_by)
		SELECT max(number) + 1, 0, max(number) + $1 FROM migrations`
	if _, err := db.ExecContext(ctx, add, 0); err != nil {
		return "", err
	}
	if _, err := n.assay(ctx, "db", "status"); err != nil {
		return "", err
	}
	if err := n.awaitHour(ctx); err != nil {
		return "", err
	}
	if _, err := db.ExecContext(ctx, add, 1); err != nil {
		return "", err
	}
	name, err := n.write(n.now())
	if err != nil {
		return "", err
	}
	_, err = n.assay(ctx, "import", "transactions", name)
	if err == nil || !strings.Contains(err.Error(), "use a newer assay") {
		return "", fmt.Errorf("a command of this release on tables that it cannot use: %w", err)
	}
	if status, body, err := n.get(ctx, "/api/gpu-types"); err != nil || status != http.StatusOK {
		return "", fmt.Errorf("a read gets %d %s (%w)", status, body, err)
	}
	const remove = `DELETE FROM migrations WHERE number = (SELECT max(number) FROM migrations)`
	if _, err := db.ExecContext(ctx, remove); err != nil {
		return "", err
	}
	return "if that release says that it can, it works on with them; otherwise it refuses to open them, " +
		"and says to use a newer assay, while a node that runs keeps serving", nil
}
