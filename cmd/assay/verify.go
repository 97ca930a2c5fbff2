package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/assaydata/assay/internal/verify"
)

var verifyCommand = &command{
	name: "verify", arguments: "[flags]", summary: "prove everything that was published, or name the first difference",
	details: `Computes every published value again from the stored transactions, as they were known when it was published;
follows the chain of records of every series; checks the signed manifest of every day. With --bundle it does
the same for files that assay export wrote, without a database. The exit code is 1 when anything differs.`,
	run: runVerify,
}

func runVerify(ctx context.Context, c *command, args []string, s streams) error {
	flags := newFlags(c, s)
	var at place
	var from, to int64
	at.register(flags, "assay-data")
	instantFlag(flags, &from, "from", "`INSTANT` of the first slot to check (default: the first)")
	instantFlag(flags, &to, "to", "`INSTANT` before which the last slot to check ends (default: the last)")
	gpu := flags.String("gpu", "", "`NAME` of the only GPU to check")
	bundle := flags.String("bundle", "", "`FOLDER` of exported files to check instead of a database")
	public := flags.String("public-key", "", "`KEY` in base64 that every manifest must be signed with (default: any)")
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := noArguments(flags); err != nil {
		return err
	}
	key, err := base64.StdEncoding.DecodeString(*public)
	if err != nil || len(key) != 0 && len(key) != 32 {
		return usageError{errors.New("invalid value for flag --public-key: allowed are the 44 characters that assay keys show prints")}
	}
	if len(key) == 0 {
		key = nil
	}
	bar, begun := newProgress(s.err), time.Now()
	progress := func(done float64, transactions int) {
		bar.show("verifying", done, fmt.Sprintf("%s transactions, %s/s", thousands(transactions), rate(transactions, time.Since(begun))))
	}
	var report verify.Report
	if *bundle != "" {
		report, err = verify.Bundle(ctx, *bundle, key, progress)
	} else {
		report, err = verifyStore(ctx, at, verify.Options{
			From: from, To: to, GPU: *gpu, PublicKey: key, Workers: runtime.GOMAXPROCS(0), Progress: progress,
		})
	}
	if err != nil {
		bar.leave()
		return err
	}
	bar.complete()
	printReport(s, report, time.Since(begun))
	return nil
}

// verifyGC lets the heap grow further before it is collected: it is small, and is thrown away at the end.
const verifyGC = 400

func verifyStore(ctx context.Context, at place, o verify.Options) (report verify.Report, err error) {
	debug.SetGCPercent(verifyGC)
	db, err := openExisting(ctx, at)
	if err != nil {
		return report, err
	}
	defer db.Close()
	if o.GPU != "" {
		if err := knownGPU(ctx, db, o.GPU); err != nil {
			return report, err
		}
	}
	return verify.Database(ctx, db, o)
}

func printReport(s streams, r verify.Report, took time.Duration) {
	fmt.Fprintf(s.out, "verified: %s values from %s transactions, %s signed days (%.1f s, %s transactions/s)\n",
		thousands(r.Records), thousands(r.Transactions), thousands(r.Manifests), took.Seconds(), rate(r.Transactions, took))
	for _, key := range r.PublicKeys {
		fmt.Fprintf(s.out, "signed with %s\n", key)
	}
	if r.Unsigned > 0 {
		fmt.Fprintf(s.out, "%s days are not signed yet: today's, and those since when there is no key (assay keys init)\n", thousands(r.Unsigned))
	}
}
