package ingest

import (
	"errors"
	"fmt"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/store"
)

var transactionSchema = &family.Schema{
	Name: "transactions", About: "a compute rental that a source reported",
	Columns: []family.Column{
		{Name: "id", About: "unique within its source"},
		{Name: "source", About: "who reported it; may be left out when --source is given", Optional: true},
		{Name: "executed_at", About: "ISO 8601 date-time, or YYYY-MM-DD HH:MM:SS in UTC"},
		{Name: "gpu_name", About: "a GPU model of the catalog, spelled exactly"},
		{Name: "region", About: "a region of the catalog, or empty", Optional: true},
		{Name: "price", About: "USD per GPU-hour, 0.0001 to 1000, up to 9 decimals"},
		{Name: "gpus", About: "number of GPUs, an integer, at most 1,000,000"},
		{Name: "hours", About: "rental time in hours, at most 100,000, up to 6 decimals"},
		{Name: "provider", About: "who rented it out"},
		{Name: "verified", About: "true or false"},
		{Name: "evidence", About: "of verified: payment, invoice, order, metering or attestation", Optional: true},
		{Name: "verified_by", About: "who has verified it; needed with evidence", Optional: true},
	},
	Example: [][]string{
		{
			"r-1", "exchange", "2026-01-02T09:15:00Z", "H100 SXM", "us-east", "2.35", "8", "24", "Alder", "true",
			"invoice", "Audit desk",
		},
		{"r-2", "exchange", "2026-01-02T09:40:00Z", "H200", "", "3.1", "16", "2.5", "Birch", "true", "", ""},
		{"r-3", "desk", "2026-01-02T10:05:30Z", "H100 SXM", "eu-west", "2.41", "1", "168", "Cedar", "false", "", ""},
	},
}

// TransactionColumns are the columns of a file of transactions.
var TransactionColumns = transactionSchema.Names()

// Transactions imports transactions. A row is identified by its source and id.
func Transactions(options Options) *Importer[assay.Transaction] {
	return newImporter(options, &rowType[assay.Transaction]{
		columns:  TransactionColumns,
		optional: transactionSchema.Optional(),
		parse:    parseTransaction,
		check:    checkTransaction,
		append:   (*store.DB).AppendTransactions,
		describe: func(t *assay.Transaction) (source, key string) {
			return t.Source, fmt.Sprintf("id %q", family.Shorten(t.ID))
		},
	})
}

// Plausible bounds. They also keep the index's sums within 128 bits, a published value above zero, and the change from
// the lowest to the highest price within a number.
var (
	price = family.Quantity{
		Name: "price", Decimals: 9, Least: int64(assay.One) / 10_000, Most: 1_000 * int64(assay.One),
		Allowed: "from 0.0001 to 1000 USD per GPU-hour, with up to 9 decimals",
	}
	gpus  = family.Quantity{Name: "gpus", Least: 1, Most: 1_000_000, Allowed: "an integer from 1 to 1000000"}
	hours = family.Quantity{
		Name: "hours", Decimals: 6, Least: 1, Most: 100_000 * microsPerHour,
		Allowed: "greater than 0 and at most 100000, with up to 6 decimals",
	}
)

const (
	microsPerHour = 1_000_000

	// maxGPUHours is more than the largest cluster delivers in a year: a row above it mixes up units.
	maxGPUHours = 1_000_000_000
)

// parseTransaction parses cells in the order of TransactionColumns.
func parseTransaction(c *family.Checker, cells []string, t *assay.Transaction) (err error) {
	t.ID, t.Source, t.GPU, t.Region, t.Provider = cells[0], c.SourceOr(cells[1]), cells[3], cells[4], cells[8]
	if t.ExecutedAt, err = c.Instant("executed_at", cells[2]); err != nil {
		return err
	}
	nanos, err := price.Parse(cells[5])
	if err != nil {
		return err
	}
	t.Price = assay.Nanos(nanos)
	if t.GPUs, err = gpus.Parse(cells[6]); err != nil {
		return err
	}
	if t.HourMicros, err = hours.Parse(cells[7]); err != nil {
		return err
	}
	if t.Verified, err = family.ParseFlag("verified", cells[9]); err != nil {
		return err
	}
	t.VerifiedBy = cells[11]
	if t.Evidence, err = assay.ParseEvidence(cells[10]); err != nil {
		return fmt.Errorf("evidence %q: %w", family.Shorten(cells[10]), err)
	}
	return nil
}

// checkEvidence checks that evidence is complete.
func checkEvidence(t *assay.Transaction) error {
	switch {
	case t.Evidence == assay.Unstated && t.VerifiedBy == "":
		return nil
	case t.Evidence == assay.Unstated:
		return errors.New("verified_by is given, but not the evidence")
	case !t.Verified:
		return fmt.Errorf("evidence %q: the row is not verified", t.Evidence)
	case t.Evidence == assay.Judgement:
		return errors.New(`evidence "judgement": it needs a rationale: import the row as not verified, and use ` +
			"assay transaction verify --evidence judgement")
	}
	return family.CheckText("verified_by", t.VerifiedBy)
}

func checkTransaction(c *family.Checker, t *assay.Transaction) error {
	if err := family.CheckText("id", t.ID); err != nil {
		return err
	}
	if err := family.CheckText("source", t.Source); err != nil {
		return err
	}
	if err := family.CheckText("provider", t.Provider); err != nil {
		return err
	}
	if err := checkEvidence(t); err != nil {
		return err
	}
	if err := c.CheckLine(t.GPU, t.Region); err != nil {
		return err
	}
	if err := price.Check(int64(t.Price)); err != nil {
		return err
	}
	if err := gpus.Check(t.GPUs); err != nil {
		return err
	}
	if err := hours.Check(t.HourMicros); err != nil {
		return err
	}
	gpuHours := t.GPUs * t.HourMicros // both are bounded: this is below 2^57
	if gpuHours > maxGPUHours*microsPerHour {
		return fmt.Errorf("gpus %d times hours %s is more than %d GPU-hours, the limit of one row",
			t.GPUs, hours.Format(t.HourMicros), maxGPUHours)
	}
	return c.CheckInstant("executed_at", t.ExecutedAt)
}
