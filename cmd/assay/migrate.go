package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/verify"
)

func newMigrateCommand(s *streams) *cobra.Command {
	var from, to databaseLocation
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Copy a database, such as from SQLite to PostgreSQL",
		Long: `Copy a database to a new, empty one, such as from SQLite to PostgreSQL.

Assay copies everything as of one moment and reads it back. If any row differs,
or the copy is interrupted, the new database stays empty. Then it proves the
copy as assay verify does. Stop everything that writes to the old database
first: later changes are not copied. The signing key is a file: copy it too.`,
		Example: "  assay migrate --from sqlite://data --to postgres://assay@db/assay",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from.store == "" || to.store == "" {
				return usagef("--from and --to are required: the database to copy and the new one")
			}
			return withDatabase(cmd.Context(), from, func(source *store.DB) error {
				target, err := createDatabase(cmd.Context(), to)
				if err != nil {
					return err
				}
				defer target.Close()
				return migrate(cmd.Context(), from, to, source, target, s)
			})
		},
	}
	addAddressFlag(cmd.Flags(), &from.store, "from",
		"`ADDRESS` of the database to copy: sqlite://FOLDER or postgres://…", store.CheckAddress)
	addAddressFlag(cmd.Flags(), &to.store, "to",
		"`ADDRESS` of the new database: sqlite://FOLDER or postgres://…", store.CheckAddress)
	return cmd
}

func migrate(ctx context.Context, from, to databaseLocation, source, target *store.DB, s *streams) error {
	start := time.Now()
	progress := func(table string, rows int) { s.note("%s: %s rows", table, thousands(rows)) }
	if err := source.CopyTo(ctx, target, progress); err != nil {
		return fmt.Errorf("copy %s to %s: %w", from, to, err)
	}
	report, err := proveCopy(ctx, source, target)
	if err != nil {
		return fmt.Errorf("the copy in %s cannot be proven, do not use it: %w; empty it and migrate again", to, err)
	}
	s.say("copied %s to %s", from, to)
	printReport(s, report, time.Since(start))
	return nil
}

// proveCopy verifies a copy, and that its ledger, which has the heads of all hash chains, equals the original's.
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
