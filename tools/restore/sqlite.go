//go:build linux

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// backUpSQLite copies the database while it is served and written, and restores the copy to a new folder.
func backUpSQLite(ctx context.Context, m *machine) (out outcome, err error) {
	if err := m.prepare(ctx); err != nil {
		return out, err
	}
	port, err := process.SparePorts(1)
	if err != nil {
		return out, err
	}
	server, err := process.Command{
		Name: "server", Dir: m.dir, DeathSignal: syscall.SIGKILL, Program: m.options.assay,
		Env: []string{"ASSAY_DIR=" + m.path("data")}, Args: []string{"serve", "--addr", process.Loopback(port[0])},
	}.Start()
	if err != nil {
		return out, err
	}
	m.servers = append(m.servers, server)
	stop := m.start(ctx)
	moment, err := m.backedUp(ctx, func() error {
		_, err := m.here(ctx, "backup", m.path("copy.db"))
		return err
	})
	if err = errors.Join(err, stop()); err != nil {
		return out, err
	}
	server.Kill() // the machine is lost
	start := time.Now()
	folder := m.path("restored")
	err = errors.Join(
		os.Mkdir(folder, 0o700),
		copyFile(m.path("copy.db"), filepath.Join(folder, "assay.db")),
		copyFile(filepath.Join(m.path("data"), "signing-key.pem"), filepath.Join(folder, "signing-key.pem")),
	)
	if err != nil {
		return out, err
	}
	restored := time.Since(start)
	if out, err = m.compare(ctx, folder, "", moment); err != nil {
		return out, err
	}
	out.restored = restored
	return out, m.finish(ctx, folder, "")
}

// backedUp makes a backup while the machine works, and returns the moment at which it began.
func (m *machine) backedUp(ctx context.Context, do func() error) (moment time.Time, err error) {
	if err := m.awaitFiles(ctx, beforeRows); err != nil {
		return moment, err
	}
	moment = time.Now()
	if err := do(); err != nil {
		return moment, err
	}
	return moment, m.awaitFiles(ctx, beforeRows)
}
