// Package verify proves what was published, or names the first difference. It recomputes every value from the
// transactions that were known when the value was published, follows the hash chain of every series, and checks the
// signed manifests.
//
// Database (database.go) reads a database. Bundle (bundle.go) reads files that Export (export.go) wrote, on a machine
// that has no database. Both hand the data to the same checker, one chunk at a time, and keep of each chunk only what
// spans chunks: chains (chain.go), and the digests of days (days.go), which manifests (manifests.go) must match. So
// memory does not grow with what is verified. What is known of everything is checked alone (ledger.go).
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
	Values       int // records of other families; a bundle has none
	Manifests    int
	LogEntries   int64 // of a database; a bundle has no log
	Anchors      Anchors
	Unsigned     []UnsignedDay
	PublicKeys   []string // of the signers, in base64
}

// UnsignedDay is a day with records that are in no manifest.
type UnsignedDay struct {
	Day    int64
	Reason string
}

// Why a day is unsigned.
const (
	NotEnded    = "has not ended"
	Republished = "was signed before its last publication"
	NeverSigned = "was never signed"
)

// Progress is called as the work advances, never concurrently. Done runs from 0 to 1.
type Progress func(done float64, transactions int)

// chunk holds the data of some days, each from one fixing to the next: the transactions as received, the later
// amendments of them, and the records of the slots that end after the chunk's start and up to its end.
type chunk struct {
	transactions []assay.Transaction
	digests      []assay.Hash // of the transactions, in their order; empty if they are not made yet
	amendments   assay.Amendments
	records      []store.Record // that are checked, slot by slot in the order of their revisions
	listed       []store.Record // that manifests list: also those of GPUs that are not checked
	partial      bool           // the amendments may be of transactions that the chunk leaves out
}

// findings accumulate over all chunks.
type findings struct {
	report        Report
	chains        chains
	days          days
	verifications int // that belong to a transaction
	corrections   int // likewise
}

// newFindings begins a verification of data with the given manifests.
func newFindings(manifests []assay.Manifest) findings {
	return findings{chains: chains{}, days: newDays(manifests)}
}

func (f *findings) add(c *chunk) {
	f.report.Transactions += len(c.transactions)
	f.report.Records += len(c.records)
	f.verifications += len(c.amendments.Verifications)
	f.corrections += len(c.amendments.Corrections)
	f.chains.add(c.records)
	f.days.add(c.listed)
}
