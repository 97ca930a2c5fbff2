//go:build linux

// Command incidents does to a single node what happens to its operator sooner or later, and shows what the program does
// about it: a clock that jumps, a full disk, a log that no one reads, a backup that is restored, a feed that stays
// away, a database that is destroyed, a publisher that is suspended, and tables of a later release.
//
//	go build -tags clock -o bin/assay-clock ./cmd/assay
//	go run ./tools/incidents                          # a minute or two
//	go run ./tools/incidents -update docs/operate.md  # also write the table into the document
//
// Each incident has a folder and a server of its own, with a history that is published up to the last full hour. The
// program is the real one, built with a clock that can be set (cmd/assay/clock_tool.go): the incident begins a few
// seconds before an hour ends, so that something is due while it lasts.
//
// # Verdict
//
// Some incidents are watched by Debian's Prometheus with the rules of deploy/prometheus: the alerts for them must fire.
// After each incident every row that an import acknowledged must be stored, no row may be late, every hour must be
// published with its value, and assay verify must succeed. No goal is a time.
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

func main() { process.Main("incidents", parseOptions, run) }

// section is the part of the document for the table.
const section report.Section = "incidents"

type options struct {
	assay  string
	update string
	only   string
	args   []string // the command line, for the report
}

func parseOptions(args []string) (options, error) {
	o := options{args: args}
	flags := flag.NewFlagSet("incidents", flag.ContinueOnError)
	flags.StringVar(&o.assay, "assay", "bin/assay-clock", "the `binary`, built with the tag clock")
	flags.StringVar(&o.update, "update", "", "write the result between the markers of this Markdown `file`")
	flags.StringVar(&o.only, "only", "", "only the incidents whose `name` contains this")
	if err := process.ParseFlags(flags, args, &o.assay, "bin/assay-clock"); err != nil || o.update == "" {
		return o, err
	}
	return o, section.Check(o.update)
}

// outcome is a row of the table.
type outcome struct {
	name, observed string
	alerts         []string
	rows, hours    int
}

// run runs the incidents one after the other and prints the table. It keeps the folder of one that fails.
func run(ctx context.Context, o options) error {
	var outcomes []outcome
	for _, i := range incidents {
		if !strings.Contains(i.name, o.only) {
			continue
		}
		if i.needsRoot && os.Geteuid() != 0 {
			if o.update != "" {
				return fmt.Errorf("%s: this needs root", i.name)
			}
			fmt.Printf("incidents: LEFT OUT: %s, which needs root\n", i.name)
			continue
		}
		fmt.Println("incidents:", i.name)
		out, err := i.run(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", i.name, err)
		}
		outcomes = append(outcomes, out)
	}
	if len(outcomes) == 0 {
		return fmt.Errorf("no incident has a name with %q", o.only)
	}
	table := newTable(outcomes)
	fmt.Print(table)
	if o.update == "" {
		return nil
	}
	return section.Update(o.update, report.By(time.Now(), "./tools/incidents", o.args)+"\n"+table)
}

// newTable is the table in Markdown.
func newTable(outcomes []outcome) string {
	var b strings.Builder
	b.WriteString("| what happens | what the program does | alerts that fire | lost / acknowledged rows | late rows " +
		"| empty / published hours |\n|---|---|---|--:|--:|--:|\n")
	for _, o := range outcomes { // a lost or late row, or an empty hour, would have ended the run
		alerts := "–"
		if len(o.alerts) > 0 {
			alerts = "`" + strings.Join(o.alerts, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | 0 / %d | 0 | 0 / %d |\n", o.name, o.observed, alerts, o.rows, o.hours)
	}
	return b.String()
}

// run lets an incident happen to a new node, and checks what it cost.
func (i *incident) run(ctx context.Context, o options) (out outcome, err error) {
	s, err := newNode(o)
	if err != nil {
		return out, err
	}
	out = outcome{name: i.name}
	err = s.prepare(ctx, i)
	if err == nil {
		out.observed, err = i.do(s, ctx)
	}
	if err == nil {
		out.alerts = s.alerts
		out.rows, out.hours, err = s.evaluate(ctx)
	}
	for _, p := range []*process.Process{s.server, s.prometheus} {
		if p != nil {
			p.Stop()
		}
	}
	if err != nil && ctx.Err() == nil {
		return out, fmt.Errorf("%w\nits files are in %s", err, s.dir)
	}
	return out, errors.Join(err, os.RemoveAll(s.dir))
}
