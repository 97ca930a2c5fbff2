package intake

import (
	"context"
	"encoding/hex"
	"path/filepath"
	"slices"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/verifier"
)

// Record lets the log list the last file of an importer, with what has changed since the counts before it.
func Record(
	ctx context.Context, db *store.DB, family, file string, sum assay.Hash, importer ingest.AnyImporter,
	before ingest.Counts,
) (proof.Import, error) {
	counts, receipts := importer.Counts(), importer.FileReceipts()
	return db.AddImport(ctx, proof.Import{
		Family: family, File: filepath.Base(file), SHA256: sum, FirstReceipt: receipts.First, LastReceipt: receipts.Last,
		Rows: int64(counts.Inserted - before.Inserted), Known: int64(counts.Duplicates - before.Duplicates),
		Rejected: int64(counts.Rejected - before.Rejected),
	})
}

// checkpointWithin is how soon a checkpoint includes what was received: the publisher signs every ten minutes, and may
// be restarted meanwhile.
const checkpointWithin = time.Hour

// NewReceipt is the receipt for an import that the log lists, except for the rejected lines.
func NewReceipt(log string, i *proof.Import, rejected []int) verifier.Receipt {
	r := verifier.Receipt{
		Log: log, Import: i.Number, File: i.File, FileSHA256: hex.EncodeToString(i.SHA256[:]),
		Accepted: i.Rows + i.Known, RejectedLines: slices.Sorted(slices.Values(rejected)),
		ReceivedAt:     assay.FormatInstant(i.At),
		InCheckpointBy: assay.FormatInstant(i.At + checkpointWithin.Milliseconds()),
	}
	if r.RejectedLines == nil {
		r.RejectedLines = []int{}
	}
	return r
}

// MostRejected is how many rejected rows a receipt can name.
const MostRejected = 10_000

// rejectedLines are the lines of rejected rows, as far as a receipt can name them.
type rejectedLines struct {
	list    []int
	tooMany bool
}

func (l *rejectedLines) add(line int) {
	if len(l.list) == MostRejected {
		l.tooMany = true
		return
	}
	l.list = append(l.list, line)
}
