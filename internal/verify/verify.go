// Package verify proves what was published, or names the first difference. It recomputes every value from the
// transactions that were known when the value was published, follows the hash chain of every series, and checks the
// signed manifests.
//
// Database (database.go) reads a database. Bundle (bundle.go) reads files that Export (export.go) wrote, on a machine
// that has no database. Both hand the data to the same checker, one chunk of days at a time, and then check what
// spans chunks: chains (chain.go), manifests (manifests.go) and the ledger (ledger.go).
package verify

import (
	"errors"
	"fmt"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// ErrDiffers is wrapped by every error that says that a published value cannot be proven.
var ErrDiffers = errors.New("stored data does not match what was published")

func differs(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDiffers, fmt.Sprintf(format, args...))
}

// Report counts what was proven.
type Report struct {
	Transactions int
	Records      int
	Manifests    int
	Unsigned     int      // days whose records are in no manifest yet
	PublicKeys   []string // of the signers, in base64
}

// Progress is called as the work advances, never concurrently. Done runs from 0 to 1.
type Progress func(done float64, transactions int)

// chunk holds the data of some days, each from one fixing to the next: the transactions as received, the later
// verifications of them, and the records of the slots that end after the chunk's start and up to its end.
type chunk struct {
	transactions  []assay.Transaction
	verifications []assay.Verification
	records       []store.Record
}

// findings accumulate over all chunks.
type findings struct {
	report        Report
	links         links
	verifications int // that belong to a transaction
}

func (f *findings) add(c *chunk) {
	f.report.Transactions += len(c.transactions)
	f.report.Records += len(c.records)
	f.verifications += len(c.verifications)
	f.links.add(c.records)
}
