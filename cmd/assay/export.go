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
	var values valuesConfig
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write published values, or the proof of a period, to files",
		Long: `Write published values or the proof of a period to files, without a server.

With --values, write the values of a series as CSV, NDJSON or Parquet: the rows
that the API serves to a Full key, from --from up to and without --to, as they
were published by --as-of.

With --bundle, write the transactions, methodologies, records and signed
manifests of a period to a new folder, from the day --from up to and without the
day --to. On another machine, 'assay verify --bundle' proves it without a
database.`,
		Example: `  assay export --dir data --values gpu --series "H100 SXM" --out h100.parquet
  assay export --dir data --bundle proof --from 2026-06-01 --to 2026-07-01
  assay verify --bundle proof`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if values.family != "" {
				values.from, values.to = from, to
				if err := values.check(bundle); err != nil {
					return err
				}
				return withDatabase(cmd.Context(), location, func(db *store.DB) error {
					return values.export(cmd.Context(), db, s)
				})
			}
			switch {
			case values != valuesConfig{out: standardInput}:
				return usagef("--series, --region, --grain, --as-of, --format and --out need --values")
			case bundle == "":
				return usagef("--values or --bundle is required")
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
	values.register(cmd)
	cmd.Flags().StringVar(&bundle, "bundle", "", "`FOLDER` to write; it must not exist")
	addInstantFlag(cmd.Flags(), &from, "from", "`INSTANT` to start with; with --bundle a day")
	addInstantFlag(cmd.Flags(), &to, "to", "`INSTANT` to end before; with --bundle a day")
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
