package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/verify"
)

func newVerifyCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var bundle string
	options := verify.Options{Workers: runtime.GOMAXPROCS(0)}
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Prove everything published, or find the first difference",
		Long: `Recompute every published value from the stored transactions, as they were known
when it was published; follow the hash chain of every series; and check the
signed manifest of every day. With --bundle, do the same for files that assay
export wrote, without a database. The exit code is 1 if anything differs.`,
		Example: `  assay verify --dir data
  assay verify --bundle proof \
    --public-key iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			bar, start := newProgress(s), time.Now()
			options.Progress = func(done float64, transactions int) {
				bar.show("verifying", done, transactionRate(transactions, start))
			}
			var report verify.Report
			if bundle != "" {
				report, err = verify.Bundle(cmd.Context(), bundle, options.PublicKeys, options.Progress)
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
		"accept only manifests signed with one of these keys: `KEY,…` in base64 (default: any)",
		func(text string) (err error) {
			options.PublicKeys, err = parsePublicKeys(text)
			return err
		})
	flags.StringVar(&options.GPU, "gpu", "", "`NAME` of the only GPU to verify")
	addInstantFlag(flags, &options.From, "from", "`INSTANT` of the first slot to verify (default: the first)")
	addInstantFlag(flags, &options.To, "to", "`INSTANT` before which the last slot ends (default: the last)")
	location.register(flags, defaultFolder)
	return cmd
}

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

// verifyGC lets the heap grow further before a collection: it is small and discarded at the end.
const verifyGC = 400

func verifyDatabase(
	ctx context.Context, location databaseLocation, o verify.Options,
) (report verify.Report, err error) {
	debug.SetGCPercent(verifyGC)
	err = withDatabase(ctx, location, func(db *store.DB) error {
		if o.GPU != "" {
			if err := checkGPU(ctx, db, o.GPU); err != nil {
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
	for _, key := range r.PublicKeys {
		s.say("signed with %s", key)
	}
	if r.Unsigned > 0 {
		s.say("%s not signed yet: the current day, and days without a key ('assay signing-key init' creates one)",
			count(r.Unsigned, "day"))
	}
}
