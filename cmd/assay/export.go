package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/verify"
)

func newExportCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var bundle string
	var from, to int64
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the proof of a period to files",
		Long: `Write the transactions, methodologies, records and signed manifests of a period
to a new folder, from the day --from up to and without the day --to. On another
machine, 'assay verify --bundle' proves it without a database.`,
		Example: `  assay export --dir data --bundle proof --from 2026-06-01 --to 2026-07-01
  assay verify --bundle proof`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case bundle == "":
				return usagef("--bundle is required")
			case from == 0 || to == 0:
				return usagef("--from and --to are required: the days to export")
			case from != assay.StartOfDay(from) || to != assay.StartOfDay(to):
				return usagef("--from and --to must be days: YYYY-MM-DD")
			case from >= to:
				return usagef("--from must be before --to")
			}
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				return exportBundle(cmd.Context(), db, from, to, bundle, s)
			})
		},
	}
	cmd.Flags().StringVar(&bundle, "bundle", "", "`FOLDER` to write; it must not exist")
	addInstantFlag(cmd.Flags(), &from, "from", "`DAY` to start with")
	addInstantFlag(cmd.Flags(), &to, "to", "`DAY` to end before")
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func exportBundle(ctx context.Context, db *store.DB, from, to int64, bundle string, s *streams) error {
	report, err := verify.Export(ctx, db, bundle, verify.ExportOptions{From: from, To: to, Now: wallTime().UnixMilli()})
	if err != nil {
		return err
	}
	s.say("exported: %s, %s, %s to %s", count(report.Records, "value"),
		count(report.Transactions, "transaction"), count(report.Manifests, "signed day"), bundle)
	return nil
}
