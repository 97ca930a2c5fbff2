package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/assaydata/assay"
)

// Errors of AddVerifications.
var (
	ErrNoTransaction = errors.New("there is no such transaction")
	ErrNoChange      = errors.New("nothing would change")
	ErrEvidence      = errors.New("it is verified already: withdraw it, and verify it again with the evidence")
)

// AddVerifications records that transactions are verified, or that their verification is withdrawn: all of them, or
// none. late reports for each whether its time was determined before, so that published values stay as they are until
// they are restated.
func (db *DB) AddVerifications(ctx context.Context, list ...assay.Verification) (late []bool, err error) {
	err = db.write(ctx, func(tx *tx) error {
		late, err = addVerifications(tx, list)
		return err
	})
	return late, err
}

func addVerifications(tx *tx, list []assay.Verification) (late []bool, err error) {
	v := verificationWriter{tx: tx}
	if v.dictionary, err = readDictionary(tx); err != nil {
		return nil, err
	}
	v.finder = finder{tx: tx, dictionary: &v.dictionary}
	if v.coverage, err = readCoverage(tx); err != nil {
		return nil, err
	}
	late = make([]bool, len(list))
	for i := range list {
		if late[i], err = v.add(list[i]); err != nil {
			return nil, err
		}
	}
	return late, nil
}

// verificationWriter records verifications in one transaction.
type verificationWriter struct {
	tx         *tx
	dictionary dictionary
	finder     finder
	coverage   Coverage
}

func (r *verificationWriter) add(v assay.Verification) (late bool, err error) {
	tx := r.tx
	t, found, err := r.finder.find(transactionKey{v.Source, v.ID})
	if err != nil {
		return false, err
	}
	if !found {
		return false, fmt.Errorf("%s of %s: %w", v.ID, v.Source, ErrNoTransaction)
	}
	source, verified := r.dictionary.sources.ids[t.Source], t.Verified
	receipt, err := tx.counter("receipt")
	if err != nil {
		return false, err
	}
	err = tx.each(`SELECT verified FROM verifications
		WHERE executed_at = $1 AND source_id = $2 AND id = $3 AND receipt > $4 ORDER BY event`,
		[]any{t.ExecutedAt, source, v.ID, t.Receipt}, func(scan scanFunc) error { return scan(&verified) })
	if err != nil {
		return false, err
	}
	if verified && v.Verified && v.Evidence != assay.Unstated {
		return false, fmt.Errorf("%s of %s: %w", v.ID, v.Source, ErrEvidence)
	}
	if verified == v.Verified {
		return false, fmt.Errorf("%s of %s: %w", v.ID, v.Source, ErrNoChange)
	}
	if err := tx.receive(receipt+1, 0, nil); err != nil {
		return false, err
	}
	v.ExecutedAt, v.Receipt = t.ExecutedAt, receipt+1
	if err := insertVerification(tx, source, &v); err != nil {
		return false, err
	}
	details := detail{"said_by": v.Actor, "reason": v.Reason}
	if err := tx.audit("transaction."+changeOf(v.Verified), "transaction:"+v.Source+" "+v.ID, details); err != nil {
		return false, err
	}
	if !r.coverage.holds(t.GPU, t.ExecutedAt) {
		return false, nil
	}
	return true, insertLate(tx, v.Receipt, t.ExecutedAt, source, v.ID, r.dictionary.gpus.ids[t.GPU], changeOf(v.Verified))
}

// insertVerification inserts the event under the next number. The number is not an identity column's, because a
// rollback would leave a gap.
func insertVerification(tx *tx, source int64, v *assay.Verification) error {
	err := tx.QueryRowContext(tx.ctx, `SELECT coalesce(max(event), 0) + 1 FROM verifications`).Scan(&v.Event)
	if err != nil {
		return err
	}
	err = tx.exec(`INSERT INTO verifications (event, executed_at, source_id, id, verified, evidence, actor, reason,
		receipt, checksum)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		v.Event, v.ExecutedAt, source, v.ID, boolInt(v.Verified), v.Evidence.Cell(), v.Actor, v.Reason, v.Receipt,
		verificationSum(*v))
	if err != nil || v.Evidence == assay.Unstated {
		return err
	}
	return tx.useEvidence()
}

// changeOf returns the word for what a verification event does.
func changeOf(verified bool) string {
	if verified {
		return "verified"
	}
	return "withdrawn"
}

// recordMissed lists as late what was received after the publisher had read its input: that time was not determined yet
// when it arrived, and is now determined without it. What a restatement misses is on the list already.
func recordMissed(tx *tx, d *dictionary, p Publication) error {
	newest, err := tx.counter("receipt")
	if err != nil || newest <= p.Receipt || p.Reason != "" {
		return err
	}
	bounds := p.Covers.bounds()
	note := func(t *assay.Transaction, receipt int64, change string) error {
		if !p.Covers.holds(t.GPU, t.ExecutedAt) {
			return nil
		}
		return insertLate(tx, receipt, t.ExecutedAt, d.sources.ids[t.Source], t.ID, d.gpus.ids[t.GPU], change)
	}
	arrived, err := readMissed(tx, d, bounds, p.Receipt)
	if err != nil {
		return err
	}
	for i := range arrived {
		if err := note(&arrived[i], arrived[i].Receipt, "arrived"); err != nil {
			return err
		}
	}
	amendments, err := readAmendments(tx, bounds.From, bounds.To)
	if err != nil {
		return err
	}
	f := finder{tx: tx, dictionary: d}
	for _, c := range amendments.Corrections {
		if c.Receipt <= p.Receipt {
			continue
		}
		t, found, err := f.replacedBy(c.Receipt, transactionKey{c.Source, c.ID})
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("%s of %s: %w", c.ID, c.Source, ErrNoTransaction)
		}
		if err := note(&t, c.Receipt, "corrected"); err != nil {
			return err
		}
	}
	for _, v := range amendments.Verifications {
		if v.Receipt <= p.Receipt {
			continue
		}
		t, found, err := f.find(transactionKey{v.Source, v.ID})
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("%s of %s: %w", v.ID, v.Source, ErrNoTransaction)
		}
		if err := note(&t, v.Receipt, changeOf(v.Verified)); err != nil {
			return err
		}
	}
	return nil
}

// readMissed reads the transactions in a span that were received after a receipt.
func readMissed(tx *tx, d *dictionary, within Span, receipt int64) (list []assay.Transaction, err error) {
	first, end := segmentsOf(within.From, within.To)
	err = tx.eachSegment(`WHERE segment >= $1 AND segment < $2 AND `+receiptColumn+` > $3`,
		[]any{int64(first), int64(end), receipt}, func(s *segment) error {
			list, err = d.appendSegment(list, s)
			return err
		})
	return list, err
}

// readVerifications lists the events that a condition selects, oldest first.
func readVerifications(tx *tx, where string, args ...any) (list []assay.Verification, err error) {
	err = tx.each(`SELECT event, coalesce(source, ''), id, executed_at, verified, evidence, actor, reason, receipt,
		coalesce(received_at, 0), v.checksum
		FROM verifications v LEFT JOIN sources USING (source_id) LEFT JOIN receipts USING (receipt)
		WHERE `+where+` ORDER BY event`, args, func(scan scanFunc) error {
		var v assay.Verification
		var verified, sum int64
		var evidence string
		err := scan(&v.Event, &v.Source, &v.ID, &v.ExecutedAt, &verified, &evidence, &v.Actor, &v.Reason, &v.Receipt,
			&v.RecordedAt, &sum)
		if err != nil {
			return err
		}
		v.Verified = verified == 1
		v.Evidence, err = assay.ParseEvidence(evidence)
		list = append(list, v)
		if err != nil || verificationSum(v) != sum || verified != boolInt(v.Verified) {
			return fmt.Errorf("%w: verification %d, of transaction %s of %s, does not match its checksum",
				ErrDamaged, v.Event, v.ID, v.Source)
		}
		return nil
	})
	return list, err
}

func verificationSum(v assay.Verification) int64 {
	return ledgerSum(withEvidence(v.Evidence, "",
		v.Source, v.ID, v.ExecutedAt, boolInt(v.Verified), v.Actor, v.Reason, v.Receipt)...)
}

// Received reads the transactions of a receipt that no correction has replaced. Verified says what counts now.
func (db *DB) Received(ctx context.Context, receipt int64) (list []assay.Transaction, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list = nil
		d, err := readDictionary(tx)
		if err != nil {
			return err
		}
		err = tx.eachSegment(`WHERE `+receiptColumn+` = $1 ORDER BY segment`, []any{receipt}, func(s *segment) error {
			list, err = d.appendSegment(list, s)
			return err
		})
		if err != nil || len(list) == 0 {
			return err
		}
		from, to := list[0].ExecutedAt, list[0].ExecutedAt
		for i := range list {
			from, to = min(from, list[i].ExecutedAt), max(to, list[i].ExecutedAt)
		}
		amendments, err := readAmendments(tx, from, to+1)
		if err != nil {
			return err
		}
		verified := make(map[transactionKey]bool, len(amendments.Verifications))
		for _, v := range amendments.Verifications {
			verified[transactionKey{v.Source, v.ID}] = v.Verified
		}
		for i := range list {
			if now, ok := verified[transactionKey{list[i].Source, list[i].ID}]; ok {
				list[i].Verified = now
			}
		}
		replaced := make(map[transactionKey]bool, len(amendments.Corrections))
		for _, c := range amendments.Corrections {
			if c.Row == receipt {
				replaced[transactionKey{c.Source, c.ID}] = true
			}
		}
		list = slices.DeleteFunc(list, func(t assay.Transaction) bool { return replaced[transactionKey{t.Source, t.ID}] })
		return nil
	})
	return list, err
}

// Late is a transaction or an event that was received about time that had been determined before.
type Late struct {
	assay.Transaction
	Change     string // arrived, verified, withdrawn or corrected
	ReceivedAt int64
	Hourly     bool // the hour has not been restated since
	Daily      bool // the day has not been restated since
}

// EachLate calls f for everything late that no restatement has included yet, in the order of arrival.
func (db *DB) EachLate(ctx context.Context, f func(*Late) error) error {
	return db.read(ctx, func(tx *tx) error {
		entries, err := readLate(tx)
		if err != nil || len(entries) == 0 {
			return err
		}
		covers, err := readCovers(tx, `WHERE gpu_id IN (SELECT gpu_id FROM late)`)
		if err != nil {
			return err
		}
		d, err := readDictionary(tx)
		if err != nil {
			return err
		}
		find := finder{tx: tx, dictionary: &d}
		for _, entry := range entries {
			t, found, err := entry.find(&find)
			if err != nil {
				return err
			}
			t.Receipt, t.ExecutedAt, t.GPU = entry.receipt, entry.executedAt, entry.gpu
			l := Late{Transaction: t, Change: entry.change, ReceivedAt: entry.receivedAt}
			l.Hourly = covers.pending(CoverageKey{l.GPU, assay.Hourly}, l.ExecutedAt, l.Receipt)
			l.Daily = covers.pending(CoverageKey{l.GPU, assay.Daily}, l.ExecutedAt, l.Receipt)
			if !found || !l.Hourly && !l.Daily {
				continue
			}
			if err := f(&l); err != nil {
				return err
			}
		}
		return nil
	})
}

// lateEntry is a row of the table late.
type lateEntry struct {
	receipt, receivedAt, executedAt int64
	gpu, change                     string
	key                             transactionKey
}

// find finds the transaction of the entry. Of a correction that is the one that counts now, unless the entry is about
// the time or the GPU of the one that it has replaced.
func (l *lateEntry) find(f *finder) (t assay.Transaction, found bool, err error) {
	t, found, err = f.find(l.key)
	if err != nil || found && t.ExecutedAt == l.executedAt && t.GPU == l.gpu {
		return t, found, err
	}
	if replaced, ok, err := f.replacedBy(l.receipt, l.key); err != nil || ok {
		return replaced, ok, err
	}
	return t, found, nil
}

func readLate(tx *tx) (list []lateEntry, err error) {
	err = tx.each(`SELECT l.receipt, l.change, r.received_at, l.executed_at, g.gpu_name, s.source, l.id
		FROM late l JOIN receipts r USING (receipt) JOIN sources s USING (source_id) JOIN gpus g USING (gpu_id)
		ORDER BY l.receipt, l.executed_at, l.source_id, l.id, l.gpu_id`,
		nil, func(scan scanFunc) error {
			var n lateEntry
			err := scan(&n.receipt, &n.change, &n.receivedAt, &n.executedAt, &n.gpu, &n.key.source, &n.key.id)
			list = append(list, n)
			return err
		})
	return list, err
}

// EachConflict calls f for every row that was set aside because its id exists with other content.
func (db *DB) EachConflict(ctx context.Context, f func(t *assay.Transaction, receivedAt int64) error) error {
	return db.read(ctx, func(tx *tx) error {
		return tx.each(`SELECT source, c.id, c.executed_at, gpu_name, coalesce(region, ''), provider, price_nanos, gpus,
			hour_micros, verified, evidence, verified_by, received_at
			FROM conflicts c JOIN sources USING (source_id) JOIN gpus USING (gpu_id) JOIN providers USING (provider_id)
			LEFT JOIN regions USING (region_id) ORDER BY received_at, source, c.id, checksum`, nil, func(scan scanFunc) error {
			var t assay.Transaction
			var receivedAt int64
			var evidence string
			err := scan(&t.Source, &t.ID, &t.ExecutedAt, &t.GPU, &t.Region, &t.Provider, &t.Price, &t.GPUs,
				&t.HourMicros, &t.Verified, &evidence, &t.VerifiedBy, &receivedAt)
			if err != nil {
				return err
			}
			if t.Evidence, err = assay.ParseEvidence(evidence); err != nil || !t.HasWholeEvidence() {
				return damagedConflict(&t)
			}
			return f(&t, receivedAt)
		})
	})
}
