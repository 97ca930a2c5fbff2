package store

import (
	"context"
	"fmt"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
)

// NewValueRecord is a record to be stored. The store sets its number and hashes.
type NewValueRecord struct {
	assay.ValueRecord
	Rows string // what its Inputs commit to
}

// AddValueRecords stores records in one transaction: all or none. If something they follow from has changed since the
// counters were read, or there are other records, it returns ErrOvertaken. What is received later is known only after
// them, whatever the clock says: see nextReceived.
func (db *DB) AddValueRecords(ctx context.Context, seen Counters, list []NewValueRecord) error {
	return db.write(ctx, func(tx *tx) error {
		now, err := readCounters(tx)
		if err != nil {
			return err
		}
		if now.ValueRecords != seen.ValueRecords || now.Observed != seen.Observed ||
			now.Utilization != seen.Utilization || now.Restatements != seen.Restatements || now.Methodology != seen.Methodology {
			return ErrOvertaken
		}
		number := now.ValueRecords
		salt, err := readLogSalt(tx)
		if err != nil {
			return err
		}
		insert, err := tx.engine.newBulk(tx, valueRecordsTable)
		if err != nil {
			return err
		}
		defer insert.close()
		known := int64(0)
		for i := range list {
			r := list[i].ValueRecord
			known = max(known, r.KnownAt)
			number++
			r.Number, r.Inputs = number, salt.ValueInputs(number, list[i].Rows)
			r.Hash = proof.Value(&r)
			err := insert.add(r.Number, r.Index, r.Series, r.Day, int64(r.Revision), r.Numbers, r.Methodology, r.KnownAt,
				r.Inputs[:], r.Hash[:])
			if err != nil {
				return err
			}
		}
		if err := insert.flush(); err != nil {
			return err
		}
		tx.logDue = true
		if err := tx.exec(`UPDATE counters SET value = $1 WHERE name = 'value_records'`, number); err != nil {
			return err
		}
		return tx.exec(`UPDATE counters SET value = $1 WHERE name = 'values_known_at' AND value < $1`, known)
	})
}

var valueRecordsTable = table{"value_records", []string{
	"value_record", "index_name", "series", "day", "revision", "numbers", "methodology", "known_at", "inputs", "hash",
}}

// EachValueRecord calls f for the records with numbers in (after, upTo], in their order. One that does not match its
// hash is an ErrDamaged that names it.
func (db *DB) EachValueRecord(ctx context.Context, after, upTo int64, f func(*assay.ValueRecord) error) error {
	return db.read(ctx, func(tx *tx) error {
		return eachValueRecord(tx, `WHERE value_record > $1 AND value_record <= $2 ORDER BY value_record`,
			[]any{after, upTo}, f)
	})
}

// ValueRecordsOf returns the records of a day of a series, by revision.
func (db *DB) ValueRecordsOf(
	ctx context.Context, index, series string, day int64,
) (list []assay.ValueRecord, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list = nil
		return eachValueRecord(tx, `WHERE index_name = $1 AND series = $2 AND day = $3 ORDER BY revision`,
			[]any{index, series, day}, func(r *assay.ValueRecord) error {
				list = append(list, *r)
				return nil
			})
	})
	return list, err
}

func eachValueRecord(tx *tx, where string, args []any, f func(*assay.ValueRecord) error) error {
	query := `SELECT value_record, index_name, series, day, revision, numbers, methodology, known_at, inputs, hash
		FROM value_records ` + where
	return tx.each(query, args, func(scan scanFunc) error {
		var r assay.ValueRecord
		var inputs, hash []byte
		err := scan(&r.Number, &r.Index, &r.Series, &r.Day, &r.Revision, &r.Numbers, &r.Methodology, &r.KnownAt, &inputs,
			&hash)
		if err != nil {
			return err
		}
		copy(r.Inputs[:], inputs)
		copy(r.Hash[:], hash)
		if len(inputs) != len(r.Inputs) || len(hash) != len(r.Hash) || r.Hash != proof.Value(&r) {
			return fmt.Errorf("%w: record %d, %s of %s, %s, revision %d, does not match its hash", ErrDamaged, r.Number,
				r.Index, r.Series, assay.FormatDay(r.Day), r.Revision)
		}
		return f(&r)
	})
}

func eachValueEntry(tx *tx, s proof.Salt, after, upTo int64, f entryFunc) error {
	var entry []byte
	return eachValueRecord(tx, `WHERE value_record > $1 AND value_record <= $2 ORDER BY value_record`,
		[]any{after, upTo}, func(r *assay.ValueRecord) error {
			entry = proof.AppendValueEntry(entry[:0], s, r)
			return f(entry)
		})
}

// checkNoValueAfter refuses an instant at or before the end of a day that has a record.
func checkNoValueAfter(tx *tx, at int64) error {
	return tx.each(`SELECT index_name, series, day FROM value_records WHERE day >= $1 ORDER BY day LIMIT 1`,
		[]any{at - assay.Day}, func(scan scanFunc) error {
			var index, series string
			var day int64
			if err := scan(&index, &series, &day); err != nil {
				return err
			}
			return fmt.Errorf("%w: %s of %s is final for %s", ErrTooLate, index, series, assay.FormatDay(day))
		})
}
