package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"time"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/verify"
)

var migrateCommand = &command{
	name: "migrate", arguments: "--from ADDRESS --to ADDRESS", summary: "copy a database into a new one of another kind",
	details: `Copies everything that the database has at one moment into a new one, and reads it back: every row of every table is as it
was, or the new database stays empty, as it also does after an interrupt. Then the copy is proven as assay verify does.
Stop what writes to the old one first: what comes later stays there. The signing key is a file: copy it yourself.

  assay migrate --from sqlite://data --to postgres://assay@db/assay`,
	run: runMigrate,
}

func runMigrate(ctx context.Context, c *command, args []string, s streams) error {
	flags := newFlags(c, s)
	var from, to place
	flags.StringVar(&from.store, "from", "", "`ADDRESS` of the database to copy: sqlite://FOLDER or postgres://…")
	flags.StringVar(&to.store, "to", "", "`ADDRESS` of the new database: sqlite://FOLDER or postgres://…")
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := noArguments(flags); err != nil {
		return err
	}
	if from.store == "" || to.store == "" {
		return usageError{errors.New("--from and --to say which database is copied, and where to")}
	}
	source, err := openExisting(ctx, from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := openStore(ctx, to)
	if err != nil {
		return err
	}
	defer target.Close()
	begun := time.Now()
	progress := func(table string, rows int) { fmt.Fprintf(s.err, "%s: %s rows\n", table, thousands(rows)) }
	if err := source.CopyTo(ctx, target, progress); err != nil {
		return fmt.Errorf("copy %s to %s: %w", from, to, err)
	}
	report, err := proveCopy(ctx, source, target)
	if err != nil {
		return fmt.Errorf("%s has every row that %s had, but must not be used: %w; empty it, and migrate again when that is mended", to, from, err)
	}
	fmt.Fprintf(s.out, "copied %s to %s\n", from, to)
	printReport(s, report, time.Since(begun))
	return nil
}

// proveCopy verifies a copy, and that its ledger, with the heads of all chains, is that of the database it was made of.
func proveCopy(ctx context.Context, source, target *store.DB) (report verify.Report, err error) {
	want, err := source.Ledger(ctx)
	if err != nil {
		return report, err
	}
	got, err := target.Ledger(ctx)
	if err != nil {
		return report, err
	}
	if !reflect.DeepEqual(got, want) {
		return report, errors.New("the ledgers differ: something was written to the old database meanwhile")
	}
	return verify.Database(ctx, target, verify.Options{Workers: runtime.GOMAXPROCS(0)})
}
