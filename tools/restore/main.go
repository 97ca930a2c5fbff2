//go:build linux

// Command restore drills backups: it makes them while rows are imported and hours are published, loses the machine,
// restores to a new one with the commands of docs/operate.md, and counts what is missing.
//
//	make build && scripts/need postgres pgbackrest
//	go run ./tools/restore                           # about a minute
//	go run ./tools/restore -update docs/operate.md   # also write the table into the document
//
// # Backups
//
// SQLite is copied by assay backup. PostgreSQL is dumped by pg_dump, and in another run backed up by pgBackRest with an
// archive of its write-ahead log, from which it is recovered to a moment after the backup.
//
// # Verdict
//
// Everything that was acknowledged before the backup began, or before the moment to recover to, is in the restored
// database, and assay verify succeeds there with the signing key that was copied beside it. What came later is counted,
// imported again and published, and assay verify succeeds again.
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

func main() { process.Main("restore", parseOptions, run) }

// section is the part of the document for the table.
const section report.Section = "restore"

type options struct {
	assay  string
	update string
	args   []string // the command line, for the report
}

func parseOptions(args []string) (options, error) {
	o := options{args: args}
	flags := flag.NewFlagSet("restore", flag.ContinueOnError)
	flags.StringVar(&o.assay, "assay", "bin/assay", "the `binary` to drill")
	flags.StringVar(&o.update, "update", "", "write the result between the markers of this Markdown `file`")
	if err := process.ParseFlags(flags, args, &o.assay, "build"); err != nil || o.update == "" {
		return o, err
	}
	return o, section.Check(o.update)
}

// backup is a way to back up and to restore.
type backup struct {
	name string
	do   func(context.Context, *machine) (outcome, error)
}

var backups = []backup{
	{"SQLite: `assay backup`", backUpSQLite},
	{"PostgreSQL: `pg_dump`", dumpPostgres},
	{"PostgreSQL: pgBackRest, recovered to a moment", recoverPostgres},
}

// outcome is a row of the table. A row that is missing, or an hour, would have ended the run.
type outcome struct {
	name               string
	rows, hours        int           // acknowledged before the moment that the backup promises
	laterRows, latest  int           // rows that were acknowledged later, and how many of them the restore has
	restored, verified time.Duration // how long that took
	verdict            string        // the first line of assay verify
}

// run makes each backup on a machine of its own. It keeps the folder of one that fails.
func run(ctx context.Context, o options) error {
	var outcomes []outcome
	for _, b := range backups {
		fmt.Println("restore:", b.name)
		out, err := b.run(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		outcomes = append(outcomes, out)
	}
	table := newTable(outcomes)
	fmt.Print(table)
	if o.update == "" {
		return nil
	}
	return section.Update(o.update, report.By(time.Now(), "./tools/restore", o.args)+"\n"+table)
}

func (b backup) run(ctx context.Context, o options) (out outcome, err error) {
	m, err := newMachine(o)
	if err != nil {
		return out, err
	}
	out, err = b.do(ctx, m)
	out.name = b.name
	m.stop()
	if err != nil && ctx.Err() == nil {
		return out, fmt.Errorf("%w\nits files are in %s", err, m.dir)
	}
	return out, errors.Join(err, os.RemoveAll(m.dir))
}

// newTable is the table in Markdown.
func newTable(outcomes []outcome) string {
	var b strings.Builder
	b.WriteString("| backup | lost / rows acknowledged before | lost / hours published before " +
		"| kept / rows acknowledged later | restore | `assay verify` of the restored database |\n|---|--:|--:|--:|--:|---|\n")
	for _, o := range outcomes {
		fmt.Fprintf(&b, "| %s | 0 / %d | 0 / %d | %d / %d | %.1f s | %s |\n",
			o.name, o.rows, o.hours, o.latest, o.laterRows, o.restored.Seconds(), o.verdict)
	}
	return b.String()
}
