package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/store"
)

// namedTransactions are transactions that a command line names: by their ids, in a file, or by the receipts of their
// imports.
type namedTransactions struct {
	source, file string
	receipts     []int64
	ids          []string
}

func (n *namedTransactions) register(flags *pflag.FlagSet) {
	flags.StringVar(&n.source, "source", "", "`NAME` of the source that reported the transactions")
	flags.StringVar(&n.file, "from-file", "", "`FILE` with a column id, and a column source unless --source is given")
	parsedFlag(flags, "receipt", listFlag, "", "`NUMBER,…` of receipts, also as a range such as 41-43", n.setReceipts)
}

// maxReceipts bounds a range, in which a digit may be wrong.
const maxReceipts = 10_000

func (n *namedTransactions) setReceipts(text string) error {
	n.receipts = nil
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		first, err := strconv.ParseInt(from, 10, 64)
		last := first
		if err == nil && isRange {
			last, err = strconv.ParseInt(to, 10, 64)
		}
		if err != nil || first < 1 || last < first {
			return fmt.Errorf("%q: must be a number such as 41 or a range such as 41-43", part)
		}
		if last-first >= maxReceipts {
			return fmt.Errorf("%q: at most %d receipts are allowed", part, maxReceipts)
		}
		for r := first; r <= last; r++ {
			n.receipts = append(n.receipts, r)
		}
	}
	return nil
}

func (n *namedTransactions) check() error {
	ways := 0
	for _, used := range []bool{len(n.ids) > 0, n.file != "", len(n.receipts) > 0} {
		if used {
			ways++
		}
	}
	switch {
	case ways > 1:
		return usagef("IDs, --from-file and --receipt cannot be used together")
	case ways == 0:
		return usagef("missing ID of a transaction, --from-file or --receipt")
	case len(n.ids) > 0 && n.source == "":
		return usagef("--source is required")
	case len(n.receipts) > 0 && n.source != "":
		return usagef("--source cannot be used with --receipt, which names transactions of any source")
	}
	return nil
}

// marks returns one event for each transaction. Of a receipt it leaves out those that have the wanted mark.
func (n *namedTransactions) marks(ctx context.Context, db *store.DB, verified bool) ([]assay.Verification, error) {
	switch {
	case n.file != "":
		return n.marksOfFile(ctx)
	case len(n.receipts) > 0:
		return n.marksOfReceipts(ctx, db, verified)
	}
	marks := make([]assay.Verification, len(n.ids))
	for i, id := range n.ids {
		marks[i] = assay.Verification{Source: n.source, ID: id}
	}
	return marks, nil
}

func (n *namedTransactions) marksOfFile(ctx context.Context) (marks []assay.Verification, err error) {
	f, err := files.Open(ctx, n.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	ids, err := ingest.ReadIDs(ctx, n.file, f)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if id.Source == "" {
			id.Source = n.source
		}
		if id.Source == "" {
			return nil, fmt.Errorf("%s:%d: the source is missing: name it in a column source, or in --source", n.file, id.Line)
		}
		marks = append(marks, assay.Verification{Source: id.Source, ID: id.ID})
	}
	if len(marks) == 0 {
		return nil, fmt.Errorf("%s has no rows", n.file)
	}
	return marks, nil
}

func (n *namedTransactions) marksOfReceipts(
	ctx context.Context, db *store.DB, verified bool,
) (marks []assay.Verification, err error) {
	for _, receipt := range n.receipts {
		received, err := db.Received(ctx, receipt)
		if err != nil {
			return nil, err
		}
		for _, t := range received {
			if t.Verified != verified {
				marks = append(marks, assay.Verification{Source: t.Source, ID: t.ID})
			}
		}
	}
	if len(marks) == 0 {
		return nil, errors.New("nothing would change: the receipts have no transaction without this mark")
	}
	return marks, nil
}
