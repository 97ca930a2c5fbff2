package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/assaydata/assay"
)

// segment is the transactions of one receipt that were executed in one hour: a row of the table segments.
type segment struct {
	number   segmentNumber
	rows     int64
	checksum int64
	body     []byte
}

// segmentNumber identifies a segment: the number of its hour since 1970 and, in the lower 32 bits, its receipt. So
// segments are stored in the order of time, and the number alone says hour and receipt.
type segmentNumber int64

// receiptBits is how many of the 64 bits the receipt has: four billion imports, and hours for all years from 1 to 9999.
const (
	receiptBits = 32
	receiptMask = 1<<receiptBits - 1
)

// receiptColumn is the receipt of a segment in SQL; see segmentNumber.receipt.
var receiptColumn = fmt.Sprintf(`(segment & %d)`, receiptMask)

func numberSegment(executedAt, receipt int64) segmentNumber {
	hour := executedAt / assay.Hour
	if executedAt%assay.Hour < 0 {
		hour--
	}
	return segmentNumber(hour<<receiptBits | receipt)
}

// hour returns the instant at which the hour begins.
func (n segmentNumber) hour() int64 { return int64(n) >> receiptBits * assay.Hour }

func (n segmentNumber) receipt() int64 { return int64(n) & receiptMask }

// segmentsOf returns the numbers [first, end) of the segments that may contain instants of [from, to).
func segmentsOf(from, to int64) (first, end segmentNumber) {
	from, to = max(from, assay.Earliest), min(to, assay.Latest)
	return numberSegment(from, 0), numberSegment(to+assay.Hour-1, 0)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum returns a CRC-32C over the whole segment and the names behind the ids in its body. Every read checks it. It
// detects damage, not malice, which the signed records are for.
func (s *segment) sum(names []string) int64 {
	var numbers [16]byte
	binary.LittleEndian.PutUint64(numbers[:], uint64(s.number))
	binary.LittleEndian.PutUint64(numbers[8:], uint64(s.rows))
	sum := crc32.Update(crc32.Checksum(numbers[:], castagnoli), castagnoli, s.body)
	buffer := make([]byte, 0, 256)
	for _, name := range names {
		buffer = append(append(buffer[:0], name...), 0)
		sum = crc32.Update(sum, castagnoli, buffer)
	}
	return int64(sum)
}

// The lists of names at the beginning of a segment's body.
const (
	listSources = iota
	listGPUs
	listRegions
	listProviders
	lists
)

// segmentWriter encodes segments. A body begins with lists of the sources, GPUs, regions and providers of its rows, as
// ids of the dictionary; the rows have indexes into these lists. Rows are in the order of time, source and id, and each
// has the time since the one before it.
type segmentWriter struct {
	lists      [lists]localNames
	names      []string
	rows, body []byte
	evidence   evidence // that was written last
}

// evidence is what a transaction was verified by.
type evidence struct {
	class assay.Evidence
	by    string
}

// The state of a row: whether it is verified, and whether its evidence follows, or is that of an earlier row.
const (
	stateVerified = 1 << iota
	stateEvidence
	stateSameEvidence
)

// appendState appends the state of a row and its evidence, if there is any. Most rows have that of the row before.
func (w *segmentWriter) appendState(dst []byte, t *assay.Transaction) []byte {
	state, has := byte(boolInt(t.Verified))*stateVerified, evidence{t.Evidence, t.VerifiedBy}
	switch has {
	case evidence{}:
		return append(dst, state)
	case w.evidence:
		return append(dst, state|stateSameEvidence)
	}
	w.evidence = has
	dst = append(dst, state|stateEvidence, byte(has.class))
	return append(binary.AppendUvarint(dst, uint64(len(has.by))), has.by...)
}

// state reads the state of a row and, if it has evidence, which. Before is what was read last.
func (r *bodyReader) state(t *assay.Transaction, before *evidence) {
	state := r.unsigned()
	t.Verified = state&stateVerified != 0
	switch state &^ stateVerified {
	case 0:
		return
	case stateEvidence:
		class := r.unsigned()
		r.bad = r.bad || class >= uint64(assay.NumEvidence)
		*before = evidence{assay.Evidence(class), strings.Clone(r.string())}
	case stateSameEvidence:
	default:
		r.bad = true
	}
	t.Evidence, t.VerifiedBy = before.class, before.by
	r.bad = r.bad || t.Evidence == assay.Unstated || !t.HasWholeEvidence()
}

// localNames numbers the names of a segment in the order of their first use.
type localNames struct {
	indexes []int // by id, from 1; 0: not used yet
	ids     []int64
	texts   []string
}

func (l *localNames) index(id int64, text string) uint64 {
	if id >= int64(len(l.indexes)) {
		l.indexes = append(l.indexes, make([]int, id+1)...)
	}
	if l.indexes[id] == 0 {
		l.ids, l.texts = append(l.ids, id), append(l.texts, text)
		l.indexes[id] = len(l.ids)
	}
	return uint64(l.indexes[id] - 1)
}

func (l *localNames) reset() {
	for _, id := range l.ids {
		l.indexes[id] = 0
	}
	l.ids, l.texts = l.ids[:0], l.texts[:0]
}

const insertSegment = `INSERT INTO segments (segment, rows, checksum, body) VALUES ($1, $2, $3, $4)`

// insert writes a segment of sorted rows.
func (w *segmentWriter) insert(tx *tx, insert *sql.Stmt, number segmentNumber, rows []row) error {
	s := w.segment(number, rows)
	_, err := insert.ExecContext(tx.ctx, int64(s.number), s.rows, s.checksum, s.body)
	return err
}

// inSegmentOrder compares rows in their order inside a segment. It compares texts only when the instants are equal,
// which is rare: comparing them always would take a seventh of an import's time.
func inSegmentOrder(a, b row) int {
	if byTime := cmp.Compare(a.ExecutedAt, b.ExecutedAt); byTime != 0 {
		return byTime
	}
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.ID, b.ID))
}

// segment encodes a segment. Its body is valid until the next call.
func (w *segmentWriter) segment(number segmentNumber, rows []row) segment {
	for i := range w.lists {
		w.lists[i].reset()
	}
	b := w.rows[:0]
	before := number.hour()
	w.evidence = evidence{}
	for i := range rows {
		r := &rows[i]
		b = binary.AppendUvarint(b, uint64(r.ExecutedAt-before))
		before = r.ExecutedAt
		b = binary.AppendUvarint(b, w.lists[listSources].index(r.source, r.Source))
		b = binary.AppendUvarint(b, w.lists[listGPUs].index(r.gpu, r.GPU))
		b = binary.AppendUvarint(b, w.lists[listRegions].index(r.region, r.Region))
		b = binary.AppendUvarint(b, w.lists[listProviders].index(r.provider, r.Provider))
		b = w.appendState(b, r.Transaction)
		b = binary.AppendVarint(b, int64(r.Price))
		b = binary.AppendVarint(b, r.GPUs)
		b = binary.AppendVarint(b, r.HourMicros)
		b = append(binary.AppendUvarint(b, uint64(len(r.ID))), r.ID...)
	}
	w.rows, w.body, w.names = b, w.body[:0], w.names[:0]
	for i := range w.lists {
		w.body = binary.AppendUvarint(w.body, uint64(len(w.lists[i].ids)))
		for _, id := range w.lists[i].ids {
			w.body = binary.AppendUvarint(w.body, uint64(id))
		}
		w.names = append(w.names, w.lists[i].texts...)
	}
	w.body = append(w.body, w.rows...)
	s := segment{number: number, rows: int64(len(rows)), body: w.body}
	s.checksum = s.sum(w.names)
	return s
}

// bodyReader decodes a body. After its end, or after an invalid number, every value is 0 and bad is true.
type bodyReader struct {
	body []byte
	text string // the body again, for string(): ids are parts of it; empty where only bytes are read
	at   int
	bad  bool
}

func (r *bodyReader) unsigned() uint64 {
	if r.at < len(r.body) && r.body[r.at] < 0x80 { // nearly always
		r.at++
		return uint64(r.body[r.at-1])
	}
	n, size := binary.Uvarint(r.body[r.at:])
	return n * r.skip(size)
}

func (r *bodyReader) signed() int64 {
	n, size := binary.Varint(r.body[r.at:])
	return n * int64(r.skip(size))
}

// skip moves past a number of that size; it returns 0 when there was no valid number.
func (r *bodyReader) skip(size int) uint64 {
	if size <= 0 {
		r.bad = true
		return 0
	}
	r.at += size
	return 1
}

// bytes reads that many bytes. The result is a part of the body.
func (r *bodyReader) bytes(length uint64) []byte {
	if length > uint64(len(r.body)-r.at) {
		r.bad = true
		return nil
	}
	r.at += int(length)
	return r.body[r.at-int(length) : r.at]
}

// string reads a text with its length before it.
func (r *bodyReader) string() string {
	length := len(r.bytes(r.unsigned()))
	return r.text[r.at-length : r.at]
}

// of reads an index and returns the name that it refers to.
func (r *bodyReader) of(list []string) string {
	if index := r.unsigned(); index < uint64(len(list)) {
		return list[index]
	}
	r.bad = true
	return ""
}

// appendSegment appends the transactions of a segment. A segment that does not match its checksum is an ErrDamaged that
// names it.
func (d *dictionary) appendSegment(dst []assay.Transaction, s *segment) ([]assay.Transaction, error) {
	return d.appendWanted(dst, s, nil)
}

// appendWanted is appendSegment for the GPUs that are wanted; nil wants all.
func (d *dictionary) appendWanted(
	dst []assay.Transaction, s *segment, wants func(gpu string) bool,
) ([]assay.Transaction, error) {
	r := bodyReader{body: s.body, text: string(s.body)}
	var local [lists][]string
	var all []string
	for i, from := range [lists]*names{&d.sources, &d.gpus, &d.regions, &d.providers} {
		begin := len(all)
		for range min(r.unsigned(), uint64(len(s.body))) {
			all = append(all, from.texts[int64(r.unsigned())])
		}
		local[i] = all[begin:]
	}
	if s.sum(all) != s.checksum {
		return dst, s.damaged()
	}
	if wants == nil {
		dst = slices.Grow(dst, int(s.rows))
	}
	at, receipt := s.number.hour(), s.number.receipt()
	var before evidence
	for range s.rows {
		at += int64(r.unsigned())
		t := assay.Transaction{ExecutedAt: at, Receipt: receipt}
		t.Source, t.GPU = r.of(local[listSources]), r.of(local[listGPUs])
		t.Region, t.Provider = r.of(local[listRegions]), r.of(local[listProviders])
		r.state(&t, &before)
		t.Price, t.GPUs, t.HourMicros = assay.Nanos(r.signed()), r.signed(), r.signed()
		t.ID = r.string()
		if wants != nil {
			if !wants(t.GPU) {
				continue
			}
			t.ID = strings.Clone(t.ID) // as a part of the text, it would keep all of it in memory
		}
		dst = append(dst, t)
	}
	if r.bad || r.at != len(r.body) {
		return dst, s.damaged()
	}
	return dst, nil
}

// ErrDamaged is the error for a stored row that is not what was written.
var ErrDamaged = errors.New("the database is damaged")

func (s *segment) damaged() error {
	return fmt.Errorf("%w: the transactions of receipt %d, executed in the hour from %s, do not match their checksum",
		ErrDamaged, s.number.receipt(), assay.FormatInstant(s.number.hour()))
}

const selectSegments = `SELECT segment, rows, checksum, body FROM segments `

// readSegment makes a segment of a row of selectSegments.
func readSegment(values []driver.Value) (s segment, err error) {
	var numbers [3]int64
	ok := true
	for i := range numbers {
		n, isInt := values[i].(int64)
		numbers[i], ok = n, ok && isInt
	}
	s = segment{number: segmentNumber(numbers[0]), rows: numbers[1], checksum: numbers[2]}
	body, isBody := values[3].([]byte)
	if s.body = body; !ok || !isBody {
		return s, s.damaged()
	}
	return s, nil
}

// eachSegment calls f for every segment that matches the rest of a query.
func (tx *tx) eachSegment(rest string, args []any, f func(*segment) error) error {
	return tx.each(selectSegments+rest, args, func(scan scanFunc) error {
		var s segment
		if err := scan((*int64)(&s.number), &s.rows, &s.checksum, &s.body); err != nil {
			return err
		}
		return f(&s)
	})
}

// AppendWindow appends the transactions executed in [from, to) as they were received, hour by hour. A damaged segment
// is an ErrDamaged that names the hour.
func (db *DB) AppendWindow(ctx context.Context, dst []assay.Transaction, from, to int64) ([]assay.Transaction, error) {
	return db.AppendPart(ctx, dst, Part{Span: Span{From: from, To: to}}, nil)
}

// Part is a part of the stored transactions or records: those of some time, and of some GPUs.
type Part struct {
	Span
	Wants func(gpu string) bool // nil wants all
	Other bool                  // it is not the first part of its time
}

// AppendPart is AppendWindow for a part. Unless the tally is nil, it also counts the transactions there; then the part
// must consist of whole hours.
func (db *DB) AppendPart(
	ctx context.Context, dst []assay.Transaction, p Part, tally *Tally,
) ([]assay.Transaction, error) {
	err := db.readRaw(ctx, func(tx *tx, scan rawScan) error {
		d, err := readDictionary(tx)
		if err != nil {
			return err
		}
		first, end := segmentsOf(p.From, p.To)
		query := selectSegments + `WHERE segment >= $1 AND segment < $2 ORDER BY segment`
		return scan(query, []any{int64(first), int64(end)}, func(values []driver.Value) error {
			s, err := readSegment(values)
			if err != nil {
				return err
			}
			begin := len(dst)
			if dst, err = d.appendWanted(dst, &s, p.Wants); err != nil {
				return err
			}
			if tally != nil {
				tally.add(db, s.number, dst[begin:])
			}
			if tally != nil && tally.Segment != nil && !p.Other {
				whole := dst[begin:]
				if p.Wants != nil {
					if whole, err = d.appendSegment(nil, &s); err != nil {
						return err
					}
				}
				tally.Segment(s.number.receipt(), s.number.hour(), whole)
			}
			if hour := s.number.hour(); hour < p.From || hour+assay.Hour > p.To { // only partly in the window
				inside := slices.DeleteFunc(dst[begin:], func(t assay.Transaction) bool { return !p.holds(t.ExecutedAt) })
				dst = dst[:begin+len(inside)]
			}
			return nil
		})
	})
	return dst, err
}

// finder finds stored transactions by source and id. It caches the segment read last, because consecutive lookups are
// often in the same segment.
type finder struct {
	tx         *tx
	dictionary *dictionary
	number     segmentNumber                        // of the segment read last
	held       map[transactionKey]assay.Transaction // its transactions; nil: none read yet
}

// transactionKey identifies a transaction.
type transactionKey struct{ source, id string }

// in finds a transaction in a segment.
func (f *finder) in(number segmentNumber, key transactionKey) (t assay.Transaction, found bool, err error) {
	if f.held == nil || f.number != number {
		f.held = map[transactionKey]assay.Transaction{}
		err := f.tx.eachSegment(`WHERE segment = $1`, []any{int64(number)}, func(s *segment) error {
			all, err := f.dictionary.appendSegment(nil, s)
			for _, t := range all {
				f.held[transactionKey{t.Source, t.ID}] = t
			}
			return err
		})
		if err != nil {
			f.held = nil
			return t, false, err
		}
		f.number = number
	}
	t, found = f.held[key]
	return t, found, nil
}

// maxProbe is how far from its hash an id may be listed. Outside tests it is never even one step.
const maxProbe = 8

// find finds a transaction; if it was corrected, the last correction.
func (f *finder) find(key transactionKey) (t assay.Transaction, found bool, err error) {
	located, err := f.locate(key)
	if located == nil {
		return t, false, err
	}
	return located.transaction, true, nil
}

// located is a stored transaction and its entry in the table of ids.
type located struct {
	idEntry
	transaction assay.Transaction
}

// locate finds a transaction and its entry; nil if there is none.
func (f *finder) locate(key transactionKey) (*located, error) {
	var entries []idEntry
	hash := f.tx.db.idHash(key.source, key.id)
	query := `SELECT hash, segment FROM transaction_ids WHERE hash BETWEEN $1 AND $2 ORDER BY hash`
	err := f.tx.each(query, []any{hash, hash + maxProbe}, func(scan scanFunc) error {
		var e idEntry
		err := scan(&e.hash, (*int64)(&e.segment))
		entries = append(entries, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		t, found, err := f.in(e.segment, key)
		if err != nil {
			return nil, err
		}
		if found {
			return &located{e, t}, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// FirstTransaction returns the instant of the first transaction; ok is false when there is none.
func (db *DB) FirstTransaction(ctx context.Context) (at int64, ok bool, err error) {
	err = db.read(ctx, func(tx *tx) error {
		d, err := readDictionary(tx)
		if err != nil {
			return err
		}
		var first sql.NullInt64
		err = tx.QueryRowContext(tx.ctx, `SELECT min(segment) FROM segments`).Scan(&first)
		if err != nil || !first.Valid {
			return err
		}
		nextHour := numberSegment(segmentNumber(first.Int64).hour()+assay.Hour, 0)
		return tx.eachSegment(`WHERE segment < $1`, []any{int64(nextHour)}, func(s *segment) error {
			all, err := d.appendSegment(nil, s)
			if len(all) > 0 && (!ok || all[0].ExecutedAt < at) {
				at, ok = all[0].ExecutedAt, true
			}
			return err
		})
	})
	return at, ok, err
}

// Reach returns how far the stored transactions reach: to the end of the newest hour that has any, but not past the
// moment at which the last batch was received. It is 0 without transactions.
func (db *DB) Reach(ctx context.Context) (at int64, err error) {
	err = db.read(ctx, func(tx *tx) error {
		var newest, received sql.NullInt64
		err := tx.QueryRowContext(tx.ctx, `SELECT max(segment) FROM segments`).Scan(&newest)
		if err != nil || !newest.Valid {
			return err
		}
		err = tx.QueryRowContext(tx.ctx,
			`SELECT received_at FROM receipts WHERE rows > 0 ORDER BY receipt DESC LIMIT 1`).Scan(&received)
		at = min(segmentNumber(newest.Int64).hour()+assay.Hour, received.Int64)
		return err
	})
	return at, err
}

// CountWindow estimates how many transactions were executed in [from, to): it counts those of whole hours. Numbers that
// are damaged do not count: reading the transactions finds the damage.
func (db *DB) CountWindow(ctx context.Context, from, to int64) (rows int64, err error) {
	err = db.read(ctx, func(tx *tx) error {
		first, end := segmentsOf(from, to)
		var sum any
		err := tx.QueryRowContext(tx.ctx, `SELECT sum(rows) FROM segments WHERE segment >= $1 AND segment < $2`,
			int64(first), int64(end)).Scan(&sum)
		if err != nil && !isOverflow(err) {
			return err
		}
		rows, _ = wholeNumber(sum)
		return nil
	})
	return rows, err
}

// CountTransactions counts the stored transactions.
func (db *DB) CountTransactions(ctx context.Context) (n int, err error) {
	err = db.read(ctx, func(tx *tx) error {
		return tx.QueryRowContext(tx.ctx, `SELECT coalesce(sum(rows), 0) FROM segments`).Scan(&n)
	})
	return n, err
}
