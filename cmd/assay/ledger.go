package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

var verifyTransactionCommand = &command{
	name: "verify-transaction", arguments: "--source S --reason R [flags] ID…", summary: "say that transactions are verified after all",
	details: `From now on the transactions count. What was published before stays as it is until assay restate determines it
anew. The words are kept with who said them, when and why; nothing is edited.`,
	run: func(ctx context.Context, c *command, args []string, s streams) error {
		return runVerification(ctx, c, args, s, true)
	},
}

var withdrawCommand = &command{
	name: "withdraw", arguments: "--source S --reason R [flags] ID…", summary: "say that transactions do not count any more",
	details: `From now on the transactions do not count. What was published before stays as it is until assay restate
determines it anew. The words are kept with who said them, when and why; nothing is edited.`,
	run: func(ctx context.Context, c *command, args []string, s streams) error {
		return runVerification(ctx, c, args, s, false)
	},
}

func runVerification(ctx context.Context, c *command, args []string, s streams, verified bool) error {
	flags := newFlags(c, s)
	var at place
	at.register(flags, "assay-data")
	source := flags.String("source", "", "`NAME` of the source that reported them")
	said := newSaid(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	if *source == "" {
		return usageError{errors.New("--source is missing")}
	}
	if err := said.check(); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return usageError{errors.New("no transaction is named")}
	}
	db, err := openExisting(ctx, at)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, id := range flags.Args() {
		late, err := db.AddVerification(ctx, assay.Verification{Source: *source, ID: id, Verified: verified, Actor: said.actor, Reason: said.reason})
		if err != nil {
			return err
		}
		word, hint := "withdrawn", ""
		if verified {
			word = "verified"
		}
		if late {
			hint = "; its time is published and stays as it is until assay restate"
		}
		fmt.Fprintf(s.out, "%s: %s%s\n", id, word, hint)
	}
	return nil
}

// said is who says something, and why.
type said struct{ actor, reason string }

func newSaid(flags *flag.FlagSet) *said {
	s := &said{}
	flags.StringVar(&s.reason, "reason", "", "`TEXT` that says why, for auditors")
	flags.StringVar(&s.actor, "actor", "", "`NAME` of who says it (default: the user of this machine)")
	return s
}

// maxSaid bounds what is kept of a reason.
const maxSaid = 500

func (s *said) check() error {
	if s.actor == "" {
		s.actor = userName()
	}
	for _, text := range []struct{ name, value string }{{"--reason", s.reason}, {"--actor", s.actor}} {
		if strings.TrimSpace(text.value) == "" {
			return usageError{fmt.Errorf("%s is missing", text.name)}
		}
		if len(text.value) > maxSaid {
			return usageError{fmt.Errorf("%s is longer than %d bytes", text.name, maxSaid)}
		}
	}
	return nil
}

var restateCommand = &command{
	name: "restate", arguments: "--gpu NAME --from INSTANT --to INSTANT --reason R [flags]", summary: "determine published time anew, as new revisions",
	details: `Determines the hours and days of a GPU again, with all transactions that are known now, under the methodology
that governs them. Slots whose transactions have changed get a new revision; nothing is overwritten, and
as_of still answers with what was known before. assay late lists what a restatement would take up.`,
	run: runRestate,
}

func runRestate(ctx context.Context, c *command, args []string, s streams) error {
	flags := newFlags(c, s)
	var at place
	var from, to int64
	at.register(flags, "assay-data")
	gpu := flags.String("gpu", "", "`NAME` of the GPU")
	instantFlag(flags, &from, "from", "`INSTANT` at which the first window begins")
	instantFlag(flags, &to, "to", "`INSTANT` at which the last window ends")
	said := newSaid(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := noArguments(flags); err != nil {
		return err
	}
	switch {
	case *gpu == "":
		return usageError{errors.New("--gpu is missing")}
	case from == 0 || to == 0:
		return usageError{errors.New("--from and --to say which time is determined anew")}
	case from >= to:
		return usageError{errors.New("--from must be before --to")}
	}
	if err := said.check(); err != nil {
		return err
	}
	db, err := openExisting(ctx, at)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := knownGPU(ctx, db, *gpu); err != nil {
		return err
	}
	key, err := signingKey(at.folder())
	if err != nil {
		return err
	}
	publisher := &publish.Publisher{Store: db, Key: key, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	done, err := publisher.Restate(ctx, publish.Restatement{GPU: *gpu, From: from, To: to, Reason: said.reason, Actor: said.actor})
	if err != nil {
		return err
	}
	if done.Version == 0 {
		fmt.Fprintln(s.out, "nothing to restate: no slot there has other transactions than it was published with")
		return nil
	}
	fmt.Fprintf(s.out, "restated: %s new revisions, %s of them with another value; %s late entries settled (version %d)\n",
		thousands(done.Slots), thousands(done.Moved), thousands(done.Settled), done.Version)
	return publisher.Sign(ctx)
}

// knownGPU refuses a name that the catalog does not have.
func knownGPU(ctx context.Context, db *store.DB, name string) error {
	catalog, err := db.Catalog(ctx)
	if err != nil {
		return err
	}
	if _, ok := catalog.GPU(name); ok {
		return nil
	}
	names := make([]string, len(catalog.GPUs))
	for i, gpu := range catalog.GPUs {
		names[i] = gpu.Name
	}
	return usageError{fmt.Errorf("invalid value %q for flag --gpu: allowed are %s", name, strings.Join(names, ", "))}
}

var lateCommand = &command{
	name: "late", arguments: "[flags]", summary: "list what arrived after its time was published",
	details: `Lists, as CSV, the transactions that arrived, were verified or were withdrawn after their hour or day was
published. They change nothing until assay restate takes them up; then they leave the list.`,
	run: func(ctx context.Context, c *command, args []string, s streams) error {
		return runList(ctx, c, args, s, listLate)
	},
}

var conflictsCommand = &command{
	name: "conflicts", arguments: "[flags]", summary: "list rows that came under a known id with other content",
	details: `Lists, as CSV, the rows that were kept aside because their source had used the same id for something else.
The first row stays the one that counts.`,
	run: func(ctx context.Context, c *command, args []string, s streams) error {
		return runList(ctx, c, args, s, listConflicts)
	},
}

func runList(ctx context.Context, c *command, args []string, s streams, list func(context.Context, *store.DB, func(...string) error) error) error {
	flags := newFlags(c, s)
	var at place
	at.register(flags, "assay-data")
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := noArguments(flags); err != nil {
		return err
	}
	db, err := openExisting(ctx, at)
	if err != nil {
		return err
	}
	defer db.Close()
	return writeRows(s.out, func(row func(...string) error) error { return list(ctx, db, row) })
}

// transactionHeader are the columns of an import file, so that a list can be imported elsewhere.
var transactionHeader = []string{"id", "source", "executed_at", "gpu_name", "region", "price", "gpus", "hours", "provider", "verified"}

func transactionCells(t *assay.Transaction) []string {
	return []string{
		t.ID, t.Source, assay.FormatInstant(t.ExecutedAt), t.GPU, t.Region, t.Price.String(), fmt.Sprint(t.GPUs),
		assay.Nanos(t.HourMicros * 1000).String(), t.Provider, fmt.Sprint(t.Verified),
	}
}

func listLate(ctx context.Context, db *store.DB, row func(...string) error) error {
	if err := row(append(transactionHeader, "change", "received_at", "pending")...); err != nil {
		return err
	}
	return db.EachLate(ctx, func(l *store.Late) error {
		pending := "hour and day"
		switch {
		case !l.Daily:
			pending = "hour"
		case !l.Hourly:
			pending = "day"
		}
		return row(append(transactionCells(&l.Transaction), l.Change, assay.FormatInstant(l.ReceivedAt), pending)...)
	})
}

func listConflicts(ctx context.Context, db *store.DB, row func(...string) error) error {
	if err := row(append(transactionHeader, "received_at")...); err != nil {
		return err
	}
	return db.EachConflict(ctx, func(t *assay.Transaction, receivedAt int64) error {
		return row(append(transactionCells(t), assay.FormatInstant(receivedAt))...)
	})
}
