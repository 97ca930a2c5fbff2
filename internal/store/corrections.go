package store

import (
	"context"
	"fmt"

	"github.com/assaydata/assay"
)

// correctionsSchema is the first schema with corrections.
const correctionsSchema = 15

// Justification is who decided something, and why.
type Justification struct{ Actor, Reason string }

// Corrected is the result of a correction.
type Corrected struct {
	Receipt int64 // of the transactions that replace others
	Late    int   // how many of them, or of those that they replace, are about time that was determined before
}

// CorrectTransactions replaces stored transactions by others of the same source and id: all of them, or none. The
// replaced ones stay stored, because they count for what was determined before; published values stay as they are until
// they are restated.
func (db *DB) CorrectTransactions(
	ctx context.Context, batch []assay.Transaction, why Justification,
) (c Corrected, err error) {
	err = db.write(ctx, func(tx *tx) error {
		c, err = correctTransactions(tx, batch, why)
		return err
	})
	return c, err
}

func correctTransactions(tx *tx, batch []assay.Transaction, why Justification) (result Corrected, err error) {
	c := corrector{why: why, replaced: map[transactionKey]bool{}, late: map[transactionKey]bool{}}
	c.tx, c.change = tx, "corrected"
	if c.dictionary, err = readDictionary(tx); err != nil {
		return result, err
	}
	c.finder = finder{tx: tx, dictionary: &c.dictionary}
	if c.receipt, err = tx.counter("receipt"); err != nil {
		return result, err
	}
	c.receipt++
	if c.coverage, err = readCoverage(tx); err != nil {
		return result, err
	}
	if c.number, err = lastCorrection(tx); err != nil {
		return result, err
	}
	if err := c.identify(batch); err != nil {
		return result, err
	}
	for i := range c.rows {
		if err := c.replace(&c.rows[i]); err != nil {
			return result, err
		}
	}
	c.inserted = c.rows
	if err := c.insertSegments(); err != nil {
		return result, err
	}
	if err := tx.receive(c.receipt, len(c.rows), c.entries); err != nil {
		return result, err
	}
	// From now on a program that knows no corrections would count both transactions.
	if err := tx.exec(`UPDATE migrations SET usable_by = number WHERE number = $1`, correctionsSchema); err != nil {
		return result, err
	}
	return Corrected{Receipt: c.receipt, Late: len(c.late)}, nil
}

// corrector replaces transactions in one transaction of the database. It stores the new ones as an appender does.
type corrector struct {
	appender
	why      Justification
	coverage Coverage
	number   int64 // of the last correction
	replaced map[transactionKey]bool
	late     map[transactionKey]bool
}

func lastCorrection(tx *tx) (number int64, err error) {
	err = tx.QueryRowContext(tx.ctx, `SELECT coalesce(max(correction), 0) FROM corrections`).Scan(&number)
	return number, err
}

// replace lets the table of ids list a row in place of the stored one, and records that.
func (c *corrector) replace(r *row) error {
	found, err := c.finder.locate(r.key())
	switch {
	case err != nil:
		return err
	case c.replaced[r.key()]:
		return fmt.Errorf("%s of %s: there are two corrections of it", r.ID, r.Source)
	case found == nil:
		return fmt.Errorf("%s of %s: %w", r.ID, r.Source, ErrNoTransaction)
	}
	c.replaced[r.key()] = true
	stored := found.transaction
	stored.Receipt = r.Receipt
	if stored == *r.Transaction {
		return fmt.Errorf("%s of %s: %w", r.ID, r.Source, ErrNoChange)
	}
	err = c.tx.exec(`UPDATE transaction_ids SET segment = $1 WHERE hash = $2`, int64(c.segment(r)), found.hash)
	if err != nil {
		return err
	}
	c.number++
	record := assay.Correction{
		Number: c.number, Source: r.Source, ID: r.ID, ExecutedAt: stored.ExecutedAt, Row: found.segment.receipt(),
		Actor: c.why.Actor, Reason: c.why.Reason, Receipt: c.receipt,
	}
	err = c.tx.exec(`INSERT INTO corrections
		(correction, hash, segment, executed_at, source_id, id, actor, reason, receipt, checksum)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		record.Number, found.hash, int64(found.segment), record.ExecutedAt, r.source, r.ID, record.Actor, record.Reason,
		record.Receipt, correctionSum(record, found.hash))
	if err != nil {
		return err
	}
	details := detail{"said_by": c.why.Actor, "reason": c.why.Reason}
	if err := c.tx.audit("transaction.corrected", "transaction:"+r.Source+" "+r.ID, details); err != nil {
		return err
	}
	if c.coverage.holds(r.GPU, r.ExecutedAt) { // insertSegments lists it
		c.late[r.key()] = true
	}
	if !c.coverage.holds(stored.GPU, stored.ExecutedAt) {
		return nil
	}
	c.late[r.key()] = true
	return insertLate(c.tx, c.receipt, stored.ExecutedAt, r.source, r.ID, c.dictionary.gpus.ids[stored.GPU], c.change)
}

// readCorrections lists the corrections that a condition selects, oldest first.
func readCorrections(tx *tx, where string, args ...any) (list []assay.Correction, err error) {
	err = tx.each(`SELECT correction, hash, segment, coalesce(source, ''), id, executed_at, actor, reason, receipt,
		coalesce(received_at, 0), c.checksum
		FROM corrections c LEFT JOIN sources USING (source_id) LEFT JOIN receipts USING (receipt)
		WHERE `+where+` ORDER BY correction`, args, func(scan scanFunc) error {
		var c assay.Correction
		var segment segmentNumber
		var hash, sum int64
		err := scan(&c.Number, &hash, (*int64)(&segment), &c.Source, &c.ID, &c.ExecutedAt, &c.Actor, &c.Reason, &c.Receipt,
			&c.RecordedAt, &sum)
		if err != nil {
			return err
		}
		c.Row = segment.receipt()
		list = append(list, c)
		if correctionSum(c, hash) != sum || numberSegment(c.ExecutedAt, c.Row) != segment {
			return fmt.Errorf("%w: correction %d, of transaction %s of %s, does not match its checksum",
				ErrDamaged, c.Number, c.ID, c.Source)
		}
		return nil
	})
	return list, err
}

func correctionSum(c assay.Correction, hash int64) int64 {
	return ledgerSum(c.Number, c.Source, c.ID, c.ExecutedAt, c.Row, c.Actor, c.Reason, c.Receipt, hash)
}

// Amendments lists what was decided about transactions executed in [from, to) after they had been received.
func (db *DB) Amendments(ctx context.Context, from, to int64) (a assay.Amendments, err error) {
	err = db.read(ctx, func(tx *tx) error {
		a, err = readAmendments(tx, from, to)
		return err
	})
	return a, err
}

func readAmendments(tx *tx, from, to int64) (a assay.Amendments, err error) {
	const executed = `executed_at >= $1 AND executed_at < $2`
	if a.Verifications, err = readVerifications(tx, executed, from, to); err != nil {
		return a, err
	}
	a.Corrections, err = readCorrections(tx, executed, from, to)
	return a, err
}

// replacedBy finds the transaction that was replaced by one of a receipt; found is false if there is none.
func (f *finder) replacedBy(receipt int64, key transactionKey) (t assay.Transaction, found bool, err error) {
	var segment segmentNumber
	err = f.tx.each(`SELECT segment FROM corrections JOIN sources USING (source_id)
		WHERE receipt = $1 AND source = $2 AND id = $3`, []any{receipt, key.source, key.id},
		func(scan scanFunc) error {
			found = true
			return scan((*int64)(&segment))
		})
	if err != nil || !found {
		return t, false, err
	}
	return f.in(segment, key)
}
