package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

func newPublishCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var from, to int64
	var confirm bool
	cmd := &cobra.Command{
		Use:   "publish",
		Short: "Publish the history of imported transactions",
		Long: `Compute and publish every hour and day in a period that is not published yet.
Published values are final: import all files first. A running server shows the
new values within a second.

A day is published if its whole window, from fixing to fixing, lies in the
period. If you publish in pieces, let them overlap by a day: values that are
already published are left alone.

Without --to, you say that everything is imported: a server that waits because
it did not run for a while, or because an expected source is missing, continues.
Publishing stops at the end of the newest transaction's day, or
two hours after the transaction if that is later. Beyond that, hours would be
empty for good because a feed is down or a clock is wrong. With --confirm they
are published all the same, and a server that stopped publishing because its
clock jumped resumes.

Values of other indices that have become final get their records.`,
		Example: `  assay publish --dir data
  assay publish --dir data --from 2025-01-01 --to 2026-01-01`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				return publishHistory(cmd.Context(), db, location, publishPeriod{from, to, confirm}, s)
			})
		},
	}
	addInstantFlag(cmd.Flags(), &from, "from", "`INSTANT` to start at (default: the first transaction)")
	addInstantFlag(cmd.Flags(), &to, "to", "`INSTANT` to end at (default: now, or the end of what was received)")
	cmd.Flags().BoolVar(&confirm, "confirm", false, "also publish hours for which nothing was received")
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

// publishPeriod is what to publish.
type publishPeriod struct {
	from, to int64 // 0 for the default
	confirm  bool  // publish hours although nothing was received for them
}

func publishHistory(
	ctx context.Context, db *store.DB, location databaseLocation, period publishPeriod, s *streams,
) (err error) {
	publisher, err := commandPublisher(ctx, db, location)
	if err != nil {
		return err
	}
	others, err := period.recordOthers(ctx, publisher, s)
	if err != nil {
		return err
	}
	from, to, err := period.bounds(ctx, db, publisher)
	if errors.Is(err, errNoTransactions) && others {
		return publisher.Sign(ctx)
	}
	if err != nil {
		return err
	}
	if err := period.say(ctx, db, to); err != nil {
		return err
	}
	bar := newProgress(s)
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
	publisher.AwaitServed(ctx)
	bar.finish()
	s.say("published: %s from %s to %s", count(values, "value"), assay.FormatInstant(from), assay.FormatInstant(to))
	return nil
}

// recordOthers makes records of the values of other indices that are final, and reports whether there are any. By a
// clock that is wrong they may not be.
func (p publishPeriod) recordOthers(
	ctx context.Context, publisher *publish.Publisher, s *streams,
) (others bool, err error) {
	if err := publisher.CheckClock(ctx); err != nil && !p.confirm {
		return false, nil //nolint:nilerr // what cannot be published says so
	}
	final, err := publisher.RecordValues(ctx)
	if err != nil {
		return false, err
	}
	counters, err := publisher.Store.Counters(ctx)
	if err != nil || counters.ValueRecords == 0 {
		return false, err
	}
	s.say("recorded: %s of other indices", count(final, "final value"))
	return true, nil
}

// commandPublisher is the publisher of a command.
func commandPublisher(ctx context.Context, db *store.DB, location databaseLocation) (*publish.Publisher, error) {
	key, err := commandSigningKey(ctx, db, location.folder())
	return &publish.Publisher{
		Store: db, Key: key, Now: wallTime, Log: slog.New(slog.DiscardHandler), Lead: publish.DefaultLead,
		Horizon: publish.DefaultHorizon,
	}, err
}

// say records what the operator says by publishing: a server that waits for it continues.
func (p publishPeriod) say(ctx context.Context, db *store.DB, to int64) error {
	switch {
	case p.confirm:
		return db.ConfirmPublishing(ctx, to)
	case p.to == 0:
		return db.DeclareComplete(ctx, to)
	}
	return nil
}

// bounds replaces the defaults of a period.
func (p publishPeriod) bounds(
	ctx context.Context, db *store.DB, publisher *publish.Publisher,
) (from, to int64, err error) {
	from, to = p.from, p.to
	if from == 0 {
		if from, err = firstTransactionDay(ctx, db); err != nil {
			return 0, 0, err
		}
	}
	if to == 0 {
		if to, err = p.end(ctx, publisher); err != nil {
			return 0, 0, err
		}
	}
	if from >= to {
		return 0, 0, usagef("--from must be before --to")
	}
	return from, to, nil
}

// end is where a period ends that the operator has given no end: now, but only if the clock and the transactions allow
// it, or if the operator has confirmed it.
func (p publishPeriod) end(ctx context.Context, publisher *publish.Publisher) (int64, error) {
	now := wallTime().UnixMilli()
	if p.confirm {
		return now, nil
	}
	if err := publisher.CheckClock(ctx); err != nil {
		return 0, err
	}
	limit, err := publisher.HistoryLimit(ctx)
	return min(now, limit), err
}

var errNoTransactions = errors.New("there are no transactions to publish")

func firstTransactionDay(ctx context.Context, db *store.DB) (int64, error) {
	first, ok, err := db.FirstTransaction(ctx)
	if err == nil && !ok {
		err = errNoTransactions
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
