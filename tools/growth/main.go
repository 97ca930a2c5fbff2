//go:build linux

// Command growth fills databases of increasing size and measures every command and the server on each: what nothing
// but the data makes larger must not cost more, and what must read all data must not cost more per value.
//
//	make build
//	go run ./tools/growth                               # 100,000, 1,000,000 and 10,000,000 values: half an hour, 8 GB
//	go run ./tools/growth -update docs/performance.md   # also write the table into the document
//	go run ./tools/growth -short                        # 20,000 and 60,000 values: a minute
//	go run ./tools/growth -start                        # starts with 1, 4 and 20 million values: half an hour, 10 GB
//
// # Data
//
// Each database has 1,000 GPU models in 20 regions, 100,000 API keys and 1,000,000 rows of usage, and as many published
// values as its size says: hours, days and regions of transactions that the program imported and published. The short
// form has fewer of each.
//
// # Measured
//
// For each command its processor time and its largest resident memory; for the server the same until it is ready, and
// the p99 of its routes; how long a new key takes to be accepted; and what a publisher takes to make the real-time
// prints of a night, and how long other writers wait for it.
//
// # Starts
//
// With -start it measures only what a server's start takes: values of 50 models in 20 regions, published through the
// store, in one database that grows; the time from the start of the process to the first right response, memory, disk,
// reads, and what publishing the next hour takes.
//
// # Limits
//
// They are in limits.go: a factor between two sizes, or, for memory that must not depend on the size, a number. A run
// of the short form fails only because of those numbers, and because of errors.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/assaydata/assay/tools/process"
	"github.com/assaydata/assay/tools/report"
)

func main() { process.Main("growth", parseOptions, run) }

// section is the part of the document for the tables.
const section report.Section = "growth"

type options struct {
	assay  string
	short  bool
	start  bool
	sizes  []int
	update string
	args   []string // the command line, for the report
}

func parseOptions(args []string) (options, error) {
	o := options{args: args}
	flags := flag.NewFlagSet("growth", flag.ContinueOnError)
	flags.StringVar(&o.assay, "assay", "bin/assay", "the `binary` to measure")
	flags.BoolVar(&o.short, "short", false, "small databases; only errors and memory fail the run")
	flags.BoolVar(&o.start, "start", false, "measure only the start of a server")
	flags.Func("sizes", "increasing `numbers` of values (default 100000,1000000,10000000, or for -start "+
		"1000000,4000000,20000000)", o.setSizes)
	flags.StringVar(&o.update, "update", "", "write the result between the markers of this Markdown `file`")
	err := process.ParseFlags(flags, args, &o.assay, "build")
	switch {
	case o.short:
		o.sizes = []int{20_000, 60_000}
	case o.sizes == nil && o.start:
		o.sizes = []int{1_000_000, 4_000_000, 20_000_000}
	case o.sizes == nil:
		o.sizes = []int{100_000, 1_000_000, 10_000_000}
	}
	if err != nil || o.update == "" {
		return o, err
	}
	if o.start {
		return o, startSection.Check(o.update)
	}
	return o, section.Check(o.update)
}

func (o *options) setSizes(text string) error {
	o.sizes = nil
	for part := range strings.SplitSeq(text, ",") {
		var size int
		if _, err := fmt.Sscan(part, &size); err != nil || size < 1000 {
			return fmt.Errorf("%q: must be a number from 1000 on", part)
		}
		o.sizes = append(o.sizes, size)
	}
	return nil
}

// run measures one size after the other, prints the tables and checks the limits.
func run(ctx context.Context, o options) error {
	if o.start {
		return measureStarts(ctx, o)
	}
	var all []*measured
	for _, size := range o.sizes {
		m, err := measure(ctx, o, size)
		if err != nil {
			return fmt.Errorf("%d values: %w", size, err)
		}
		all = append(all, m)
	}
	missed, err := measureCatchUp(ctx, o)
	if err != nil {
		return fmt.Errorf("real-time prints that were missed: %w", err)
	}
	text := tables(all) + "\n" + missed.text()
	fmt.Print(text)
	if err := errors.Join(check(all, o.short), missed.check(o.short)); err != nil {
		return err
	}
	if o.update == "" {
		return nil
	}
	heading := report.By(time.Now(), "./tools/growth", o.args) + fmt.Sprintf("- %s\n\n", report.CPU())
	return section.Update(o.update, heading+text)
}

// measure fills a database and measures everything on it. It keeps the folder of a run that fails.
func measure(ctx context.Context, o options, size int) (*measured, error) {
	dir, err := os.MkdirTemp("", "assay-growth")
	if err != nil {
		return nil, err
	}
	d := &database{options: o, dir: dir, measured: &measured{size: size, routes: map[string]time.Duration{}}}
	err = d.fill(ctx)
	if err == nil {
		err = d.commands(ctx)
	}
	if err == nil {
		err = d.server(ctx)
	}
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%w\nits files are in %s", err, dir)
	}
	return d.measured, errors.Join(err, os.RemoveAll(dir))
}
