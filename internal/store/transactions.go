package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/assaydata/assay"
)

// Appended is the result of appending a batch.
type Appended struct {
	Inserted   int
	Late       int   // how many of the inserted rows are about time that was determined before
	Receipt    int64 // of the inserted rows; 0 if there are none
	Duplicates int   // rows that existed with the same content
	Conflicts  []int // positions of rows whose id exists with other content; they are set aside
}

// row is a transaction of a batch.
type row struct {
	*assay.Transaction
	position                      int
	hash                          int64 // of source and id
	source, gpu, region, provider int64
	segment                       segmentNumber // that transaction_ids has for the hash
}

func (r *row) key() transactionKey { return transactionKey{r.Source, r.ID} }

// idHash returns the number that transaction_ids lists a transaction under. It has 62 bits, so that sums over hashes do
// not overflow early. Two ids may share a hash: then the second is listed at the next free number.
func idHash(source, id string) int64 {
	sum := sha256.Sum256(append(append(append(make([]byte, 0, 300), source...), 0), id...))
	return int64(binary.BigEndian.Uint64(sum[:]) >> 2)
}

// AppendTransactions stores a batch in one transaction: all of it or nothing. Source and id identify a row, so a
// repeated batch changes nothing. Large batches are much faster than small ones: ids have no order, so a batch touches
// pages all over the table of ids, and the more rows share a page the better.
func (db *DB) AppendTransactions(ctx context.Context, batch []assay.Transaction) (a Appended, err error) {
	err = db.write(ctx, func(tx *tx) error {
		a, err = appendTransactions(tx, batch)
		return err
	})
	return a, err
}

func appendTransactions(tx *tx, batch []assay.Transaction) (a Appended, err error) {
	ap := appender{tx: tx, change: "arrived"}
	if ap.dictionary, err = readDictionary(tx); err != nil {
		return a, err
	}
	ap.finder = finder{tx: tx, dictionary: &ap.dictionary}
	if ap.receipt, err = tx.counter("receipt"); err != nil {
		return a, err
	}
	ap.receipt++
	if err := ap.identify(batch); err != nil {
		return a, err
	}
	if err := ap.insertIDs(); err != nil {
		return a, err
	}
	if err := ap.compareKnown(); err != nil {
		return a, err
	}
	if err := ap.resolveRest(); err != nil {
		return a, err
	}
	if err := ap.insertSegments(); err != nil {
		return a, err
	}
	return ap.result()
}

// appender appends one batch.
type appender struct {
	tx         *tx
	dictionary dictionary
	receipt    int64
	rows       []row    // in the order of their hashes
	inserted   []row    // the new rows
	known      []row    // rows whose hash existed before the batch
	rest       []row    // rows whose hash is that of an earlier row of the batch, or of another id
	entries    [][]byte // of the log, about the inserted rows
	finder     finder
	change     string // how the rows are listed that are late
	conflicted int64  // the received_at of conflicts; 0 before the first
	appended   Appended
}

// identify looks up the names of a batch and sorts it by hash, the order in which inserting ids is fastest.
func (ap *appender) identify(batch []assay.Transaction) (err error) {
	ap.rows = make([]row, len(batch))
	for i := range batch {
		t := &batch[i]
		r := row{Transaction: t, position: i, hash: ap.tx.db.idHash(t.Source, t.ID)}
		if r.source, err = ap.dictionary.sources.add(ap.tx, insertSource, t.Source); err != nil {
			return err
		}
		if r.provider, err = ap.dictionary.providers.add(ap.tx, insertProvider, t.Provider); err != nil {
			return err
		}
		var ok bool
		if r.gpu, ok = ap.dictionary.gpus.ids[t.GPU]; !ok {
			return fmt.Errorf("transaction %s of %s: GPU %q is not in the catalog", t.ID, t.Source, t.GPU)
		}
		if r.region, ok = ap.dictionary.regions.ids[t.Region]; !ok && t.Region != "" {
			return fmt.Errorf("transaction %s of %s: region %q is not in the catalog", t.ID, t.Source, t.Region)
		}
		if t.ExecutedAt < assay.Earliest || t.ExecutedAt >= assay.Latest {
			return fmt.Errorf("transaction %s of %s: %d ms is no instant of the years 1 to 9999", t.ID, t.Source, t.ExecutedAt)
		}
		ap.rows[i] = r
	}
	slices.SortFunc(ap.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.position, b.position))
	})
	return nil
}

const (
	insertSource   = `INSERT INTO sources (source) VALUES ($1) RETURNING source_id`
	insertProvider = `INSERT INTO providers (provider) VALUES ($1) RETURNING provider_id`
)

// add returns the id of a name, and inserts the name when it is new.
func (n *names) add(tx *tx, insert, text string) (int64, error) {
	if id, ok := n.ids[text]; ok {
		return id, nil
	}
	var id int64
	if err := tx.QueryRowContext(tx.ctx, insert, text).Scan(&id); err != nil {
		return 0, err
	}
	n.ids[text], n.texts[id] = id, text
	return id, nil
}

func (ap *appender) segment(r *row) segmentNumber { return numberSegment(r.ExecutedAt, ap.receipt) }

const insertID = `INSERT INTO transaction_ids (hash, segment) VALUES ($1, $2)`

// insertIDs inserts the hashes of the batch, and sorts the rows into new ones, known ones and the rest.
func (ap *appender) insertIDs() error {
	unique, ids := make([]row, 0, len(ap.rows)), make([]idEntry, 0, len(ap.rows))
	for i, r := range ap.rows {
		if i > 0 && ap.rows[i-1].hash == r.hash {
			ap.rest = append(ap.rest, r)
		} else {
			unique, ids = append(unique, r), append(ids, idEntry{r.hash, ap.segment(&r)})
		}
	}
	known, err := ap.tx.engine.insertNewIDs(ap.tx, ids)
	if err != nil {
		return err
	}
	for _, r := range unique {
		var isKnown bool
		if r.segment, isKnown = known[r.hash]; isKnown {
			ap.known = append(ap.known, r)
		} else {
			ap.inserted = append(ap.inserted, r)
		}
	}
	return nil
}

// compareKnown compares the rows whose hash existed with the stored ones: rows with the same content are duplicates,
// the others conflicts. It goes segment by segment, so that each segment is read once.
func (ap *appender) compareKnown() error {
	slices.SortFunc(ap.known, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.segment, b.segment), cmp.Compare(a.position, b.position))
	})
	for _, r := range ap.known {
		stored, found, err := ap.finder.in(r.segment, r.key())
		if err != nil {
			return err
		}
		if !found { // the hash belongs to another id
			ap.rest = append(ap.rest, r)
		} else if err := ap.compare(r, stored); err != nil {
			return err
		}
	}
	return nil
}

// compare counts a row whose id exists as a duplicate, or as a conflict, which is set aside.
func (ap *appender) compare(r row, stored assay.Transaction) error {
	stored.Receipt = r.Receipt
	if *r.Transaction == stored {
		ap.appended.Duplicates++
		return nil
	}
	ap.appended.Conflicts = append(ap.appended.Conflicts, r.position)
	if err := ap.beginConflicts(); err != nil {
		return err
	}
	return ap.tx.exec(`INSERT INTO conflicts (source_id, id, checksum, executed_at, gpu_id, region_id, provider_id,
		price_nanos, gpus, hour_micros, verified, evidence, verified_by, received_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT DO NOTHING`,
		r.source, r.ID, contentSum(r.Transaction), r.ExecutedAt, r.gpu, r.region, r.provider, int64(r.Price), r.GPUs,
		r.HourMicros, boolInt(r.Verified), r.Evidence.Cell(), r.VerifiedBy, ap.conflicted)
}

// beginConflicts dates the conflicts of the batch after all earlier ones, so that the log finds them.
func (ap *appender) beginConflicts() error {
	if ap.conflicted != 0 {
		return nil
	}
	var last sql.NullInt64
	err := ap.tx.QueryRowContext(ap.tx.ctx, `SELECT max(received_at) FROM conflicts`).Scan(&last)
	ap.conflicted = max(ap.tx.now, last.Int64+1)
	ap.tx.logDue = true
	return err
}

// contentSum distinguishes the conflicts of one id by their content.
func contentSum(t *assay.Transaction) int64 {
	return ledgerSum(withEvidence(t.Evidence, t.VerifiedBy,
		t.GPU, t.Region, t.Provider, t.ExecutedAt, int64(t.Price), t.GPUs, t.HourMicros, boolInt(t.Verified))...)
}

func damagedConflict(t *assay.Transaction) error {
	return fmt.Errorf("%w: the conflict of transaction %s of %s does not match its checksum", ErrDamaged, t.ID, t.Source)
}

// withEvidence adds evidence to what a checksum is of. Without any, that is what it was before release 0.6.0.
func withEvidence(e assay.Evidence, by string, rest ...any) []any {
	if e == assay.Unstated {
		return rest
	}
	return append(rest, e.Cell(), by)
}

// evidenceSchema is the first schema with evidence.
const evidenceSchema = 27

// useEvidence notes that there is evidence: a program that knows none could not read it.
func (tx *tx) useEvidence() error {
	return tx.exec(`UPDATE migrations SET usable_by = number WHERE number = $1`, evidenceSchema)
}

// resolveRest handles the rows that share a hash with others one by one, after the first row of each hash was inserted.
// Of several rows with one id, the first in the batch counts.
func (ap *appender) resolveRest() error {
	if len(ap.rest) == 0 {
		return nil
	}
	firsts := make(map[transactionKey]assay.Transaction, len(ap.inserted))
	for _, r := range ap.inserted {
		firsts[r.key()] = *r.Transaction
	}
	slices.SortFunc(ap.rest, func(a, b row) int { return cmp.Compare(a.position, b.position) })
	for _, r := range ap.rest {
		stored, found := firsts[r.key()]
		if !found {
			var err error
			if stored, found, err = ap.findOrInsert(r); err != nil {
				return err
			}
		}
		if !found {
			firsts[r.key()] = *r.Transaction
			ap.inserted = append(ap.inserted, r)
		} else if err := ap.compare(r, stored); err != nil {
			return err
		}
	}
	return nil
}

// findOrInsert searches for the id of a row from its hash on. If it does not exist, it inserts the id at the first free
// number.
func (ap *appender) findOrInsert(r row) (stored assay.Transaction, found bool, err error) {
	for hash := r.hash; ; hash++ {
		var segment segmentNumber
		free := true
		err := ap.tx.each(`SELECT segment FROM transaction_ids WHERE hash = $1`, []any{hash}, func(scan scanFunc) error {
			free = false
			return scan((*int64)(&segment))
		})
		if err != nil {
			return stored, false, err
		}
		if free {
			return stored, false, ap.tx.exec(insertID, hash, int64(ap.segment(&r)))
		}
		if segment.receipt() != ap.receipt { // otherwise it is a row of this batch
			if stored, found, err = ap.finder.in(segment, r.key()); found || err != nil {
				return stored, found, err
			}
		}
	}
}

// insertSegments writes the new rows.
func (ap *appender) insertSegments() error {
	slices.SortFunc(ap.inserted, inSegmentOrder)
	if err := ap.recordLate(); err != nil {
		return err
	}
	if err := ap.createPartitions(); err != nil {
		return err
	}
	insert, err := ap.tx.engine.newBulk(ap.tx, segmentsTable)
	if err != nil {
		return err
	}
	defer insert.close()
	entries, err := newSegmentEntries(ap.tx)
	if err != nil {
		return err
	}
	var w segmentWriter
	for rest := ap.inserted; len(rest) > 0; {
		number := ap.segment(&rest[0])
		n := slices.IndexFunc(rest, func(r row) bool { return ap.segment(&r) != number })
		if n < 0 {
			n = len(rest)
		}
		s := w.segment(number, rest[:n])
		if err := insert.add(int64(s.number), s.rows, s.checksum, slices.Clone(s.body)); err != nil {
			return err
		}
		ap.entries = append(ap.entries, entries.of(number, rest[:n]))
		rest = rest[n:]
	}
	ap.appended.Inserted = len(ap.inserted)
	if slices.ContainsFunc(ap.inserted, func(r row) bool { return r.Evidence != assay.Unstated }) {
		if err := ap.tx.useEvidence(); err != nil {
			return err
		}
	}
	return insert.flush()
}

// createPartitions prepares the database for the hours of the new rows.
func (ap *appender) createPartitions() error {
	var hours []int64
	for i := range ap.inserted {
		if hour := ap.segment(&ap.inserted[i]).hour(); len(hours) == 0 || hours[len(hours)-1] != hour {
			hours = append(hours, hour)
		}
	}
	return ap.tx.engine.createPartitions(ap.tx, hours)
}

// recordLate lists the new rows whose time was determined before.
func (ap *appender) recordLate() error {
	coverage, err := readCoverage(ap.tx)
	if err != nil {
		return err
	}
	for i := range ap.inserted {
		r := &ap.inserted[i]
		if !coverage.holds(r.GPU, r.ExecutedAt) {
			continue
		}
		ap.appended.Late++
		if err := insertLate(ap.tx, ap.receipt, r.ExecutedAt, r.source, r.ID, r.gpu, ap.change); err != nil {
			return err
		}
	}
	return nil
}

// insertLate adds to the list of late arrivals. An entry may exist: late for the hour first, and then for the day.
func insertLate(tx *tx, receipt, executedAt, source int64, id string, gpu int64, change string) error {
	return tx.exec(`INSERT INTO late (receipt, executed_at, source_id, id, gpu_id, change) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT DO NOTHING`, receipt, executedAt, source, id, gpu, change)
}

// result adds the receipt, unless the batch had no new row.
func (ap *appender) result() (Appended, error) {
	slices.Sort(ap.appended.Conflicts)
	if ap.appended.Inserted == 0 {
		return ap.appended, nil
	}
	ap.appended.Receipt = ap.receipt
	return ap.appended, ap.tx.receive(ap.receipt, ap.appended.Inserted, ap.entries)
}

// received is what a transaction of the database has received.
type received struct {
	first   int64    // receipt
	entries [][]byte // of the log, about the transactions
}

// receive adds the next receipt, with the entries of its transactions for the log.
func (tx *tx) receive(receipt int64, rows int, entries [][]byte) error {
	if tx.received.first == 0 {
		tx.received.first = receipt
	}
	tx.received.entries = append(tx.received.entries, entries...)
	tx.logDue = true
	return tx.addReceipt(receipt, rows)
}

// addReceipt adds the next receipt.
func (tx *tx) addReceipt(receipt int64, rows int) error {
	if err := tx.exec(`UPDATE counters SET value = $1 WHERE name = 'receipt'`, receipt); err != nil {
		return err
	}
	r := Receipt{Number: receipt, ReceivedAt: tx.now, Rows: rows}
	return tx.exec(`INSERT INTO receipts (receipt, received_at, rows, checksum) VALUES ($1, $2, $3, $4)`,
		r.Number, r.ReceivedAt, r.Rows, receiptSum(r))
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
