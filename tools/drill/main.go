//go:build linux

// Command drill breaks every server that Assay depends on, one after the other, while Assay is under load, and counts
// what that costs.
//
//	make build && scripts/need postgres etcd haproxy patroni redis-server
//	go run ./tools/drill                             # one fault at a time: some minutes
//	go run ./tools/drill -before bin/release/bin/assay   # begin with the program of the last release, and upgrade
//	go run ./tools/drill -update docs/operate.md     # also write the table into the document
//	go run ./tools/drill -short                      # several faults at once: about a minute
//
// # Setup
//
// On loopback, in a temporary folder: three PostgreSQL servers under Patroni with etcd; HAProxy, which sends every
// connection to the primary; a Redis that counts the limits; one node that publishes and three that read, all of them
// the real program. Each read node reaches the database through its own relay, which can silently cut it off.
//
// # Load
//
//   - Readers send requests to every read node at a steady rate (load.go). A wrong response from a live node is a
//     failed read.
//   - An operator imports small files one after the other, and repeats each until it is acknowledged (imports.go). At
//     the end the database must have every acknowledged row exactly once.
//   - An operator publishes historic hours one after the other, besides the publisher's minutes (publications.go).
//     Every acknowledged hour must be published, and nothing computed twice.
//   - One client sends more requests than its limit to all nodes in turn (limits.go).
//
// # Faults
//
// The faults are in faults.go; each starts after the one before is repaired: the primary, the publisher, Redis and a
// read node are killed as by a power cut; the connection of a read node to the database is cut, and that of the
// publisher, while another publisher takes over; all read nodes are restarted one after the other. With -before
// everything runs the program of the release before at first; then the tables are upgraded under it, and the nodes are
// restarted one after the other with the program under test. With -short several happen at once, and none lasts longer
// than needed.
//
// # Verdict
//
// No failed read, no acknowledged write lost, no publication lost or duplicated, no more requests admitted than the
// documentation says, and assay verify succeeds. A missed goal, or a fault that is not repaired, ends the drill with
// status 1. No goal is a time: times are only reported.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/assaydata/assay/tools/process"
	"github.com/assaydata/assay/tools/report"
)

func main() { process.Main("drill", parseOptions, run) }

// section is the part of the document for the table.
const section report.Section = "drill"

type options struct {
	assay  string
	before string
	short  bool
	only   string
	update string
	args   []string // the command line, for the report
}

func parseOptions(args []string) (options, error) {
	o := options{args: args}
	flags := flag.NewFlagSet("drill", flag.ContinueOnError)
	flags.StringVar(&o.assay, "assay", "bin/assay", "the `binary` to drill")
	flags.StringVar(&o.before, "before", "", "the `binary` of the release before, which everything runs at first")
	flags.BoolVar(&o.short, "short", false, "fewer faults, several at once")
	flags.StringVar(&o.only, "only", "", "only the faults whose `name` contains this")
	flags.StringVar(&o.update, "update", "", "write the result between the markers of this Markdown `file`")
	err := process.ParseFlags(flags, args, &o.assay, "build")
	if err == nil && o.before != "" {
		o.before, err = filepath.Abs(o.before)
	}
	if err == nil && o.before != "" {
		_, err = os.Stat(o.before)
	}
	if err != nil || o.update == "" {
		return o, err
	}
	return o, section.Check(o.update)
}

// run runs the drill in a temporary folder and prints the report. It keeps the folder with the servers' logs on
// failure.
func run(ctx context.Context, o options) error {
	c, err := newCluster()
	if err != nil {
		return err
	}
	d := newDrill(c, o)
	err = d.runAndReport(ctx)
	d.stop()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w\nthe servers' logs are in %s", err, c.Dir)
	}
	return errors.Join(err, os.RemoveAll(c.Dir))
}

// runAndReport starts everything, runs the faults and prints the report.
func (d *drill) runAndReport(ctx context.Context) error {
	if err := d.start(ctx); err != nil {
		return err
	}
	r, err := d.runUnderLoad(ctx)
	if err != nil {
		return err
	}
	table := r.table()
	fmt.Print(table)
	if err := r.check(); err != nil {
		return err
	}
	if d.options.update == "" {
		return nil
	}
	return section.Update(d.options.update, r.heading(d.options.args)+table)
}
