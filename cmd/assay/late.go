package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// lateRow is a transaction that changed after its period was published.
type lateRow struct {
	transactionRow
	Change     string  `json:"change"` // arrived, verified or withdrawn
	ReceivedAt instant `json:"received_at"`
	Pending    string  `json:"pending"` // what a restatement would recompute: hour, day, or hour and day
}

func (l lateRow) cells() []string {
	return append(l.transactionRow.cells(), l.Change, l.ReceivedAt.String(), l.Pending)
}

func newLateCommand(s *streams) *cobra.Command {
	header := append(slices.Clone(transactionColumns), "change", "received_at", "pending")
	return newTransactionListCommand(s, header, lateRows, lateRow.cells, &cobra.Command{
		Use:   "late",
		Short: "List transactions that changed after publication",
		Long: `List the transactions that arrived, were verified or were withdrawn after their
hour or day was published, as CSV or JSON. They change no published value until
assay restate takes them into account, which removes them from this list.`,
		Example: "  assay late --dir data > late.csv\n  assay late --dir data --json",
	})
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
	return newTransactionListCommand(s, header, conflictRows, conflictRow.cells, &cobra.Command{
		Use:   "conflicts",
		Short: "List rows that reused a known id with different content",
		Long: `List the rows that were set aside because their source had already used the same
id for something else, as CSV or JSON. The first row counts.`,
		Example: "  assay conflicts --dir data > conflicts.csv\n  assay conflicts --dir data --json",
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
func newTransactionListCommand[T any](
	s *streams, header []string, read func(context.Context, *store.DB) ([]T, error), cells func(T) []string,
	cmd *cobra.Command,
) *cobra.Command {
	var location databaseLocation
	var asJSON bool
	cmd.Args = arguments()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return withDatabase(cmd.Context(), location, func(db *store.DB) error {
			rows, err := read(cmd.Context(), db)
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
		})
	}
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}
