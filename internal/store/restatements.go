package store

import (
	"context"
	"fmt"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
)

// AddRestatement records that late rows of a family count from now on. It sets Number and At, which lies after
// everything that was received of the family so far.
func (db *DB) AddRestatement(ctx context.Context, r assay.Restatement) (assay.Restatement, error) {
	err := db.write(ctx, func(tx *tx) (err error) {
		if r.At, err = nextReceived(tx, r.Family.String()); err != nil {
			return err
		}
		if r.Number, err = tx.counter("restatements"); err != nil {
			return err
		}
		r.Number++
		err = tx.exec(`INSERT INTO restatements (`+restatementColumns+`, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			r.Number, r.At, r.Family.String(), r.From, r.To, r.Reason, r.Actor, restatementSum(&r))
		if err != nil {
			return err
		}
		if err := tx.exec(`UPDATE counters SET value = $1 WHERE name = 'restatements'`, r.Number); err != nil {
			return err
		}
		tx.logDue = true
		return tx.audit(r.Family.String()+".restate", "family:"+r.Family.String(), detail{
			"from": assay.FormatInstant(r.From), "to": assay.FormatInstant(r.To), "reason": r.Reason, "said_by": r.Actor,
		})
	})
	return r, err
}

// Restatements returns those with numbers in (after, upTo], in their order.
func (db *DB) Restatements(ctx context.Context, after, upTo int64) (list []assay.Restatement, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list, err = readRestatements(tx, after, upTo)
		return err
	})
	return list, err
}

const restatementColumns = `restatement, at, family, from_at, to_at, reason, actor`

func readRestatements(tx *tx, after, upTo int64) (list []assay.Restatement, err error) {
	err = tx.each(`SELECT `+restatementColumns+`, checksum FROM restatements
		WHERE restatement > $1 AND restatement <= $2 ORDER BY restatement`, []any{after, upTo}, func(scan scanFunc) error {
		var r assay.Restatement
		var name string
		var sum int64
		if err := scan(&r.Number, &r.At, &name, &r.From, &r.To, &r.Reason, &r.Actor, &sum); err != nil {
			return err
		}
		var ok bool
		if r.Family, ok = assay.FamilyByName(name); !ok || sum != restatementSum(&r) {
			return fmt.Errorf("%w: restatement %d does not match its checksum", ErrDamaged, r.Number)
		}
		list = append(list, r)
		return nil
	})
	return list, err
}

func restatementSum(r *assay.Restatement) int64 {
	return ledgerSum(r.Number, r.At, r.Family.String(), r.From, r.To, r.Reason, r.Actor)
}

func eachRestatementEntry(tx *tx, s proof.Salt, after, upTo int64, f entryFunc) error {
	list, err := readRestatements(tx, after, upTo)
	if err != nil {
		return err
	}
	return eachEntry(list, s, proof.AppendRestatementEntry, f)
}
