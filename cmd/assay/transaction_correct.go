package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/store"
)

// correctConfig is what to correct, and why.
type correctConfig struct {
	importConfig
	why justification
}

func newTransactionCorrectCommand(s *streams) *cobra.Command {
	config := correctConfig{importConfig: importConfig{family: transactionsFamily()}}
	cmd := &cobra.Command{
		Use:   "correct FILE…",
		Short: "Replace transactions by corrected ones under the same ids",
		Long: `Replace transactions by those in files, which have the same sources and ids and
the columns of assay import transactions. The corrected ones count from now on.
Values published before stay as they are until assay restate recomputes them,
and can be proven as before: what was received first stays stored.

Either all rows are corrected, or none. A row without a stored transaction, or
with the same content, is an error. A dash (-) is CSV from standard input.`,
		Example: `  assay transaction correct --reason "prices in EUR" right.csv`,
		RunE: func(cmd *cobra.Command, args []string) error {
			config.arguments = args
			if len(args) == 0 {
				return usagef("missing FILE (- is standard input)")
			}
			if err := config.why.check(); err != nil {
				return err
			}
			return correctTransactions(cmd.Context(), config, s)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config.source, "source", "", "`NAME` of the source for rows that do not name one")
	config.registerFileOptions(cmd)
	config.why.register(flags)
	config.location.register(flags, defaultFolder)
	return cmd
}

// transactionsFamily is the family of transactions.
func transactionsFamily() (family ingest.Family) {
	for _, f := range ingest.Families {
		if f.Name == transactionFamily {
			family = f
		}
	}
	return family
}

func correctTransactions(ctx context.Context, config correctConfig, s *streams) error {
	input, err := findFiles(config.arguments)
	if err != nil {
		return err
	}
	return withDatabase(ctx, config.location, func(db *store.DB) error {
		rows, err := config.read(ctx, db, input, s)
		if err != nil {
			return err
		}
		why := store.Justification{Actor: config.why.actor, Reason: config.why.reason}
		corrected, err := db.CorrectTransactions(ctx, rows, why)
		if err != nil {
			return err
		}
		s.say("corrected: %s (receipt %d)", count(len(rows), "transaction"), corrected.Receipt)
		if corrected.Late > 0 {
			s.say("already published and changed only by assay restate: the periods of %s", thousands(corrected.Late))
		}
		return nil
	})
}

// read reads all rows of the files.
func (c *correctConfig) read(
	ctx context.Context, db *store.DB, input inputFiles, s *streams,
) (rows []assay.Transaction, err error) {
	catalog, err := db.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	importer := ingest.Transactions(ingest.Options{
		Catalog: catalog, Source: c.source, FileOptions: c.fileOptions,
		NotAfter: func() int64 { return wallTime().Add(ingest.FutureAllowance).UnixMilli() },
	})
	for _, name := range input.files {
		more, err := readRows(ctx, importer, name, s.in)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	if len(rows) == 0 {
		return nil, usagef("the files have no rows")
	}
	return rows, nil
}

func readRows(
	ctx context.Context, importer *ingest.Importer[assay.Transaction], name string, in io.Reader,
) ([]assay.Transaction, error) {
	if name == standardInput {
		return importer.Read(ctx, "standard input.csv", files.Reader(ctx, in))
	}
	f, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return importer.Read(ctx, name, f)
}
