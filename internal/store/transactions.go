package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/assaydata/assay"
)

// Appended tells what became of a batch.
type Appended struct {
	Inserted   int
	Late       int   // of the inserted: about time that was determined before
	Duplicates int   // rows that were there already, with the same content
	Conflicts  []int // positions of rows whose id is known with other content; they are kept aside
}

// row is a transaction on its way in.
type row struct {
	*assay.Transaction
	position                      int
	hash                          int64 // of source and id
	source, gpu, region, provider int64
	segment                       segmentNumber // where the hash leads to
}

func (r *row) key() transactionKey { return transactionKey{r.Source, r.ID} }

// idHash is the number that transaction_ids lists a transaction under. It has 62 bits, so that sums over hashes do not
// overflow early. Two ids may share a hash: then the second is listed at the next free number.
func idHash(source, id string) int64 {
	sum := sha256.Sum256(append(append(append(make([]byte, 0, 300), source...), 0), id...))
	return int64(binary.BigEndian.Uint64(sum[:]) >> 2)
}

// AppendTransactions adds a batch in one transaction: all of it is kept, or none. Rows are known by source and id, so a
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
	ap := appender{tx: tx}
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
	if err := ap.placeRest(); err != nil {
		return a, err
	}
	if err := ap.insertSegments(); err != nil {
		return a, err
	}
	return ap.result()
}

// appender is one batch on its way into the tables.
type appender struct {
	tx         *tx
	dictionary dictionary
	receipt    int64
	rows       []row // in the order of their hashes
	fresh      []row // to be inserted
	known      []row // whose hash was there before the batch
	rest       []row // whose hash stands in the batch before, or belongs to another id
	finder     finder
	appended   Appended
}

// identify looks up the names of a batch, and puts it into the order of the hashes, in which the ids go in fastest.
func (ap *appender) identify(batch []assay.Transaction) (err error) {
	ap.rows = make([]row, len(batch))
	for i := range batch {
		t := &batch[i]
		r := row{Transaction: t, position: i, hash: ap.tx.db.idHash(t.Source, t.ID)}
		if r.source, err = ap.dictionary.sources.add(ap.tx, `INSERT INTO sources (source) VALUES ($1) RETURNING source_id`, t.Source); err != nil {
			return err
		}
		if r.provider, err = ap.dictionary.providers.add(ap.tx, `INSERT INTO providers (provider) VALUES ($1) RETURNING provider_id`, t.Provider); err != nil {
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
	slices.SortFunc(ap.rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.position, b.position)) })
	return nil
}

// add gives the id of a name, inserting the name when it is new.
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

// insertIDs enters the hashes of the batch, and sets the rows aside whose hash is known.
func (ap *appender) insertIDs() error {
	unique, ids := make([]row, 0, len(ap.rows)), make([]placedID, 0, len(ap.rows))
	for i, r := range ap.rows {
		if i > 0 && ap.rows[i-1].hash == r.hash {
			ap.rest = append(ap.rest, r)
		} else {
			unique, ids = append(unique, r), append(ids, placedID{r.hash, ap.segment(&r)})
		}
	}
	known, err := ap.tx.engine.enterIDs(ap.tx, ids)
	if err != nil {
		return err
	}
	for _, r := range unique {
		var isKnown bool
		if r.segment, isKnown = known[r.hash]; isKnown {
			ap.known = append(ap.known, r)
		} else {
			ap.fresh = append(ap.fresh, r)
		}
	}
	return nil
}

// compareKnown looks at the rows whose hash was there: those whose content is the same are duplicates, the others conflicts.
// It goes through them segment by segment, so that each is read once.
func (ap *appender) compareKnown() error {
	slices.SortFunc(ap.known, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.segment, b.segment), cmp.Compare(a.position, b.position))
	})
	for _, r := range ap.known {
		kept, found, err := ap.finder.in(r.segment, r.key())
		if err != nil {
			return err
		}
		if !found { // the hash belongs to another id
			ap.rest = append(ap.rest, r)
		} else if err := ap.compare(r, kept); err != nil {
			return err
		}
	}
	return nil
}

// compare takes a row whose id is known: a duplicate, or a conflict, which is kept aside.
func (ap *appender) compare(r row, kept assay.Transaction) error {
	kept.Receipt = r.Receipt
	if *r.Transaction == kept {
		ap.appended.Duplicates++
		return nil
	}
	ap.appended.Conflicts = append(ap.appended.Conflicts, r.position)
	return ap.tx.exec(`INSERT INTO conflicts (source_id, id, checksum, executed_at, gpu_id, region_id, provider_id, price_nanos, gpus,
		hour_micros, verified, received_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING`,
		r.source, r.ID, contentSum(r.Transaction), r.ExecutedAt, r.gpu, r.region, r.provider, int64(r.Price), r.GPUs,
		r.HourMicros, boolInt(r.Verified), ap.tx.now)
}

// contentSum tells the contents of conflicts of one id apart.
func contentSum(t *assay.Transaction) int64 {
	return ledgerSum(t.GPU, t.Region, t.Provider, t.ExecutedAt, int64(t.Price), t.GPUs, t.HourMicros, boolInt(t.Verified))
}

// placeRest takes the rows that share a hash with others one by one, now that the first of each hash is there. Of an id,
// the first row of the batch is the one to keep.
func (ap *appender) placeRest() error {
	if len(ap.rest) == 0 {
		return nil
	}
	fresh := make(map[transactionKey]assay.Transaction, len(ap.fresh))
	for _, r := range ap.fresh {
		fresh[r.key()] = *r.Transaction
	}
	slices.SortFunc(ap.rest, func(a, b row) int { return cmp.Compare(a.position, b.position) })
	for _, r := range ap.rest {
		kept, found := fresh[r.key()]
		if !found {
			var err error
			if kept, found, err = ap.place(r); err != nil {
				return err
			}
		}
		if !found {
			fresh[r.key()] = *r.Transaction
			ap.fresh = append(ap.fresh, r)
		} else if err := ap.compare(r, kept); err != nil {
			return err
		}
	}
	return nil
}

// place looks for the id of a row from its hash on. When it is not there before a free number, it is entered at that.
func (ap *appender) place(r row) (kept assay.Transaction, found bool, err error) {
	for hash := r.hash; ; hash++ {
		var segment segmentNumber
		free := true
		err := ap.tx.each(`SELECT segment FROM transaction_ids WHERE hash = $1`, []any{hash}, func(scan scanFunc) error {
			free = false
			return scan((*int64)(&segment))
		})
		if err != nil {
			return kept, false, err
		}
		if free {
			return kept, false, ap.tx.exec(insertID, hash, int64(ap.segment(&r)))
		}
		if segment.receipt() != ap.receipt { // it is no row of this batch
			if kept, found, err = ap.finder.in(segment, r.key()); found || err != nil {
				return kept, found, err
			}
		}
	}
}

// insertSegments writes the rows that are new.
func (ap *appender) insertSegments() error {
	slices.SortFunc(ap.fresh, inSegmentOrder)
	if err := ap.noteLate(); err != nil {
		return err
	}
	if err := ap.makeRoom(); err != nil {
		return err
	}
	insert, err := ap.tx.engine.newBulk(ap.tx, segmentsTable)
	if err != nil {
		return err
	}
	defer insert.close()
	var w segmentWriter
	for rest := ap.fresh; len(rest) > 0; {
		number := ap.segment(&rest[0])
		n := slices.IndexFunc(rest, func(r row) bool { return ap.segment(&r) != number })
		if n < 0 {
			n = len(rest)
		}
		s := w.segment(number, rest[:n])
		if err := insert.add(int64(s.number), s.rows, s.checksum, slices.Clone(s.body)); err != nil {
			return err
		}
		rest = rest[n:]
	}
	ap.appended.Inserted = len(ap.fresh)
	return insert.flush()
}

// makeRoom tells the database which hours are coming.
func (ap *appender) makeRoom() error {
	var hours []int64
	for i := range ap.fresh {
		if hour := ap.segment(&ap.fresh[i]).hour(); len(hours) == 0 || hours[len(hours)-1] != hour {
			hours = append(hours, hour)
		}
	}
	return ap.tx.engine.makeRoom(ap.tx, hours)
}

// noteLate lists the new rows whose time was determined before they came.
func (ap *appender) noteLate() error {
	coverage, err := readCoverage(ap.tx)
	if err != nil {
		return err
	}
	for i := range ap.fresh {
		r := &ap.fresh[i]
		if !coverage.holds(r.GPU, r.ExecutedAt) {
			continue
		}
		ap.appended.Late++
		if err := insertLate(ap.tx, ap.receipt, r.ExecutedAt, r.source, r.ID, r.gpu, "arrived"); err != nil {
			return err
		}
	}
	return nil
}

// insertLate puts something on the late list. It may be there: late for the hour first, and then for the day.
func insertLate(tx *tx, receipt, executedAt, source int64, id string, gpu int64, change string) error {
	return tx.exec(`INSERT INTO late (receipt, executed_at, source_id, id, gpu_id, change) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT DO NOTHING`, receipt, executedAt, source, id, gpu, change)
}

// result enters the receipt, unless nothing new has come.
func (ap *appender) result() (Appended, error) {
	slices.Sort(ap.appended.Conflicts)
	if ap.appended.Inserted == 0 {
		return ap.appended, nil
	}
	return ap.appended, ap.tx.addReceipt(ap.receipt, ap.appended.Inserted)
}

// addReceipt enters the next receipt.
func (tx *tx) addReceipt(receipt int64, rows int) error {
	if err := tx.exec(`UPDATE counters SET value = $1 WHERE name = 'receipt'`, receipt); err != nil {
		return err
	}
	r := Receipt{receipt, tx.now, rows}
	return tx.exec(`INSERT INTO receipts (receipt, received_at, rows, checksum) VALUES ($1, $2, $3, $4)`, r.Number, r.ReceivedAt, r.Rows, receiptSum(r))
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
