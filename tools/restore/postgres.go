//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// cluster is a PostgreSQL server of a machine.
type cluster struct {
	m    *machine
	name string
	bin  string
	port int
}

func (m *machine) newCluster(name string) (*cluster, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		return nil, errors.New("PostgreSQL not found; run scripts/need postgres pgbackrest")
	}
	ports, err := process.SparePorts(1)
	if err != nil {
		return nil, err
	}
	return &cluster{m: m, name: name, bin: slices.Max(found), port: ports[0]}, nil
}

func (c *cluster) folder() string { return c.m.path(c.name) }

// initialize makes the files of an empty cluster.
func (c *cluster) initialize(ctx context.Context) error {
	return c.m.shell(ctx, fmt.Sprintf("%s/initdb --pgdata '%s' --username assay --auth trust --encoding UTF8 --locale C",
		c.bin, c.folder()))
}

// start starts the server, and waits until it accepts connections.
func (c *cluster) start(ctx context.Context, settings ...string) (*process.Process, error) {
	args := []string{"-D", c.folder(), "-p", fmt.Sprint(c.port)}
	for _, s := range append(settings, "listen_addresses=127.0.0.1", "unix_socket_directories="+c.m.dir) {
		args = append(args, "-c", s)
	}
	p, err := process.Command{
		Name: c.name, Dir: c.m.dir, As: c.m.as, DeathSignal: syscall.SIGQUIT, Program: c.bin + "/postgres", Args: args,
		Env: c.environment(),
	}.Start()
	if err != nil {
		return nil, err
	}
	c.m.servers = append(c.m.servers, p)
	return p, p.Await(ctx, patience, func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", process.Loopback(c.port))
		if err != nil {
			return err
		}
		conn.Close()
		return c.psql(ctx, "postgres", "SELECT 1")
	})
}

// environment names the configuration of pgBackRest, which on a real machine is /etc/pgbackrest.conf.
func (c *cluster) environment() []string {
	return []string{"PGBACKREST_CONFIG=" + c.m.path(c.name+".conf"), "HOME=" + c.m.dir}
}

func (c *cluster) address(database string) string {
	return fmt.Sprintf("postgres://assay@127.0.0.1:%d/%s?sslmode=disable", c.port, database)
}

func (c *cluster) psql(ctx context.Context, database, statement string) error {
	return c.m.shell(ctx, fmt.Sprintf("psql -qv ON_ERROR_STOP=1 '%s' -c \"%s\" >&2", c.address(database), statement))
}

// serve starts a server with an empty database, and gives the machine its address.
func (c *cluster) serve(ctx context.Context, settings ...string) error {
	if err := c.initialize(ctx); err != nil {
		return err
	}
	if _, err := c.start(ctx, settings...); err != nil {
		return err
	}
	return c.psql(ctx, "postgres", "CREATE DATABASE assay")
}

// dumpPostgres dumps the database while it is written, and restores the dump to a new server.
func dumpPostgres(ctx context.Context, m *machine) (out outcome, err error) {
	old, err := m.newCluster("old")
	if err != nil {
		return out, err
	}
	if err := old.serve(ctx); err != nil {
		return out, err
	}
	m.store = old.address("assay")
	if err := m.prepare(ctx); err != nil {
		return out, err
	}
	stop := m.start(ctx)
	moment, err := m.backedUp(ctx, func() error {
		return m.shell(ctx, fmt.Sprintf("pg_dump --format=custom --file=assay.dump '%s'", m.store))
	})
	if err = errors.Join(err, stop()); err != nil {
		return out, err
	}
	m.servers[0].Kill() // the machine is lost
	restored, err := m.newCluster("restored")
	if err != nil {
		return out, err
	}
	start := time.Now()
	if err := restored.serve(ctx); err != nil {
		return out, err
	}
	store := restored.address("assay")
	err = m.shell(ctx, fmt.Sprintf("pg_restore --exit-on-error --no-owner --dbname='%s' assay.dump", store))
	if err != nil {
		return out, err
	}
	took := time.Since(start)
	if out, err = m.compareOn(ctx, store, moment); err != nil {
		return out, err
	}
	out.restored = took
	return out, nil
}

// compareOn compares a restored PostgreSQL database, with the signing key in a new folder.
func (m *machine) compareOn(ctx context.Context, store string, moment time.Time) (out outcome, err error) {
	folder := m.path("new")
	err = errors.Join(
		os.Mkdir(folder, 0o700),
		copyFile(filepath.Join(m.path("data"), "signing-key.pem"), filepath.Join(folder, "signing-key.pem")),
	)
	if err != nil {
		return out, err
	}
	if out, err = m.compare(ctx, folder, store, moment); err != nil {
		return out, err
	}
	return out, m.finish(ctx, folder, store)
}

// configure writes the configuration of pgBackRest for a cluster. All of them share the repository.
func (c *cluster) configure() error {
	text := strings.Join([]string{
		"[global]", "repo1-path=" + c.m.path("repository"), "repo1-retention-full=2", "log-path=" + c.m.dir,
		"lock-path=" + c.m.path("lock"), "spool-path=" + c.m.path("spool"), "log-level-console=warn",
		"compress-type=none", "start-fast=y",
		"[assay]", "pg1-path=" + c.folder(), fmt.Sprintf("pg1-port=%d", c.port), "pg1-socket-path=" + c.m.dir,
		"pg1-user=assay", "pg1-database=postgres", "",
	}, "\n")
	return os.WriteFile(c.m.path(c.name+".conf"), []byte(text), 0o644) //nolint:gosec // another account reads it
}

// recoverPostgres backs up with pgBackRest and an archive of the write-ahead log, and recovers a new server to a moment
// between two writes.
func recoverPostgres(ctx context.Context, m *machine) (out outcome, err error) {
	old, err := m.newCluster("old")
	if err != nil {
		return out, err
	}
	if err := old.configure(); err != nil {
		return out, err
	}
	if err := old.serve(ctx, "archive_mode=on", "archive_command=pgbackrest --stanza=assay archive-push %p"); err != nil {
		return out, err
	}
	m.store = old.address("assay")
	if err := m.prepare(ctx); err != nil {
		return out, err
	}
	if err := m.shell(ctx, "pgbackrest --stanza=assay stanza-create", old.environment()...); err != nil {
		return out, err
	}
	var moment time.Time
	stop := m.start(ctx)
	_, err = m.backedUp(ctx, func() error {
		for _, line := range []string{
			"pgbackrest --stanza=assay --type=full backup",
			"pgbackrest --stanza=assay --type=diff backup",
			"pgbackrest --stanza=assay check",
		} {
			if err := m.shell(ctx, line, old.environment()...); err != nil {
				return err
			}
		}
		err := m.awaitFiles(ctx, beforeRows)
		moment = time.Now()
		return err
	})
	if err = errors.Join(err, stop()); err != nil {
		return out, err
	}
	// A machine that is lost has archived its log up to the last segment. This one writes and archives that now: what is
	// recovered is chosen by the time, not by what was archived.
	if err := old.psql(ctx, "postgres", "SELECT pg_switch_wal()"); err != nil {
		return out, err
	}
	if err := m.shell(ctx, "pgbackrest --stanza=assay check", old.environment()...); err != nil {
		return out, err
	}
	m.servers[0].Kill()
	restored, err := m.newCluster("restored")
	if err != nil {
		return out, err
	}
	if err := restored.configure(); err != nil {
		return out, err
	}
	start := time.Now()
	target := moment.UTC().Format("2006-01-02 15:04:05.000000+00")
	err = m.shell(ctx, "mkdir -m 700 restored && pgbackrest --stanza=assay --delta --type=time --target='"+target+
		"' --target-action=promote restore", restored.environment()...)
	if err != nil {
		return out, err
	}
	if _, err := restored.start(ctx); err != nil {
		return out, err
	}
	if err := restored.awaitPromoted(ctx); err != nil {
		return out, err
	}
	took := time.Since(start)
	if out, err = m.compareOn(ctx, restored.address("assay"), moment); err != nil {
		return out, err
	}
	if out.latest > 0 {
		return out, fmt.Errorf("%d rows are from after %s, the moment to recover to", out.latest, target)
	}
	out.restored = took
	return out, nil
}

// awaitPromoted waits until the server has recovered and takes writes.
func (c *cluster) awaitPromoted(ctx context.Context) error {
	return process.Await(ctx, "the end of the recovery", patience, func(ctx context.Context) error {
		return c.psql(ctx, "postgres", "CREATE TEMPORARY TABLE writable ()")
	})
}
