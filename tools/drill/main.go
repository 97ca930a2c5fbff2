//go:build linux

// Command drill breaks everything that Assay leans on, one thing after the other, while it is at work, and counts what that cost.
//
//	make build && scripts/need postgres etcd haproxy patroni redis-server
//	go run ./tools/drill                             # every fault by itself: some minutes
//	go run ./tools/drill -update docs/operate.md  # and write the table down
//	go run ./tools/drill -short                      # faults at the same time: about a minute
//
// # What is built
//
// On loopback, in a temporary folder: three PostgreSQL servers under Patroni with etcd; HAProxy, which sends every connection to
// the primary; a Redis that counts the limits; one node that publishes and three that read, all of them the real program. Each
// read node reaches the store through a relay of its own, which can cut it off without a word.
//
// # What works meanwhile
//
//   - Readers ask every read node at a steady rate (load.go). An answer that is not what it should be, from a node that lives, is a
//     failed read.
//   - An operator imports small files, one after the other, each again until it is acknowledged (importing.go). What was
//     acknowledged must be in the store at the end, once.
//   - An operator publishes historic hours, one after the other, beside the publisher's own minutes (publishing.go). What was
//     acknowledged must be there, and nothing determined twice.
//   - One client asks all nodes in turn for more than its limit (limits.go).
//
// # What is broken
//
// The faults are in faults.go, each after the one before has healed: the primary, the publisher, Redis and a read node are killed
// as by a power cut; a node's connection to the store is cut; all read nodes are restarted one after the other. With -short
// several happen at once, and none is waited for longer than needed.
//
// # The verdict
//
// No failed read, no acknowledged write lost, no publication lost or doubled, no more requests admitted than the documentation
// says, and assay verify green. A goal that is missed, or a fault that does not heal, ends the drill with status 1. No goal
// is a time: how long things took is only reported.
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

// section is where the table stands in the document.
const section report.Section = "drill"

type options struct {
	assay  string
	short  bool
	update string
	args   []string // as given, to be written down with the result
}

func parseOptions(args []string) (options, error) {
	o := options{args: args}
	flags := flag.NewFlagSet("drill", flag.ContinueOnError)
	flags.StringVar(&o.assay, "assay", "bin/assay", "the `binary` to drill")
	flags.BoolVar(&o.short, "short", false, "fewer faults, several at once")
	flags.StringVar(&o.update, "update", "", "write the result between the markers of this Markdown `file`")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var err error
	if o.assay, err = filepath.Abs(o.assay); err == nil {
		_, err = os.Stat(o.assay)
	}
	if err != nil {
		return o, fmt.Errorf("-assay: %w; make build makes it", err)
	}
	if o.update != "" {
		err = section.Check(o.update)
	}
	return o, err
}

// run holds the drill in a folder of its own and prints the report. What the servers wrote is kept when the drill fails.
func run(ctx context.Context, o options) error {
	c, err := newCluster()
	if err != nil {
		return err
	}
	d := newDrill(c, o)
	err = d.hold(ctx)
	d.stop()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w\nwhat the servers wrote is in %s", err, c.Dir)
	}
	return errors.Join(err, os.RemoveAll(c.Dir))
}

// hold starts everything, breaks it, and judges.
func (d *drill) hold(ctx context.Context) error {
	if err := d.start(ctx); err != nil {
		return err
	}
	r, err := d.breakAll(ctx)
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
