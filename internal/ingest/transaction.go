package ingest

import (
	"fmt"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

var transactionSchema = &Schema{
	Family: "transactions", About: "a compute rental as a source reported it",
	Columns: []Column{
		{"id", "unique within its source", false},
		{"source", "who reported it; may be left out when --source is given", true},
		{"executed_at", "ISO 8601 date-time, or YYYY-MM-DD HH:MM:SS in UTC", false},
		{"gpu_name", "a GPU of the catalog, spelled exactly", false},
		{"region", "a region of the catalog, or empty", true},
		{"price", "USD per GPU-hour, 0.0001 to 1000, up to 9 decimals", false},
		{"gpus", "how many, a whole number, at most 1,000,000", false},
		{"hours", "how long, at most 100,000, up to 6 decimals", false},
		{"provider", "who rented it out", false},
		{"verified", "true or false", false},
	},
	Example: [][]string{
		{"r-1", "exchange", "2026-01-02T09:15:00Z", "H100 SXM", "us-east", "2.35", "8", "24", "Alder", "true"},
		{"r-2", "exchange", "2026-01-02T09:40:00Z", "H200", "", "3.1", "16", "2.5", "Birch", "true"},
		{"r-3", "desk", "2026-01-02T10:05:30Z", "H100 SXM", "eu-west", "2.41", "1", "168", "Cedar", "false"},
	},
}

// TransactionColumns are the columns of a file of transactions.
var TransactionColumns = transactionSchema.names()

// Transactions imports transactions. A row is known by its source and id.
func Transactions(options Options) *Importer[assay.Transaction] {
	return newImporter(options, &family[assay.Transaction]{
		columns:  TransactionColumns,
		optional: transactionSchema.optional(),
		parse:    parseTransaction,
		check:    checkTransaction,
		append:   (*store.DB).AppendTransactions,
		describe: func(t *assay.Transaction) (source, key string) { return t.Source, fmt.Sprintf("id %q", shown(t.ID)) },
	})
}

// Bounds of what can be believed. They also keep the index's sums inside 128 bits, a published value above zero, and the
// change from the lowest to the highest inside a number.
var (
	price = quantity{"price", 9, int64(assay.One) / 10_000, 1_000 * int64(assay.One), "0.0001 to 1000, USD per GPU-hour with up to 9 decimals"}
	gpus  = quantity{"gpus", 0, 1, 1_000_000, "whole numbers from 1 to 1000000"}
	hours = quantity{"hours", 6, 1, 100_000 * microsPerHour, "numbers above 0 and up to 100000, with up to 6 decimals"}
)

const (
	microsPerHour = 1_000_000

	// maxGPUHours is more than the largest cluster gives in a year: such a row is a slip of units.
	maxGPUHours = 1_000_000_000
)

// parseTransaction takes the cells in the order of TransactionColumns.
func parseTransaction(c *checker, cells []string, t *assay.Transaction) (err error) {
	t.ID, t.Source, t.GPU, t.Region, t.Provider = cells[0], c.sourceOr(cells[1]), cells[3], cells[4], cells[8]
	if t.ExecutedAt, err = c.instant("executed_at", cells[2]); err != nil {
		return err
	}
	nanos, err := price.parse(cells[5])
	if err != nil {
		return err
	}
	t.Price = assay.Nanos(nanos)
	if t.GPUs, err = gpus.parse(cells[6]); err != nil {
		return err
	}
	if t.HourMicros, err = hours.parse(cells[7]); err != nil {
		return err
	}
	t.Verified, err = parseFlag("verified", cells[9])
	return err
}

func checkTransaction(c *checker, t *assay.Transaction) error {
	if err := checkText("id", t.ID); err != nil {
		return err
	}
	if err := checkText("source", t.Source); err != nil {
		return err
	}
	if err := checkText("provider", t.Provider); err != nil {
		return err
	}
	if err := c.checkLine(t.GPU, t.Region); err != nil {
		return err
	}
	if err := price.check(int64(t.Price)); err != nil {
		return err
	}
	if err := gpus.check(t.GPUs); err != nil {
		return err
	}
	if err := hours.check(t.HourMicros); err != nil {
		return err
	}
	if gpuHours := t.GPUs * t.HourMicros; gpuHours > maxGPUHours*microsPerHour { // both are bounded: this is below 2^57
		return fmt.Errorf("gpus %d times hours %s is above the %d GPU-hours that one row may have",
			t.GPUs, appendDecimal(nil, strconv.FormatInt(t.HourMicros, 10), hours.decimals), maxGPUHours)
	}
	return c.checkInstant("executed_at", t.ExecutedAt)
}
