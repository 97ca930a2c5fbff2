//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assaydata/assay/tools/process"
	"github.com/assaydata/assay/tools/relay"
)

// databaseName is what one read node calls the host of the database. It has files of its own in place of /etc/hosts and
// /etc/resolv.conf, so that the name can be taken away from it.
const databaseName = "assay-db"

// named is the read node that knows the database by name.
func (d *drill) named() *readNode { return d.readNodes[2] }

func (d *drill) hostsFile() string { return filepath.Join(d.Dir, "hosts") }

func (d *drill) resolverFile() string { return filepath.Join(d.Dir, "resolv.conf") }

// setName lets the name resolve, or not. No server responds to questions about names.
func (d *drill) setName(known bool) error {
	text := "127.0.0.1 localhost\n"
	if known {
		text += "127.0.0.1 " + databaseName + "\n"
	}
	return errors.Join(
		os.WriteFile(d.hostsFile(), []byte(text), 0o644),
		os.WriteFile(d.resolverFile(), []byte("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"), 0o644))
}

// useName lets a node use the name.
func (d *drill) useName(command *process.Command) {
	for i, variable := range command.Env {
		command.Env[i] = strings.Replace(variable, "@127.0.0.1:", "@"+databaseName+":", 1)
	}
	mount := fmt.Sprintf(`mount --bind '%s' /etc/hosts && mount --bind '%s' /etc/resolv.conf && exec "$@"`,
		d.hostsFile(), d.resolverFile())
	unshare := []string{"--mount"}
	if os.Geteuid() != 0 {
		unshare = append(unshare, "--user", "--map-root-user")
	}
	command.Args = slices.Concat(unshare, []string{"sh", "-c", mount, "sh", command.Program}, command.Args)
	command.Program = "unshare"
}

// hostsKept is longer than Go's resolver keeps what it has read in /etc/hosts.
const hostsKept = 6 * time.Second

// loseName takes the database's name away from a read node, and ends its connections: new ones need the name.
func (d *drill) loseName(ctx context.Context, p *phase) error {
	r := d.named()
	if err := d.setName(false); err != nil {
		return err
	}
	pause(ctx, hostsKept)
	r.cut = true
	if err := r.relay.Set(relay.Reset); err != nil {
		return err
	}
	pause(ctx, restartAfter)
	if err := r.relay.Set(relay.None); err != nil {
		return err
	}
	if err := d.awaitStale(ctx, r); err != nil {
		return err
	}
	pause(ctx, faultTime)
	if err := d.setName(true); err != nil {
		return err
	}
	r.cut = false
	p.since = "the name was back"
	var err error
	if p.took, err = d.awaitPublication(ctx, time.Now()); err != nil {
		return err
	}
	return d.awaitHealthy(ctx, r)
}
