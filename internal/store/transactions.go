package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
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
}

// idHash finds a transaction by what it is known by. Two ids may share a hash: then the second stands at the next free
// number. A test replaces it to see that.
var idHash = func(source, id string) int64 {
	sum := sha256.Sum256(append(append(append(make([]byte, 0, 300), source...), 0), id...))
	return int64(binary.BigEndian.Uint64(sum[:]))
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
	if err := ap.insertRows(); err != nil {
		return a, err
	}
	// Now that the first of each hash is there. Of an id, the first row of the batch is the one to keep.
	slices.SortFunc(ap.twice, func(a, b row) int { return cmp.Compare(a.position, b.position) })
	for _, r := range ap.twice {
		if err := ap.place(r); err != nil {
			return a, err
		}
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
	twice      []row // whose hash stands in the batch before, or belongs to another id
	find       *sql.Stmt
	appended   Appended
}

// identify looks up the names of a batch, and puts it into the order of the hashes, in which the ids go in fastest.
func (ap *appender) identify(batch []assay.Transaction) (err error) {
	ap.rows = make([]row, len(batch))
	for i := range batch {
		t := &batch[i]
		r := row{Transaction: t, position: i, hash: idHash(t.Source, t.ID)}
		if r.source, err = ap.dictionary.sources.add(ap.tx, `INSERT INTO sources (source) VALUES ($1) RETURNING source_id`, t.Source, maxSources); err != nil {
			return err
		}
		if r.provider, err = ap.dictionary.providers.add(ap.tx, `INSERT INTO providers (provider) VALUES ($1) RETURNING provider_id`, t.Provider, maxProviders); err != nil {
			return err
		}
		var ok bool
		if r.gpu, ok = ap.dictionary.gpus.ids[t.GPU]; !ok {
			return fmt.Errorf("transaction %s of %s: GPU %q is not in the catalog", t.ID, t.Source, t.GPU)
		}
		if r.region, ok = ap.dictionary.regions.ids[t.Region]; !ok && t.Region != "" {
			return fmt.Errorf("transaction %s of %s: region %q is not in the catalog", t.ID, t.Source, t.Region)
		}
		ap.rows[i] = r
	}
	slices.SortFunc(ap.rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.position, b.position)) })
	return nil
}

// add gives the id of a name, inserting the name when it is new.
func (n *names) add(tx *tx, insert, text string, most int64) (int64, error) {
	if id, ok := n.ids[text]; ok {
		return id, nil
	}
	var id int64
	if err := tx.QueryRowContext(tx.ctx, insert, text).Scan(&id); err != nil {
		return 0, err
	}
	if id > most {
		return 0, fmt.Errorf("%q is one name too many: %d is the most", text, most)
	}
	n.ids[text], n.texts[id] = id, text
	return id, nil
}

const (
	insertIDs = `INSERT INTO transaction_ids (hash, executed_at, receipt) VALUES `
	idColumns = 3
)

// insertIDs enters the hashes of the batch, and sorts out the rows that are known.
func (ap *appender) insertIDs() error {
	insert, err := newBulk(ap.tx, insertIDs, ` ON CONFLICT DO NOTHING`, idColumns)
	if err != nil {
		return err
	}
	defer insert.close()
	unique := make([]row, 0, len(ap.rows))
	for i, r := range ap.rows {
		if i > 0 && ap.rows[i-1].hash == r.hash {
			ap.twice = append(ap.twice, r)
		} else {
			unique = append(unique, r)
		}
	}
	args := make([]any, 0, bulkRows*idColumns)
	for part := range slices.Chunk(unique, bulkRows) {
		args = args[:0]
		for i := range part {
			args = append(args, part[i].hash, part[i].ExecutedAt, ap.receipt)
		}
		inserted, err := insert.insert(args)
		if err != nil {
			return err
		}
		if inserted == len(part) {
			ap.fresh = append(ap.fresh, part...)
		} else if err := ap.sortOut(part, inserted); err != nil {
			return err
		}
	}
	return nil
}

// sortOut goes through rows of which some are known: those whose content is the same are duplicates, the others
// conflicts. Inserted is how many hashes were new.
func (ap *appender) sortOut(part []row, inserted int) error {
	stored, err := ap.stored(part)
	if err != nil {
		return err
	}
	unknown := part[:0:0]
	for _, r := range part {
		if kept, ok := stored[transactionKey{r.source, r.ID}]; ok {
			if err := ap.known(r, kept); err != nil {
				return err
			}
		} else {
			unknown = append(unknown, r)
		}
	}
	if len(unknown) == inserted {
		ap.fresh = append(ap.fresh, unknown...)
		return nil
	}
	for _, r := range unknown { // the hash of one of them belongs to another id
		var receipt int64
		if err := ap.tx.QueryRowContext(ap.tx.ctx, `SELECT receipt FROM transaction_ids WHERE hash = $1`, r.hash).Scan(&receipt); err != nil {
			return err
		}
		if receipt == ap.receipt {
			ap.fresh = append(ap.fresh, r)
		} else {
			ap.twice = append(ap.twice, r)
		}
	}
	return nil
}

// transactionKey is what a transaction is known by.
type transactionKey struct {
	source int64
	id     string
}

// stored reads what is kept under the rows' ids. There is one statement for all: a short part asks for its last row again.
func (ap *appender) stored(part []row) (map[transactionKey]row, error) {
	if ap.find == nil {
		var err error
		ap.find, err = ap.tx.PrepareContext(ap.tx.ctx, `WITH wanted (hash, source_id, id) AS (VALUES `+placeholders(3, bulkRows)+`)
			SELECT t.executed_at, t.source_id, t.id, t.gpu_id, t.region_id, t.provider_id, t.price_nanos, t.gpus, t.hour_micros, t.verified
			FROM wanted w CROSS JOIN transaction_ids i CROSS JOIN transactions t
			WHERE i.hash = w.hash AND t.executed_at = i.executed_at AND t.source_id = w.source_id AND t.id = w.id`)
		if err != nil {
			return nil, err
		}
	}
	args := make([]any, 0, 3*bulkRows)
	for i := range bulkRows {
		r := &part[min(i, len(part)-1)]
		args = append(args, r.hash, r.source, r.ID)
	}
	rows, err := ap.find.QueryContext(ap.tx.ctx, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	stored := make(map[transactionKey]row, len(part))
	for rows.Next() {
		r := row{Transaction: &assay.Transaction{}}
		if err := rows.Scan(&r.ExecutedAt, &r.source, &r.ID, &r.gpu, &r.region, &r.provider, &r.Price, &r.GPUs, &r.HourMicros, &r.Verified); err != nil {
			return nil, err
		}
		stored[transactionKey{r.source, r.ID}] = r
	}
	return stored, rows.Err()
}

// known takes a row whose id is known: a duplicate, or a conflict, which is kept aside.
func (ap *appender) known(r, kept row) error {
	if r.ExecutedAt == kept.ExecutedAt && r.gpu == kept.gpu && r.region == kept.region && r.provider == kept.provider &&
		r.Price == kept.Price && r.GPUs == kept.GPUs && r.HourMicros == kept.HourMicros && r.Verified == kept.Verified {
		ap.appended.Duplicates++
		return nil
	}
	ap.appended.Conflicts = append(ap.appended.Conflicts, r.position)
	return ap.tx.exec(`INSERT INTO conflicts (source_id, id, checksum, executed_at, gpu_id, region_id, provider_id, price_nanos, gpus,
		hour_micros, verified, received_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING`,
		r.source, r.ID, int64(checksum(r.Transaction, r.Verified, 0)), r.ExecutedAt, r.gpu, r.region, r.provider, int64(r.Price), r.GPUs,
		r.HourMicros, boolInt(r.Verified), ap.tx.now)
}

// place takes a row by itself: it looks for its id from its hash on, and enters it at the first free number.
func (ap *appender) place(r row) error {
	for ; ; r.hash++ {
		free := true
		err := ap.tx.each(`SELECT executed_at FROM transaction_ids WHERE hash = $1`, []any{r.hash}, func(scan scanFunc) error {
			free = false
			var at int64
			return scan(&at)
		})
		if err != nil {
			return err
		}
		if free {
			if err := ap.tx.exec(insertIDs+`($1, $2, $3)`, r.hash, r.ExecutedAt, ap.receipt); err != nil {
				return err
			}
			ap.fresh = []row{r}
			return ap.insertRows()
		}
		stored, err := ap.stored([]row{r})
		if err != nil {
			return err
		}
		if kept, ok := stored[transactionKey{r.source, r.ID}]; ok {
			return ap.known(r, kept)
		}
	}
}

const (
	insertTransactions = `INSERT INTO transactions (executed_at, source_id, id, gpu_id, region_id, provider_id, price_nanos, gpus, hour_micros,
		verified, receipt, checksum) VALUES `
	transactionColumns = 12
)

// insertRows writes the rows that are new, in the order of the table.
func (ap *appender) insertRows() error {
	slices.SortFunc(ap.fresh, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.ExecutedAt, b.ExecutedAt), cmp.Compare(a.source, b.source), cmp.Compare(a.ID, b.ID))
	})
	if err := ap.noteLate(); err != nil {
		return err
	}
	insert, err := newBulk(ap.tx, insertTransactions, ``, transactionColumns)
	if err != nil {
		return err
	}
	defer insert.close()
	args := make([]any, 0, bulkRows*transactionColumns)
	for part := range slices.Chunk(ap.fresh, bulkRows) {
		args = args[:0]
		for i := range part {
			r := &part[i]
			args = append(args, r.ExecutedAt, r.source, r.ID, r.gpu, r.region, r.provider, int64(r.Price), r.GPUs, r.HourMicros,
				boolInt(r.Verified), ap.receipt, int64(checksum(r.Transaction, r.Verified, ap.receipt)))
		}
		if _, err := insert.insert(args); err != nil {
			return err
		}
	}
	ap.appended.Inserted += len(ap.fresh)
	ap.fresh = nil
	return nil
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

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is a CRC-32C over everything that a stored transaction says. It is there to notice damage, not malice, which
// the signed records are for; so every reading of a row checks it.
func checksum(t *assay.Transaction, verified bool, receipt int64) uint32 {
	var room [512]byte
	b := append(append(room[:0], t.Source...), 0)
	b = append(append(b, t.ID...), 0)
	b = append(append(b, t.GPU...), 0)
	b = append(append(b, t.Region...), 0)
	b = append(append(b, t.Provider...), 0)
	for _, n := range [...]int64{t.ExecutedAt, int64(t.Price), t.GPUs, t.HourMicros, boolInt(verified), receipt} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return crc32.Checksum(b, castagnoli)
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// ErrDamaged says that a stored row is not what was once written.
var ErrDamaged = errors.New("the database is damaged")

// The widths of the packed columns below: how many of each a database can hold, and ingest's bounds on a rental.
const (
	regionBits, gpuBits, providerBits = 10, 10, 20
	maxProviders                      = 1<<providerBits - 1
	maxSources                        = 1<<14 - 1
	hourBits                          = 37
)

// selectTransactions packs its columns: handing over a value costs more than reading it. It multiplies and adds, where
// shifting would lose a damaged column's upper bits and a logical or would hide them in its neighbour's: whatever changes
// in one column shows in the sum, and a sum that overflows is of another type. A column that is no number would count as 0;
// it is greater than every number, which matters where 0 is a good value.
const selectTransactions = `SELECT executed_at, id, price_nanos, gpus * 137438953472 + hour_micros,
	(((source_id * 1048576 + provider_id) * 1024 + gpu_id) * 1024 + iif(region_id < 1024, region_id, NULL)) * 2 + iif(verified < 2, verified, NULL),
	receipt * 4294967296 + checksum
	FROM transactions WHERE executed_at >= $1 AND executed_at < $2 ORDER BY executed_at, source_id, id`

// AppendWindow appends the transactions executed in [from, to) as they were received. They come in the order of time;
// those of one instant in no particular order. A row that does not fit its checksum is an ErrDamaged that names it.
func (db *DB) AppendWindow(ctx context.Context, dst []assay.Transaction, from, to int64) ([]assay.Transaction, error) {
	err := db.readRaw(ctx, func(tx *tx, scan rawScan) error {
		d, err := readDictionary(tx)
		if err != nil {
			return err
		}
		return scan(selectTransactions, []any{from, to}, func(values []driver.Value) error {
			t, err := d.unpack(values)
			dst = append(dst, t)
			return err
		})
	})
	return dst, err
}

// unpack makes a transaction of a row of selectTransactions, and checks it.
func (d *dictionary) unpack(values []driver.Value) (t assay.Transaction, err error) {
	var numbers [6]int64
	for i, v := range values {
		if text, ok := v.(string); ok && i == 1 {
			t.ID = text
		} else if numbers[i], ok = v.(int64); !ok {
			return t, fmt.Errorf("%w: transaction %s, executed at %s, has a column of another type", ErrDamaged, t.ID, assay.FormatInstant(numbers[0]))
		}
	}
	t.ExecutedAt, t.Price = numbers[0], assay.Nanos(numbers[2])
	t.GPUs, t.HourMicros = numbers[3]>>hourBits, numbers[3]&(1<<hourBits-1)
	names := numbers[4]
	t.Verified, names = names&1 == 1, names>>1
	region := names & (1<<regionBits - 1)
	t.Region, names = d.regions.texts[region], names>>regionBits
	t.GPU, names = d.gpus.texts[names&(1<<gpuBits-1)], names>>gpuBits
	t.Provider, names = d.providers.texts[names&(1<<providerBits-1)], names>>providerBits
	t.Source = d.sources.texts[names]
	t.Receipt = numbers[5] >> 32
	noRegion := t.Region == "" && region != 0 // a number of no region must not pass for none
	if noRegion || checksum(&t, t.Verified, t.Receipt) != uint32(numbers[5]) {
		return t, fmt.Errorf("%w: transaction %s of %s, executed at %s, does not fit its checksum", ErrDamaged, t.ID, t.Source, assay.FormatInstant(t.ExecutedAt))
	}
	return t, nil
}

// TransactionSpan gives the instants of the first and the last transaction; both are 0 when there is none.
func (db *DB) TransactionSpan(ctx context.Context) (first, last int64, err error) {
	err = db.read(ctx, func(tx *tx) error {
		// Each by itself is found at an end of the table; asked for together they would be looked for in all of it.
		return tx.QueryRowContext(tx.ctx, `SELECT coalesce((SELECT min(executed_at) FROM transactions), 0),
			coalesce((SELECT max(executed_at) FROM transactions), 0)`).Scan(&first, &last)
	})
	return first, last, err
}

// CountTransactions counts what is stored.
func (db *DB) CountTransactions(ctx context.Context) (n int, err error) {
	err = db.read(ctx, func(tx *tx) error {
		return tx.QueryRowContext(tx.ctx, `SELECT count(*) FROM transactions`).Scan(&n)
	})
	return n, err
}
