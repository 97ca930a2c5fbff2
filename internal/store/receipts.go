package store

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/assaydata/assay"
)

// Receipt numbers a batch of transactions or an event in the order of arrival.
type Receipt struct {
	Number     int64
	ReceivedAt int64
	Rows       int // transactions in the batch; 0 for an event
}

func receiptSum(r Receipt) int64 { return ledgerSum(r.Number, r.ReceivedAt, int64(r.Rows)) }

func readReceipts(tx *tx) (list []Receipt, err error) {
	err = tx.each(`SELECT receipt, received_at, rows, checksum FROM receipts ORDER BY receipt`,
		nil, func(scan scanFunc) error {
			var r Receipt
			var sum int64
			if err := scan(&r.Number, &r.ReceivedAt, &r.Rows, &sum); err != nil {
				return err
			}
			list = append(list, r)
			if receiptSum(r) != sum {
				return fmt.Errorf("%w: receipt %d does not match its checksum", ErrDamaged, r.Number)
			}
			return nil
		})
	return list, err
}

// LongestSilence returns the longest time without a batch of transactions in a period.
func (db *DB) LongestSilence(ctx context.Context, period Span) (longest int64, err error) {
	if period.From >= period.To {
		return 0, nil
	}
	err = db.read(ctx, func(tx *tx) error {
		var received []int64
		query := `SELECT receipt, received_at FROM receipts WHERE receipt < $1 AND rows > 0 ORDER BY receipt DESC LIMIT 1000`
		// Backwards, because the period is recent and receipts have no index by time.
		for before, more := int64(math.MaxInt64), true; more; {
			more = false
			err := tx.each(query, []any{before}, func(scan scanFunc) error {
				var at int64
				err := scan(&before, &at)
				if more = at >= period.From; at > period.From && at < period.To {
					received = append(received, at)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		slices.Sort(received) // a clock may have been wrong
		longest = 0
		last := period.From
		for _, at := range append(received, period.To) {
			longest, last = max(longest, at-last), at
		}
		return nil
	})
	return longest, err
}

// Tally counts transactions as they are read, to compare them with the receipts and the table of ids.
type Tally struct {
	Received []int // by receipt
	IDs      IDSum

	// Segment is called with the transactions of each receipt and hour, all of them and as they are stored, unless it is
	// nil. The list is reused.
	Segment func(receipt, hour int64, list []assay.Transaction)
}

// NewTally returns a tally of what was received up to a receipt.
func NewTally(receipt int64) *Tally { return &Tally{Received: make([]int, receipt+1)} }

// add counts transactions of a segment.
func (t *Tally) add(db *DB, number segmentNumber, list []assay.Transaction) {
	if number.receipt() >= int64(len(t.Received)) {
		return
	}
	t.Received[number.receipt()] += len(list)
	for i := range list {
		t.IDs.add(db.idHash(list[i].Source, list[i].ID), number)
	}
}

// Join adds another tally up to the same receipt.
func (t *Tally) Join(other *Tally) {
	for receipt, n := range other.Received {
		t.Received[receipt] += n
	}
	t.IDs += other.IDs
}

// IDSum is a checksum over the table of ids that does not depend on the order of its rows. Computed from the
// transactions, it must be the same. The database computes it far faster than it returns rows.
type IDSum int64

// add adds a transaction. It assumes that no two ids share a hash, which does not happen outside tests.
func (s *IDSum) add(hash int64, segment segmentNumber) {
	*s += IDSum((hash + idSumFactor*int64(segment)) % idSumPrime)
}

// The numbers behind IDSum. The divisor is a prime, so the remainder changes with any bit of a hash or a segment; the
// factor keeps changes of both from canceling out.
const (
	idSumFactor = 31
	idSumPrime  = 1_000_000_007
)

// sumIDs is IDSum.add over a whole table, which follows.
var sumIDs = fmt.Sprintf(`SELECT coalesce(sum((hash + %d * segment) %% %d), 0) FROM `, idSumFactor, idSumPrime)

// IDSum computes the sum of the table of ids as it was at a receipt, together with the entries that corrections have
// replaced in it.
func (db *DB) IDSum(ctx context.Context, receipt int64) (s IDSum, err error) {
	err = db.read(ctx, func(tx *tx) error {
		newest, err := tx.counter("receipt")
		if err != nil {
			return err
		}
		s = 0
		for _, table := range []string{`transaction_ids`, `corrections`} {
			query, args := sumIDs+table, []any{}
			if newest > receipt { // the condition costs time for every row, so it is added only when needed
				query, args = query+` WHERE `+receiptColumn+` <= $1`, []any{receipt}
			}
			var sum any
			if err := tx.QueryRowContext(ctx, query, args...).Scan(&sum); err != nil {
				return err
			}
			n, ok := wholeNumber(sum)
			if !ok {
				s = -1 // a damaged number has changed the type of the sum; no intact table has this one
				return nil
			}
			s += IDSum(n)
		}
		return nil
	})
	return s, err
}

// FindMisplaced describes a transaction that is missing in the table of ids, or an entry without a transaction. It
// checks all of them one by one, so it is called only when the sums differ.
func (db *DB) FindMisplaced(ctx context.Context) (misplaced string, err error) {
	err = db.read(ctx, func(tx *tx) error {
		d, err := readDictionary(tx)
		if err != nil {
			return err
		}
		numbers, err := segmentNumbers(tx, ``)
		if err != nil {
			return err
		}
		for _, number := range numbers {
			misplaced, err = misplacedIn(tx, &d, number)
			if err != nil || misplaced != "" {
				return err
			}
		}
		return nil
	})
	if misplaced == "" {
		misplaced = "the table of transaction ids has an entry without a transaction"
	}
	return misplaced, err
}

// segmentNumbers lists the segments that a condition selects.
func segmentNumbers(tx *tx, where string, args ...any) (numbers []segmentNumber, err error) {
	err = tx.each(`SELECT segment FROM segments `+where+` ORDER BY segment`, args, func(scan scanFunc) error {
		var number segmentNumber
		err := scan((*int64)(&number))
		numbers = append(numbers, number)
		return err
	})
	return numbers, err
}

// misplacedIn describes a transaction of a segment that is missing in the table of ids; it is empty when there is none.
func misplacedIn(tx *tx, d *dictionary, number segmentNumber) (misplaced string, err error) {
	var all []assay.Transaction
	err = tx.eachSegment(`WHERE segment = $1`, []any{int64(number)}, func(s *segment) error {
		all, err = d.appendSegment(nil, s)
		return err
	})
	if err != nil {
		return "", err
	}
	for i := range all {
		t := &all[i]
		var found int
		hash := tx.db.idHash(t.Source, t.ID)
		err := tx.QueryRowContext(tx.ctx, `SELECT
			(SELECT count(*) FROM transaction_ids WHERE hash BETWEEN $1 AND $2 AND segment = $3) +
			(SELECT count(*) FROM corrections WHERE hash BETWEEN $1 AND $2 AND segment = $3 AND executed_at = $4)`,
			hash, hash+maxProbe, int64(number), t.ExecutedAt).Scan(&found)
		if err != nil {
			return "", err
		}
		if found == 0 {
			return fmt.Sprintf("transaction %s of %s, executed at %s, cannot be found by its id",
				t.ID, t.Source, assay.FormatInstant(t.ExecutedAt)), nil
		}
	}
	return "", nil
}
