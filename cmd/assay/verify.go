package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/verify"
)

func newVerifyCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var bundle, since, mine, receipt string
	rows := importConfig{format: "csv"}
	options := verify.Options{Workers: runtime.GOMAXPROCS(0)}
	cmd := &cobra.Command{
		Use:   "verify [FILE…]",
		Short: "Prove everything published, or find the first difference",
		Long: `Recompute every published value from the stored transactions, as they were known
when it was published; follow the hash chain of every series; and check the
signed manifest of every day. With --bundle, do the same for files that assay
export wrote, without a database. With --mine, check that transactions of yours
were received, likewise. The exit code is 1 if anything differs.`,
		Example: `  assay verify --dir data
  assay verify --dir data --since checkpoint-of-last-year.txt
  assay verify --dir data --since bundle-of-last-year
  assay verify --mine mine.json trades.csv
  assay verify --bundle proof \
    --public-key iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=`,
		Args: func(_ *cobra.Command, args []string) error {
			if mine == "" {
				return arguments()(nil, args)
			}
			if len(args) == 0 {
				return usagef("--mine needs the files of transactions that it is about")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if mine != "" {
				rows.arguments = args
				return verifyMine(cmd.Context(), &rows, mine, receipt, options.PublicKeys, s)
			}
			if receipt != "" {
				return usagef("--receipt needs the proof in --mine")
			}
			debug.SetGCPercent(verifyGC)
			debug.SetMemoryLimit(verifyMemory)
			if since != "" {
				if bundle != "" || options.GPU != "" || options.From != 0 || options.To != 0 {
					return usagef("--since checks the whole log of a database: leave out --bundle, --gpu, --from and --to")
				}
				if options.Since, err = keptCheckpoint(cmd.Context(), since); err != nil {
					return err
				}
			}
			bar, start := newProgress(s), time.Now()
			options.Now = wallTime().UnixMilli()
			options.Progress = func(done float64, transactions int) {
				bar.show("verifying", done, transactionRate(transactions, start))
			}
			var report verify.Report
			if bundle != "" {
				report, err = verify.Bundle(cmd.Context(), bundle, options.Signatures, options.Progress)
			} else {
				report, err = verifyDatabase(cmd.Context(), location, options)
			}
			if err != nil {
				bar.stop()
				return err
			}
			bar.finish()
			printReport(s, report, time.Since(start))
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&bundle, "bundle", "", "verify the exported files in this `FOLDER` instead of a database")
	parsedFlag(flags, "public-key", listFlag, "",
		"require that one of these keys has signed every day that is over: `KEY,…` in base64; repeatable (default: any key)",
		func(text string) error {
			keys, err := parsePublicKeys(text)
			options.PublicKeys = append(options.PublicKeys, keys...)
			return err
		})
	flags.StringVar(&mine, "mine", "",
		"verify `FILE`, a proof of assay prove-mine, against the files of transactions that are named as arguments")
	flags.StringVar(&receipt, "receipt", "",
		"with --mine: `FILE` with the receipts that you got for the files, to check what was promised")
	flags.StringVar(&since, "since", "",
		"`FILE` with a checkpoint that you kept, as /log/checkpoint has it, or the folder of a bundle:\n"+
			"the log must still begin with what the checkpoint signs")
	flags.BoolVar(&options.AllowUnsigned, "allow-unsigned", false, "accept days that are over but not signed")
	flags.StringVar(&options.GPU, "gpu", "", "`NAME` of the only GPU to verify")
	addInstantFlag(flags, &options.From, "from", "`INSTANT` of the first slot to verify (default: the first)")
	addInstantFlag(flags, &options.To, "to", "`INSTANT` before which the last slot ends (default: the last)")
	location.register(flags, defaultFolder)
	return cmd
}

// keptCheckpoint reads a checkpoint that someone has kept, in a file or in a bundle.
func keptCheckpoint(ctx context.Context, name string) (string, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, verify.CheckpointFile)
	}
	text, err := files.Read(ctx, name, maxCheckpoint)
	if err == nil && len(text) == 0 {
		err = fmt.Errorf("%s is empty: nothing was signed yet", name)
	}
	return string(text), err
}

// maxCheckpoint is larger than a checkpoint with all signatures that it can have.
const maxCheckpoint = 64 << 10

func parsePublicKeys(text string) (keys [][]byte, err error) {
	for _, part := range splitList(text) {
		key, err := base64.StdEncoding.DecodeString(part)
		if err != nil || len(key) != ed25519.PublicKeySize {
			return nil, errors.New("must be the 44 characters that 'assay signing-key show' prints")
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// transactionRate is the note of a progress bar.
func transactionRate(transactions int, start time.Time) string {
	return fmt.Sprintf("%s transactions, %s/s", thousands(transactions), rate(transactions, time.Since(start)))
}

// verifyGC lets the heap grow further before a collection, and verifyMemory says how far.
const (
	verifyGC     = 400
	verifyMemory = 128 << 20
)

func verifyDatabase(
	ctx context.Context, location databaseLocation, o verify.Options,
) (report verify.Report, err error) {
	err = withDatabase(ctx, location, func(db *store.DB) error {
		// Nothing is written, but SQLite lets connections use what others leave of their caches.
		if err := db.ReleaseMemory(ctx); err != nil {
			return err
		}
		if o.GPU != "" {
			if err := checkGPU(ctx, db, "--gpu", o.GPU); err != nil {
				return err
			}
		}
		report, err = verify.Database(ctx, db, o)
		return err
	})
	return report, err
}

func printReport(s *streams, r verify.Report, took time.Duration) {
	s.say("verified: %s from %s, %s (%.1f s, %s transactions/s)", count(r.Records, "value"),
		count(r.Transactions, "transaction"), count(r.Manifests, "signed day"), took.Seconds(), rate(r.Transactions, took))
	if r.Values > 0 {
		s.say("so are %s of other families", count(r.Values, "record"))
	}
	if r.LogEntries > 0 {
		s.say("the log lists all of it, in %s entries", thousands(int(r.LogEntries)))
	}
	if a := r.Anchors; a.Count > 0 {
		s.say("timestamps of %s from %s to %s", count(a.Count, "checkpoint"), assay.FormatInstant(a.First),
			assay.FormatInstant(a.Last))
		for _, authority := range a.Authorities {
			s.say("timestamps by %s: see docs/proof.md for how to check who that is", authority)
		}
	}
	for _, key := range r.PublicKeys {
		s.say("signed with %s", key)
	}
	for _, reason := range []string{verify.NotEnded, verify.Republished, verify.NeverSigned} {
		printUnsigned(s, r.Unsigned, reason)
	}
}

// unsignedNote says what signs the days that are unsigned for a reason.
var unsignedNote = map[string]string{
	verify.NotEnded:    "",
	verify.Republished: "; the next publication signs it, or 'assay publish'",
	verify.NeverSigned: "; 'assay publish' signs it, if there is a key ('assay signing-key init' creates one)",
}

// printUnsigned names the first and the last of the days that are unsigned for a reason.
func printUnsigned(s *streams, days []verify.UnsignedDay, reason string) {
	days = slices.DeleteFunc(slices.Clone(days), func(u verify.UnsignedDay) bool { return u.Reason != reason })
	switch n := len(days); {
	case n == 1:
		s.say("not signed: %s %s%s", assay.FormatDay(days[0].Day), reason, unsignedNote[reason])
	case n > 1:
		s.say("not signed: each of %s from %s to %s %s%s", count(n, "day"), assay.FormatDay(days[0].Day),
			assay.FormatDay(days[n-1].Day), reason, unsignedNote[reason])
	}
}
