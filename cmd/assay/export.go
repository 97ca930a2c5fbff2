package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/verify"
)

var exportCommand = &command{
	name: "export", arguments: "--bundle FOLDER --from DAY --to DAY [flags]", summary: "write the proof of a period to files",
	details: `Writes the transactions, the methodology, the records and the signed manifests of the days from --from up to,
not including, --to into a new folder, as far as anything is published for them. assay verify --bundle proves
it on another machine, with no database.`,
	run: runExport,
}

func runExport(ctx context.Context, c *command, args []string, s streams) error {
	flags := newFlags(c, s)
	var at place
	var from, to int64
	at.register(flags, "assay-data")
	bundle := flags.String("bundle", "", "`FOLDER` to write; it must not exist")
	instantFlag(flags, &from, "from", "`DAY` to begin with")
	instantFlag(flags, &to, "to", "`DAY` to end before")
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := noArguments(flags); err != nil {
		return err
	}
	switch {
	case *bundle == "":
		return usageError{errors.New("--bundle is missing")}
	case from == 0 || to == 0:
		return usageError{errors.New("--from and --to say which days are written")}
	case from != assay.StartOfDay(from) || to != assay.StartOfDay(to):
		return usageError{errors.New("--from and --to must be days: YYYY-MM-DD")}
	case from >= to:
		return usageError{errors.New("--from must be before --to")}
	}
	db, err := openExisting(ctx, at)
	if err != nil {
		return err
	}
	defer db.Close()
	report, err := verify.Export(ctx, db, *bundle, verify.ExportOptions{From: from, To: to, Now: time.Now().UnixMilli()})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "exported: %s values, %s transactions, %s signed days to %s\n", thousands(report.Records), thousands(report.Transactions), thousands(report.Manifests), *bundle)
	return nil
}

// writeRows writes CSV.
func writeRows(w io.Writer, write func(row func(...string) error) error) error {
	out := csv.NewWriter(w)
	err := write(func(cells ...string) error { return out.Write(cells) })
	out.Flush()
	return errors.Join(err, out.Error())
}
