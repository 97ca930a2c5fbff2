package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/assaydata/assay"
)

// Errors of AddVerification.
var (
	ErrNoTransaction = errors.New("there is no such transaction")
	ErrNoChange      = errors.New("nothing would change")
)

// AddVerification records that a transaction is verified, or that its verification is withdrawn. late tells that its time
// was determined before, so that published values stay as they are until they are restated.
func (db *DB) AddVerification(ctx context.Context, v assay.Verification) (late bool, err error) {
	err = db.write(ctx, func(tx *tx) error {
		late, err = addVerification(tx, v)
		return err
	})
	return late, err
}

func addVerification(tx *tx, v assay.Verification) (late bool, err error) {
	var source, executedAt, gpu int64
	var gpuName string
	var verified bool
	found := false
	err = tx.each(`SELECT s.source_id, t.executed_at, t.gpu_id, g.gpu_name, t.verified FROM sources s CROSS JOIN transaction_ids i
		CROSS JOIN transactions t CROSS JOIN gpus g WHERE s.source = $1 AND i.hash BETWEEN $2 AND $3
		AND t.executed_at = i.executed_at AND t.source_id = s.source_id AND t.id = $4 AND g.gpu_id = t.gpu_id`,
		[]any{v.Source, idHash(v.Source, v.ID), idHash(v.Source, v.ID) + maxProbe, v.ID}, func(scan scanFunc) error {
			found = true
			return scan(&source, &executedAt, &gpu, &gpuName, &verified)
		})
	if err != nil {
		return false, err
	}
	if !found {
		return false, fmt.Errorf("%s of %s: %w", v.ID, v.Source, ErrNoTransaction)
	}
	receipt, err := tx.counter("receipt")
	if err != nil {
		return false, err
	}
	err = tx.each(`SELECT verified FROM verifications WHERE executed_at = $1 AND source_id = $2 AND id = $3 ORDER BY event`,
		[]any{executedAt, source, v.ID}, func(scan scanFunc) error { return scan(&verified) })
	if err != nil {
		return false, err
	}
	if verified == v.Verified {
		return false, fmt.Errorf("%s of %s: %w", v.ID, v.Source, ErrNoChange)
	}
	if err := tx.addReceipt(receipt+1, 0); err != nil {
		return false, err
	}
	v.ExecutedAt, v.Receipt = executedAt, receipt+1
	if err := tx.exec(`INSERT INTO verifications (executed_at, source_id, id, verified, actor, reason, receipt, checksum)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, executedAt, source, v.ID, boolInt(v.Verified), v.Actor, v.Reason, v.Receipt, verificationSum(v)); err != nil {
		return false, err
	}
	coverage, err := readCoverage(tx)
	if err != nil || !coverage.holds(gpuName, executedAt) {
		return false, err
	}
	change := "withdrawn"
	if v.Verified {
		change = "verified"
	}
	return true, insertLate(tx, receipt+1, executedAt, source, v.ID, gpu, change)
}

// noteMissed lists as late what came after the publisher had fixed what is known: the time was open then, and is
// determined now, without it. What a restatement misses is on the list already.
func noteMissed(tx *tx, d *dictionary, p Publication) error {
	newest, err := tx.counter("receipt")
	if err != nil || newest <= p.Receipt || p.Reason != "" {
		return err
	}
	list, err := readMissed(tx, p.Covers.bounds(), p.Receipt)
	if err != nil {
		return err
	}
	for _, m := range list {
		if !p.Covers.holds(d.gpus.texts[m.gpu], m.executedAt) {
			continue
		}
		if err := insertLate(tx, m.receipt, m.executedAt, m.source, m.id, m.gpu, m.change); err != nil {
			return err
		}
	}
	return nil
}

// missed is something that a publisher did not know of.
type missed struct {
	receipt, executedAt, source, gpu int64
	id, change                       string
}

// readMissed reads what came behind a receipt about a stretch of time.
func readMissed(tx *tx, within Span, receipt int64) (list []missed, err error) {
	err = tx.each(`SELECT receipt, executed_at, source_id, id, gpu_id, 'arrived' FROM transactions
		WHERE executed_at >= $1 AND executed_at < $2 AND receipt > $3
		UNION ALL SELECT v.receipt, v.executed_at, v.source_id, v.id, t.gpu_id, CASE v.verified WHEN 1 THEN 'verified' ELSE 'withdrawn' END
		FROM verifications v JOIN transactions t USING (executed_at, source_id, id)
		WHERE v.executed_at >= $1 AND v.executed_at < $2 AND v.receipt > $3`, []any{within.From, within.To, receipt}, func(scan scanFunc) error {
		var m missed
		if err := scan(&m.receipt, &m.executedAt, &m.source, &m.id, &m.gpu, &m.change); err != nil {
			return err
		}
		list = append(list, m)
		return nil
	})
	return list, err
}

// maxProbe is how far behind its hash an id may stand: nobody will see even one step.
const maxProbe = 8

// Verifications lists the words on transactions executed in [from, to), oldest first.
func (db *DB) Verifications(ctx context.Context, from, to int64) (list []assay.Verification, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list, err = readVerifications(tx, from, to)
		return err
	})
	return list, err
}

func readVerifications(tx *tx, from, to int64) (list []assay.Verification, err error) {
	err = tx.each(`SELECT event, coalesce(source, ''), id, executed_at, verified, actor, reason, receipt, coalesce(received_at, 0), v.checksum
		FROM verifications v LEFT JOIN sources USING (source_id) LEFT JOIN receipts USING (receipt)
		WHERE executed_at >= $1 AND executed_at < $2 ORDER BY event`, []any{from, to}, func(scan scanFunc) error {
		var v assay.Verification
		var verified, sum int64
		if err := scan(&v.Event, &v.Source, &v.ID, &v.ExecutedAt, &verified, &v.Actor, &v.Reason, &v.Receipt, &v.RecordedAt, &sum); err != nil {
			return err
		}
		v.Verified = verified == 1
		list = append(list, v)
		if verificationSum(v) != sum || verified != boolInt(v.Verified) {
			return fmt.Errorf("%w: verification %d, of transaction %s of %s, does not fit its checksum", ErrDamaged, v.Event, v.ID, v.Source)
		}
		return nil
	})
	return list, err
}

func verificationSum(v assay.Verification) int64 {
	return ledgerSum(v.Source, v.ID, v.ExecutedAt, boolInt(v.Verified), v.Actor, v.Reason, v.Receipt)
}

// Late is something that was received about time that had been determined before.
type Late struct {
	assay.Transaction
	Change     string // arrived, verified or withdrawn
	ReceivedAt int64
	Hourly     bool // the hour has not been restated since
	Daily      bool // nor the day
}

// EachLate calls f for everything late that no restatement has taken up since, in the order of arrival.
func (db *DB) EachLate(ctx context.Context, f func(*Late) error) error {
	return db.read(ctx, func(tx *tx) error {
		covers, err := readCovers(tx)
		if err != nil {
			return err
		}
		return tx.each(`SELECT l.receipt, l.change, r.received_at, s.source, l.id, l.executed_at, gpu_name, coalesce(region, ''), provider,
				price_nanos, gpus, hour_micros, verified
			FROM late l JOIN receipts r USING (receipt) JOIN sources s ON s.source_id = l.source_id
			JOIN transactions t ON t.executed_at = l.executed_at AND t.source_id = l.source_id AND t.id = l.id
			JOIN gpus g ON g.gpu_id = t.gpu_id JOIN providers p ON p.provider_id = t.provider_id
			LEFT JOIN regions ON regions.region_id = t.region_id ORDER BY l.receipt, l.executed_at, l.source_id, l.id`, nil, func(scan scanFunc) error {
			var l Late
			if err := scan(&l.Receipt, &l.Change, &l.ReceivedAt, &l.Source, &l.ID, &l.ExecutedAt, &l.GPU, &l.Region, &l.Provider,
				&l.Price, &l.GPUs, &l.HourMicros, &l.Verified); err != nil {
				return err
			}
			l.Hourly = covers.pending(CoverageKey{l.GPU, assay.Hourly}, l.ExecutedAt, l.Receipt)
			l.Daily = covers.pending(CoverageKey{l.GPU, assay.Daily}, l.ExecutedAt, l.Receipt)
			if !l.Hourly && !l.Daily {
				return nil
			}
			return f(&l)
		})
	})
}

// EachConflict calls f for every row that was kept aside because its id was known with other content.
func (db *DB) EachConflict(ctx context.Context, f func(t *assay.Transaction, receivedAt int64) error) error {
	return db.read(ctx, func(tx *tx) error {
		return tx.each(`SELECT source, c.id, c.executed_at, gpu_name, coalesce(region, ''), provider, price_nanos, gpus, hour_micros, verified, received_at
			FROM conflicts c JOIN sources USING (source_id) JOIN gpus USING (gpu_id) JOIN providers USING (provider_id)
			LEFT JOIN regions USING (region_id) ORDER BY received_at, source, c.id, checksum`, nil, func(scan scanFunc) error {
			var t assay.Transaction
			var receivedAt int64
			if err := scan(&t.Source, &t.ID, &t.ExecutedAt, &t.GPU, &t.Region, &t.Provider, &t.Price, &t.GPUs, &t.HourMicros, &t.Verified, &receivedAt); err != nil {
				return err
			}
			return f(&t, receivedAt)
		})
	})
}
