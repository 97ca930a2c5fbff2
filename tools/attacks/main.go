//go:build linux

// Command attacks repeats what an outside review did to the server, against two programs: one from before the server
// was hardened, and the current one. It prints what each attack achieved.
//
//	make attacks                                       # builds both programs, and writes docs/security.md
//	go run ./tools/attacks -before old/assay           # only print the table
//	go run ./tools/attacks -only 4,7                   # only the attacks of these numbers, against bin/assay
//	go run ./tools/attacks -short                      # smaller attacks; no measured time fails the run
//
// Each program gets a market of the demo in a temporary folder and, for each attack, a fresh server on loopback. The
// attack on sessions also needs PostgreSQL, which scripts/with-services starts; it counts the transactions there.
// A process of its own measures reads, and the attackers have the lowest priority: their machines would not be the
// server's.
//
// An attack returns its effect in words, and whether it did harm (reads.go, accounts.go, transport.go, files.go). The
// run fails if one does harm to the current program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/assaydata/assay/tools/report"
	"github.com/assaydata/assay/tools/target"
)

func main() { target.Main("attacks", parseOptions, run) }

// section is the part of the document for the table.
const section report.Section = "attacks"

type options struct {
	assay  string
	before string // empty for none
	only   map[int]bool
	short  bool
	update string
	args   []string // the command line, for the report
}

func parseOptions(args []string) (o options, err error) {
	o.args = args
	flags := flag.NewFlagSet("attacks", flag.ContinueOnError)
	flags.StringVar(&o.assay, "assay", "bin/assay", "the `binary` to attack")
	flags.StringVar(&o.before, "before", "", "an earlier `binary`, to compare")
	flags.StringVar(&o.update, "update", "", "write the table between the markers of this Markdown `file`")
	flags.BoolVar(&o.short, "short", false, "smaller attacks; no measured time fails the run")
	flags.Func("only", "`numbers` of the attacks to run, separated by commas", o.choose)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.update != "" && (o.short || len(o.only) > 0 || o.before == "") {
		return o, errors.New("-update: the document shows all attacks in full against two binaries")
	}
	for _, binary := range []*string{&o.assay, &o.before} {
		if *binary == "" {
			continue
		}
		if *binary, err = filepath.Abs(*binary); err == nil {
			_, err = os.Stat(*binary)
		}
		if err != nil {
			return o, fmt.Errorf("%w; run make build", err)
		}
	}
	return o, section.Check(o.update)
}

func (o *options) choose(numbers string) error {
	o.only = map[int]bool{}
	for number := range strings.SplitSeq(numbers, ",") {
		n, err := strconv.Atoi(number)
		if err != nil {
			return errors.New("want numbers separated by commas")
		}
		o.only[n] = true
	}
	return nil
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "assay-attacks-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := target.YieldProcessors(); err != nil {
		return err
	}
	programs := []string{o.assay}
	if o.before != "" {
		programs = []string{o.before, o.assay}
	}
	var rows []row
	for i, program := range programs {
		s, err := newSite(ctx, program, filepath.Join(dir, strconv.Itoa(i)), o.short)
		if err != nil {
			return err
		}
		if rows, err = s.attackAll(ctx, o, rows, i == len(programs)-1); err != nil {
			return err
		}
	}
	return conclude(o, rows)
}

// attackAll runs the attacks against one program and adds the effects to the rows.
func (s *site) attackAll(ctx context.Context, o options, rows []row, current bool) ([]row, error) {
	first := len(rows) == 0
	next := 0
	for _, a := range attacks {
		if len(o.only) > 0 && !o.only[a.item] {
			continue
		}
		fmt.Fprintf(os.Stderr, "attacks: %s: %s\n", s.program, a.name)
		got, err := a.run(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.name, err)
		}
		if first {
			rows = append(rows, row{attack: a})
		}
		if current {
			rows[next].after = got
		} else {
			rows[next].before = got
		}
		next++
	}
	return rows, nil
}
