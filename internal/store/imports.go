package store

import (
	"context"
	"fmt"

	"github.com/assaydata/assay/internal/proof"
)

const importColumns = `import, at, actor, family, file, sha256, first_receipt, last_receipt, rows, known, rejected`

// AddImport records that a file was imported, and returns it with its number, its time and its actor.
func (db *DB) AddImport(ctx context.Context, i proof.Import) (proof.Import, error) {
	err := db.write(ctx, func(tx *tx) error {
		err := tx.QueryRowContext(tx.ctx, `SELECT coalesce(max(import), 0) + 1 FROM imports`).Scan(&i.Number)
		if err != nil {
			return err
		}
		i.At, i.Actor = tx.now, tx.actor()
		tx.logDue = true
		return tx.exec(`INSERT INTO imports (`+importColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			i.Number, i.At, i.Actor, i.Family, i.File, i.SHA256[:], i.FirstReceipt, i.LastReceipt, i.Rows, i.Known, i.Rejected)
	})
	return i, err
}

func eachImportEntry(tx *tx, s proof.Salt, after, upTo int64, f entryFunc) error {
	var entry, sum []byte
	return tx.each(`SELECT `+importColumns+` FROM imports WHERE import > $1 AND import <= $2 ORDER BY import`,
		[]any{after, upTo}, func(scan scanFunc) error {
			var i proof.Import
			err := scan(&i.Number, &i.At, &i.Actor, &i.Family, &i.File, &sum, &i.FirstReceipt, &i.LastReceipt, &i.Rows,
				&i.Known, &i.Rejected)
			if err != nil {
				return err
			}
			if copy(i.SHA256[:], sum); len(sum) != len(i.SHA256) {
				return fmt.Errorf("%w: the log lists imports: the SHA-256 of %d has %d bytes", ErrDamaged, i.Number, len(sum))
			}
			entry = proof.AppendImportEntry(entry[:0], s, &i)
			return f(entry)
		})
}
