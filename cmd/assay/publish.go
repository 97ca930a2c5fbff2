package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

func newPublishCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var from, to int64
	cmd := &cobra.Command{
		Use:   "publish",
		Short: "Publish the history of imported transactions",
		Long: `Compute and publish every hour and day in a period that is not published yet.
Published values are final: import all files first. A running server shows the
new values within a second.

A day is published if its whole window, from fixing to fixing, lies in the
period. If you publish in pieces, let them overlap by a day: values that are
already published are left alone.`,
		Example: `  assay publish --dir data
  assay publish --dir data --from 2025-01-01 --to 2026-01-01`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				return publishHistory(cmd.Context(), db, location, from, to, s)
			})
		},
	}
	addInstantFlag(cmd.Flags(), &from, "from", "`INSTANT` to start at (default: the first transaction)")
	addInstantFlag(cmd.Flags(), &to, "to", "`INSTANT` to end at (default: now)")
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func publishHistory(
	ctx context.Context, db *store.DB, location databaseLocation, from, to int64, s *streams,
) (err error) {
	if from == 0 {
		if from, err = firstTransactionDay(ctx, db); err != nil {
			return err
		}
	}
	if to == 0 {
		to = time.Now().UnixMilli()
	}
	if from >= to {
		return usagef("--from must be before --to")
	}
	key, err := readSigningKey(location.folder())
	if err != nil {
		return err
	}
	bar := newProgress(s)
	publisher := &publish.Publisher{Store: db, Key: key, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	values, err := publisher.Backfill(ctx, from, to, func(at int64) {
		bar.show("publishing", float64(at-from)/float64(to-from), "")
	})
	if err == nil {
		err = publisher.Sign(ctx)
	}
	if err != nil {
		bar.stop()
		return err
	}
	bar.finish()
	s.say("published: %s values from %s to %s", thousands(values), assay.FormatInstant(from), assay.FormatInstant(to))
	return nil
}

func firstTransactionDay(ctx context.Context, db *store.DB) (int64, error) {
	first, ok, err := db.FirstTransaction(ctx)
	if err == nil && !ok {
		err = errors.New("there are no transactions to publish")
	}
	return assay.StartOfDay(first), err
}

// unpublishedHint says how to publish transactions that are older than everything published; empty if there are none.
func unpublishedHint(ctx context.Context, db *store.DB, location databaseLocation) (string, error) {
	first, ok, err := db.FirstTransaction(ctx)
	if err != nil || !ok {
		return "", err
	}
	coverage, err := db.Coverage(ctx)
	if err != nil {
		return "", err
	}
	for _, spans := range coverage {
		if spans[0].From <= first+assay.Day {
			return "", nil
		}
	}
	day := assay.FormatDay(first)
	return "Transactions from " + day + " on are not published yet. Once all files are imported, run: assay publish " +
		location.asFlagsWith("--from "+day), nil
}
