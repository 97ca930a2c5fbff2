package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// lateRow is a transaction that changed after its period was published.
type lateRow struct {
	transactionRow
	Change     string  `json:"change"` // arrived, verified, withdrawn or corrected
	ReceivedAt instant `json:"received_at"`
	Pending    string  `json:"pending"` // what a restatement would recompute: hour, day, or hour and day
}

func (l lateRow) cells() []string {
	return append(l.transactionRow.cells(), l.Change, l.ReceivedAt.String(), l.Pending)
}

func newLateCommand(s *streams) *cobra.Command {
	header := append(slices.Clone(transactionColumns), "change", "received_at", "pending")
	var summary bool
	var familyName string
	cmd := newTransactionListCommand(&cobra.Command{
		Use:   "late",
		Short: "List transactions that changed after publication",
		Long: `List the transactions that arrived, were verified, withdrawn or corrected after
their hour or day was published, as CSV or JSON. They change no published value
until assay restate takes them into account, which removes them from this list.
--summary counts them by GPU model and kind of change.

--family lists rows of memory, models, coding or utilization instead: those that
came after their day was final, and do not count until assay restate --family.`,
		Example: "  assay late --dir data > late.csv\n  assay late --dir data --summary\n" +
			"  assay late --dir data --family models",
	}, func(ctx context.Context, db *store.DB, asJSON bool) error {
		if familyName != "" {
			f, err := settlingFamily(familyName)
			if err != nil {
				return err
			}
			read := func(ctx context.Context, db *store.DB) ([]lateFamilyRow, error) {
				return lateOfFamily(ctx, db, f, assay.Earliest, assay.Latest)
			}
			return printRows(ctx, db, s, asJSON, lateFamilyColumns, read, lateFamilyRow.cells)
		}
		if summary {
			return printRows(ctx, db, s, asJSON, lateTotalColumns, lateTotals, lateTotal.cells)
		}
		return printRows(ctx, db, s, asJSON, header, lateRows, lateRow.cells)
	})
	cmd.Flags().StringVar(&familyName, "family", "", "`NAME` of a family whose late rows to list")
	cmd.Flags().BoolVar(&summary, "summary", false, "count them by GPU model and kind of change")
	return cmd
}

// lateTotal counts the late transactions of a GPU model with the same change.
type lateTotal struct {
	GPU          string  `json:"gpu_name"`
	Change       string  `json:"change"`
	Transactions int     `json:"transactions"`
	First        instant `json:"first_executed_at"`
	Last         instant `json:"last_executed_at"`
}

var lateTotalColumns = []string{"gpu_name", "change", "transactions", "first_executed_at", "last_executed_at"}

func (t lateTotal) cells() []string {
	return []string{t.GPU, t.Change, strconv.Itoa(t.Transactions), t.First.String(), t.Last.String()}
}

func lateTotals(ctx context.Context, db *store.DB) ([]lateTotal, error) {
	totals := map[[2]string]*lateTotal{}
	err := db.EachLate(ctx, func(l *store.Late) error {
		at, key := instant(l.ExecutedAt), [2]string{l.GPU, l.Change}
		t := totals[key]
		if t == nil {
			t = &lateTotal{GPU: l.GPU, Change: l.Change, First: at, Last: at}
			totals[key] = t
		}
		t.Transactions++
		t.First, t.Last = min(t.First, at), max(t.Last, at)
		return nil
	})
	var list []lateTotal
	for _, t := range totals {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b lateTotal) int {
		return cmp.Or(strings.Compare(a.GPU, b.GPU), strings.Compare(a.Change, b.Change))
	})
	return list, err
}

func lateRows(ctx context.Context, db *store.DB) (rows []lateRow, err error) {
	err = db.EachLate(ctx, func(l *store.Late) error {
		pending := "hour and day"
		switch {
		case !l.Daily:
			pending = "hour"
		case !l.Hourly:
			pending = "day"
		}
		rows = append(rows, lateRow{
			transactionRow: newTransactionRow(&l.Transaction), Change: l.Change, ReceivedAt: instant(l.ReceivedAt),
			Pending: pending,
		})
		return nil
	})
	return rows, err
}

// conflictRow is a row that reused the id of another transaction.
type conflictRow struct {
	transactionRow
	ReceivedAt instant `json:"received_at"`
}

func (c conflictRow) cells() []string { return append(c.transactionRow.cells(), c.ReceivedAt.String()) }

func newConflictsCommand(s *streams) *cobra.Command {
	header := append(slices.Clone(transactionColumns), "received_at")
	return newTransactionListCommand(&cobra.Command{
		Use:   "conflicts",
		Short: "List rows that reused a known id with different content",
		Long: `List the rows that were set aside because their source had already used the same
id for something else, as CSV or JSON. The first row counts.`,
		Example: "  assay conflicts --dir data > conflicts.csv\n  assay conflicts --dir data --json",
	}, func(ctx context.Context, db *store.DB, asJSON bool) error {
		return printRows(ctx, db, s, asJSON, header, conflictRows, conflictRow.cells)
	})
}

func conflictRows(ctx context.Context, db *store.DB) (rows []conflictRow, err error) {
	err = db.EachConflict(ctx, func(t *assay.Transaction, receivedAt int64) error {
		rows = append(rows, conflictRow{transactionRow: newTransactionRow(t), ReceivedAt: instant(receivedAt)})
		return nil
	})
	return rows, err
}

// newTransactionListCommand completes a command that lists transactions as CSV or JSON.
func newTransactionListCommand(
	cmd *cobra.Command, print func(ctx context.Context, db *store.DB, asJSON bool) error,
) *cobra.Command {
	var location databaseLocation
	var asJSON bool
	cmd.Args = arguments()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return withDatabase(cmd.Context(), location, func(db *store.DB) error {
			return print(cmd.Context(), db, asJSON)
		})
	}
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// printRows reads a list and prints it.
func printRows[T any](
	ctx context.Context, db *store.DB, s *streams, asJSON bool,
	header []string, read func(context.Context, *store.DB) ([]T, error), cells func(T) []string,
) error {
	rows, err := read(ctx, db)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSONList(s.out, rows)
	}
	return writeCSV(s.out, func(row func(...string) error) error {
		err := row(header...)
		for _, r := range rows {
			if err == nil {
				err = row(cells(r)...)
			}
		}
		return err
	})
}
