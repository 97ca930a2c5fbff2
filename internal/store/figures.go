package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/assaydata/assay"
)

// Figures are counts of what the database holds, for those who watch an installation. Reading them costs little however
// much there is, except for what is late.
type Figures struct {
	Counters Counters
	Coverage Coverage

	Methodologies []assay.MethodologyFile

	Imports       []ImportedRows // by family
	TransactionAt int64          // when the newest batch of transactions was received; 0: never
	Late          int64          // changes of transactions that no restatement has included yet
	Conflicts     int64          // rows that were set aside, because their id was known with other content

	LogEntries   int64
	CheckpointAt int64 // when the newest checkpoint was signed; 0: never
	Cosignatures int64 // of that checkpoint, by witnesses
	UnsignedDays int64 // days that are over, and whose manifest is missing or no longer right

	Pending      int64 // messages of alerts that are not delivered
	PendingSince int64 // since when the oldest of them waits; 0: none does
}

// ImportedRows is what imports of files have done with their rows.
type ImportedRows struct {
	Family                      string
	Files, New, Known, Rejected int64
}

// Figures reads them in one transaction.
func (db *DB) Figures(ctx context.Context) (f Figures, err error) {
	err = db.read(ctx, func(tx *tx) (err error) {
		f = Figures{}
		one := func(query string, args []any, dest ...any) func() error {
			return func() error {
				err := tx.QueryRowContext(tx.ctx, query, args...).Scan(dest...)
				if errors.Is(err, sql.ErrNoRows) {
					return nil
				}
				return err
			}
		}
		return inOrder(
			func() error { f.Counters, err = readCounters(tx); return err },
			func() error { f.Coverage, err = readCoverage(tx); return err },
			func() error { f.Methodologies, err = readMethodologies(tx); return err },
			func() error { f.Imports, err = readImportedRows(tx); return err },
			one(`SELECT received_at FROM receipts WHERE rows > 0 ORDER BY receipt DESC LIMIT 1`, nil, &f.TransactionAt),
			func() error { f.Late, err = countLate(tx); return err },
			one(`SELECT count(*) FROM conflicts`, nil, &f.Conflicts),
			func() error { f.LogEntries, err = tx.counter("log"); return err },
			one(`SELECT signed_at FROM checkpoints ORDER BY size DESC LIMIT 1`, nil, &f.CheckpointAt),
			func() error {
				return one(`SELECT count(*) FROM cosignatures WHERE size = $1`, []any{f.Counters.Checkpoint}, &f.Cosignatures)()
			},
			one(`SELECT count(*) FROM unsigned_days WHERE day < $1`, []any{assay.StartOfDay(tx.now)}, &f.UnsignedDays),
			one(`SELECT count(*), coalesce(min(created_at), 0) FROM deliveries WHERE done_at = 0`, nil,
				&f.Pending, &f.PendingSince),
		)
	})
	return f, err
}

func readImportedRows(tx *tx) (list []ImportedRows, err error) {
	query := `SELECT family, count(*), sum(rows), sum(known), sum(rejected) FROM imports GROUP BY family ORDER BY family`
	err = tx.each(query, nil, func(scan scanFunc) error {
		var i ImportedRows
		err := scan(&i.Family, &i.Files, &i.New, &i.Known, &i.Rejected)
		list = append(list, i)
		return err
	})
	return list, err
}

// countLate counts what EachLate lists, without looking the transactions up.
func countLate(tx *tx) (n int64, err error) {
	var entries []Late
	err = tx.each(`SELECT receipt, executed_at, gpu_name FROM late JOIN gpus USING (gpu_id)`, nil,
		func(scan scanFunc) error {
			var l Late
			err := scan(&l.Receipt, &l.ExecutedAt, &l.GPU)
			entries = append(entries, l)
			return err
		})
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	covers, err := readCovers(tx, `WHERE gpu_id IN (SELECT gpu_id FROM late)`)
	for i := range entries {
		l := &entries[i]
		for _, grain := range assay.Grains {
			if covers.pending(CoverageKey{l.GPU, grain}, l.ExecutedAt, l.Receipt) {
				n++
				break
			}
		}
	}
	return n, err
}
