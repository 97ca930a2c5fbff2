package store

import (
	"context"
	"fmt"

	"github.com/assaydata/assay"
)

// Receipt is one step in the order in which the store learned of things.
type Receipt struct {
	Number     int64
	ReceivedAt int64
	Rows       int // transactions that came with it; none came with an event
}

func receiptSum(r Receipt) int64 { return ledgerSum(r.Number, r.ReceivedAt, int64(r.Rows)) }

func readReceipts(tx *tx) (list []Receipt, err error) {
	err = tx.each(`SELECT receipt, received_at, rows, checksum FROM receipts ORDER BY receipt`, nil, func(scan scanFunc) error {
		var r Receipt
		var sum int64
		if err := scan(&r.Number, &r.ReceivedAt, &r.Rows, &sum); err != nil {
			return err
		}
		list = append(list, r)
		if receiptSum(r) != sum {
			return fmt.Errorf("%w: receipt %d does not fit its checksum", ErrDamaged, r.Number)
		}
		return nil
	})
	return list, err
}

// IDSum sums up, in any order, how transactions are found by their ids: made of the transactions and of the table of ids,
// it must be the same. It is made of sums that the database can make by itself, far faster than it can hand over rows.
type IDSum struct {
	Rows, HashLow, HashHigh, AtLow, AtHigh, Receipt int64
	Pairs                                           int64 // which hash goes with which instant
}

// Add counts a transaction in. Of two ids that share a hash it would not know which stands behind the other; nobody will
// see two.
func (s *IDSum) Add(t *assay.Transaction) {
	const low32, low16 = 1<<32 - 1, 1<<16 - 1
	hash := idHash(t.Source, t.ID)
	s.Rows++
	s.HashLow += hash & low32
	s.HashHigh += hash >> 32 & low32
	s.AtLow += t.ExecutedAt & low32
	s.AtHigh += t.ExecutedAt >> 32 & low32
	s.Receipt += t.Receipt
	s.Pairs += (hash & low16) * (t.ExecutedAt & low16)
}

// Join adds another sum.
func (s *IDSum) Join(other IDSum) {
	for i, n := range other.sums() {
		*s.sums()[i] += *n
	}
}

func (s *IDSum) sums() []*int64 {
	return []*int64{&s.Rows, &s.HashLow, &s.HashHigh, &s.AtLow, &s.AtHigh, &s.Receipt, &s.Pairs}
}

// IDSum makes the sum of the table of ids, as it was at a receipt.
func (db *DB) IDSum(ctx context.Context, receipt int64) (s IDSum, err error) {
	err = db.read(ctx, func(tx *tx) error {
		return tx.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(hash & 4294967295), 0), coalesce(sum(hash >> 32 & 4294967295), 0),
			coalesce(sum(executed_at & 4294967295), 0), coalesce(sum(executed_at >> 32 & 4294967295), 0), coalesce(sum(receipt), 0),
			coalesce(sum((hash & 65535) * (executed_at & 65535)), 0) FROM transaction_ids WHERE receipt <= $1`, receipt).
			Scan(&s.Rows, &s.HashLow, &s.HashHigh, &s.AtLow, &s.AtHigh, &s.Receipt, &s.Pairs)
	})
	return s, err
}

// FindMisplaced names a transaction that the table of ids does not lead to, or an entry of it that leads to none. It looks
// at all of them one by one, once the sums have told that there is one.
func (db *DB) FindMisplaced(ctx context.Context) (place string, err error) {
	err = db.read(ctx, func(tx *tx) error {
		find, err := tx.PrepareContext(ctx, `SELECT count(*) FROM transaction_ids WHERE hash BETWEEN $1 AND $2 AND executed_at = $3 AND receipt = $4`)
		if err != nil {
			return err
		}
		defer find.Close()
		return tx.each(`SELECT source, id, executed_at, receipt FROM transactions JOIN sources USING (source_id)`, nil, func(scan scanFunc) error {
			var t assay.Transaction
			if err := scan(&t.Source, &t.ID, &t.ExecutedAt, &t.Receipt); err != nil || place != "" {
				return err
			}
			var found int
			hash := idHash(t.Source, t.ID)
			err := find.QueryRowContext(ctx, hash, hash+maxProbe, t.ExecutedAt, t.Receipt).Scan(&found)
			if found == 0 {
				place = fmt.Sprintf("transaction %s of %s, executed at %s, cannot be found by its id", t.ID, t.Source, assay.FormatInstant(t.ExecutedAt))
			}
			return err
		})
	})
	if place == "" {
		place = "the table of transaction ids has an entry that leads to no transaction"
	}
	return place, err
}
