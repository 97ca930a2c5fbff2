package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/publish"
)

var publishCommand = &command{
	name: "publish", arguments: "[flags]", summary: "publish the history of imported transactions",
	details: `Determines every hour and day that lies in the given time and has not been determined before. What has been
published is fixed: load all files first. A running server shows the new values within a second.

A day is determined when its whole window, from fixing to fixing, lies in the given time. Who publishes in
pieces lets them overlap by a day: what has been determined before is left alone.`,
	run: runPublish,
}

func runPublish(ctx context.Context, c *command, args []string, s streams) error {
	flags := newFlags(c, s)
	var at place
	at.register(flags, "assay-data")
	var from, to int64
	instantFlag(flags, &from, "from", "`INSTANT` to begin at (default: the first transaction)")
	instantFlag(flags, &to, "to", "`INSTANT` to end at (default: now)")
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := noArguments(flags); err != nil {
		return err
	}
	db, err := openStore(ctx, at)
	if err != nil {
		return err
	}
	defer db.Close()
	if from == 0 {
		var ok bool
		if from, ok, err = db.FirstTransaction(ctx); err != nil {
			return err
		}
		if !ok {
			return errors.New("there are no transactions to publish")
		}
		from = assay.StartOfDay(from)
	}
	if to == 0 {
		to = time.Now().UnixMilli()
	}
	if from >= to {
		return usageError{errors.New("--from must be before --to")}
	}
	bar := newProgress(s.err)
	key, err := signingKey(at.folder())
	if err != nil {
		return err
	}
	publisher := &publish.Publisher{Store: db, Key: key, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	values, err := publisher.Backfill(ctx, from, to, func(at int64) {
		bar.show("publishing", float64(at-from)/float64(to-from), "")
	})
	if err == nil {
		err = publisher.Sign(ctx)
	}
	if err != nil {
		bar.leave()
		return err
	}
	bar.complete()
	fmt.Fprintf(s.out, "published: %s values from %s to %s\n", thousands(values), assay.FormatInstant(from), assay.FormatInstant(to))
	return nil
}
