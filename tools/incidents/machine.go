//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/assaydata/assay/tools/process"
)

// Incidents of the machine that the node runs on.

// awaitLog waits until the server's log has a text.
func (n *node) awaitLog(ctx context.Context, want string) error {
	return process.Await(ctx, "the log with "+want, patience, func(context.Context) error {
		text, err := os.ReadFile(n.path("server.log"))
		if err == nil && !strings.Contains(string(text), want) {
			err = fmt.Errorf("it ends with %s", process.Tail(text))
		}
		return err
	})
}

// wantRead wants a response to a read of market data.
func (n *node) wantRead(ctx context.Context) error {
	status, body, err := n.get(ctx, "/api/gpu-types")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("a read gets %d %s", status, body)
	}
	return err
}

// diskTurnsReadOnly lets the file system find an error, at which the kernel makes it read-only, and repairs it.
func (n *node) diskTurnsReadOnly(ctx context.Context) (string, error) {
	if err := n.start(ctx); err != nil {
		return "", err
	}
	if err := n.receive(ctx, n.now()); err != nil {
		return "", err
	}
	data := n.path("data")
	err := n.shell(ctx, fmt.Sprintf(
		"echo 1 > /sys/fs/ext4/$(basename $(findmnt -no SOURCE '%s'))/trigger_fs_error", data))
	if err != nil {
		return "", err
	}
	name, err := n.write(n.now())
	if err != nil {
		return "", err
	}
	_, refused := n.assay(ctx, "import", "transactions", name)
	if refused == nil || !strings.Contains(refused.Error(), "are read-only") {
		return "", fmt.Errorf("the import says %w", refused)
	}
	if err := os.Remove(name); err != nil {
		return "", err
	}
	reason, err := n.awaitPublishing(ctx, "failing")
	if err != nil {
		return "", err
	}
	if err := n.awaitAlert(ctx, "AssayPublishingFailing"); err != nil {
		return "", err
	}
	if err := n.wantRead(ctx); err != nil {
		return "", err
	}
	n.server.Kill()
	repair := fmt.Sprintf("umount '%[1]s' && e2fsck -fy '%[2]s'; [ $? -lt 4 ] && "+
		"mount -o loop,errors=remount-ro '%[2]s' '%[1]s'", data, n.path("disk"))
	if err := n.shell(ctx, repair); err != nil {
		return "", err
	}
	if err := n.start(ctx); err != nil {
		return "", err
	}
	return "imports fail and say so, reads continue; " + quoted("failing", reason) +
		". After fsck and a restart, the hour is published", nil
}

// logIsDamaged changes some bytes of the write-ahead log that a killed server leaves.
func (n *node) logIsDamaged(ctx context.Context) (string, error) {
	if err := n.start(ctx); err != nil {
		return "", err
	}
	for range 4 { // commits that are only in the log
		if err := n.receive(ctx, n.now()); err != nil {
			return "", err
		}
	}
	n.server.Kill()
	database := filepath.Join(n.path("data"), "assay.db")
	if err := flip(database+"-wal", 200); err != nil { // in the first page
		return "", err
	}
	_, refused := n.assay(ctx, "verify")
	if refused == nil || !strings.Contains(refused.Error(), "write-ahead log is damaged") {
		return "", fmt.Errorf("the damage is not noticed: %w", refused)
	}
	if err := n.start(ctx); err == nil {
		return "", errors.New("the server starts")
	}
	if err := n.shell(ctx, fmt.Sprintf("sqlite3 '%s' 'PRAGMA wal_checkpoint(TRUNCATE)'", database)); err != nil {
		return "", err
	}
	if _, err := n.assay(ctx, append([]string{"import", "transactions"}, n.files...)...); err != nil {
		return "", err
	}
	return "the server and every command refuse to open the database, where SQLite would drop the commits after the " +
		"damage without a word, and say how to accept the loss. After that, and with the last files imported again, " +
		"the hour is published", n.start(ctx)
}

// flip changes some bytes of a file.
func flip(name string, at int64) error {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	b := make([]byte, 8)
	if _, err := file.ReadAt(b, at); err != nil {
		return err
	}
	for i := range b {
		b[i] ^= 0xff
	}
	_, err = file.WriteAt(b, at)
	return err
}

// descriptorsRunOut lowers the limit of open files under the running server, and takes the rest with idle connections.
func (n *node) descriptorsRunOut(ctx context.Context) (string, error) {
	if err := n.start(ctx); err != nil {
		return "", err
	}
	if err := n.receive(ctx, n.now()); err != nil {
		return "", err
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", n.server.Pid()))
	if err != nil {
		return "", err
	}
	var before unix.Rlimit
	if err := unix.Prlimit(n.server.Pid(), unix.RLIMIT_NOFILE, nil, &before); err != nil {
		return "", err
	}
	low := unix.Rlimit{Cur: uint64(len(open) + 2), Max: before.Max}
	if err := unix.Prlimit(n.server.Pid(), unix.RLIMIT_NOFILE, &low, nil); err != nil {
		return "", err
	}
	var idle []net.Conn
	defer func() {
		for _, conn := range idle {
			_ = conn.Close() // nothing was sent on it
		}
	}()
	for i := range 100 { // from as many clients: the server limits each
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i+1))}}
		conn, err := from.DialContext(ctx, "tcp", process.Loopback(n.port))
		if err != nil {
			return "", err
		}
		idle = append(idle, conn)
	}
	if err := n.awaitLog(ctx, "too many open files"); err != nil {
		return "", err
	}
	if err := unix.Prlimit(n.server.Pid(), unix.RLIMIT_NOFILE, &before, nil); err != nil {
		return "", err
	}
	if err := n.wantRead(ctx); err != nil {
		return "", err
	}
	if _, err := n.awaitPublishing(ctx, "current"); err != nil {
		return "", err
	}
	return "new connections wait, and the log says “too many open files”. With a higher limit, connections are accepted " +
		"and what is due is published, without a restart. A server that starts with a low limit accepts fewer " +
		"connections instead, and says so", nil
}

// memoryRunsOut puts the server into a group of processes with little memory, and takes that memory.
func (n *node) memoryRunsOut(ctx context.Context) (string, error) {
	if err := n.start(ctx); err != nil {
		return "", err
	}
	if err := n.receive(ctx, n.now()); err != nil {
		return "", err
	}
	group, err := newGroup(fmt.Sprintf("assay-incident-%d", n.server.Pid()), 512<<20)
	if err != nil {
		return "", err
	}
	defer group.remove()
	// The kernel kills the largest process of the group first; this makes sure that it is the server.
	score := fmt.Sprintf("/proc/%d/oom_score_adj", n.server.Pid())
	err = errors.Join(
		group.write("cgroup.procs", strconv.Itoa(n.server.Pid())),
		os.WriteFile(score, []byte("1000"), 0o600))
	if err != nil {
		return "", err
	}
	hog, err := process.Command{
		Name: "hog", Dir: n.dir, DeathSignal: syscall.SIGKILL, Program: "sh",
		Args: []string{"-c", fmt.Sprintf("echo $$ > '%s/cgroup.procs' && exec tail /dev/zero", group.folder)},
	}.Start()
	if err != nil {
		return "", err
	}
	defer hog.Stop()
	err = process.Await(ctx, "the kernel killing the server", patience, func(context.Context) error {
		if kills, err := group.kills(); err != nil || kills == 0 || !n.server.Ended() {
			return fmt.Errorf("%d processes were killed: %w", kills, err)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	hog.Kill()
	if err := n.start(ctx); err != nil { // as systemd does after a second
		return "", err
	}
	return "systemd starts it again (`Restart=always`), and the hour is published; " +
		"`journalctl -k` names the process and `systemctl status assay` says `oom-kill`", nil
}

// group is a control group of processes with a limit of memory.
type group struct{ folder, killsFile string }

func newGroup(name string, limit int) (group, error) {
	for _, version := range []struct{ folder, limit, kills string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"}, // version 1
		{"/sys/fs/cgroup", "memory.max", "memory.events"},
	} {
		g := group{filepath.Join(version.folder, name), version.kills}
		if os.Mkdir(g.folder, 0o700) != nil {
			continue
		}
		if err := g.write(version.limit, strconv.Itoa(limit)); err != nil {
			g.remove()
			return g, fmt.Errorf("limit the memory of a control group: %w", err)
		}
		return g, nil
	}
	return group{}, errors.New("no control group can be made in /sys/fs/cgroup: this incident needs root")
}

func (g group) write(name, text string) error {
	return os.WriteFile(filepath.Join(g.folder, name), []byte(text), 0o600)
}

// kills is how many processes of the group the kernel has killed.
func (g group) kills() (int, error) {
	text, err := os.ReadFile(filepath.Join(g.folder, g.killsFile))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if fields := strings.Fields(string(line)); len(fields) == 2 && fields[0] == "oom_kill" {
			return strconv.Atoi(fields[1])
		}
	}
	return 0, fmt.Errorf("%s has no oom_kill", g.killsFile)
}

func (g group) remove() { _ = os.Remove(g.folder) } // an empty one that stays costs nothing
