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

	"github.com/assaydata/assay"
)

// segment is the transactions that came with one receipt and were executed in one hour: a row of the database.
type segment struct {
	number   segmentNumber
	rows     int64
	checksum int64
	body     []byte
}

// segmentNumber is what a segment is known by: the number of its hour since 1970 and, in the lower 32 bits, its receipt. So
// segments lie in the order of time, and what leads to one tells both.
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

// hour is the instant at which the hour begins.
func (n segmentNumber) hour() int64 { return int64(n) >> receiptBits * assay.Hour }

func (n segmentNumber) receipt() int64 { return int64(n) & receiptMask }

// segmentsOf gives the numbers [first, end) of the segments that may hold instants of [from, to).
func segmentsOf(from, to int64) (first, end segmentNumber) {
	from, to = max(from, assay.Earliest), min(to, assay.Latest)
	return numberSegment(from, 0), numberSegment(to+assay.Hour-1, 0)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum is a CRC-32C over everything that a segment says, with the names behind the numbers in its body. It is there to
// notice damage, not malice, which the signed records are for; so every reading of a segment checks it.
func (s *segment) sum(names []string) int64 {
	var numbers [16]byte
	binary.LittleEndian.PutUint64(numbers[:], uint64(s.number))
	binary.LittleEndian.PutUint64(numbers[8:], uint64(s.rows))
	sum := crc32.Update(crc32.Checksum(numbers[:], castagnoli), castagnoli, s.body)
	room := make([]byte, 0, 256)
	for _, name := range names {
		room = append(append(room[:0], name...), 0)
		sum = crc32.Update(sum, castagnoli, room)
	}
	return int64(sum)
}

// The lists of names that a segment begins with.
const (
	listSources = iota
	listGPUs
	listRegions
	listProviders
	lists
)

// segmentWriter makes the bodies of segments. A body begins with lists of the sources, GPUs, regions and providers that its
// rows name, as ids of the dictionary; the rows then say their places in the lists. They come in the order of time, source
// and id, and each says how long after the one before it was executed.
type segmentWriter struct {
	lists      [lists]localNames
	names      []string
	rows, body []byte
}

// localNames numbers the names of a segment in the order of their first use.
type localNames struct {
	places []int // by id, from 1; 0 for what was not used yet
	ids    []int64
	texts  []string
}

func (l *localNames) place(id int64, text string) uint64 {
	if id >= int64(len(l.places)) {
		l.places = append(l.places, make([]int, id+1)...)
	}
	if l.places[id] == 0 {
		l.ids, l.texts = append(l.ids, id), append(l.texts, text)
		l.places[id] = len(l.ids)
	}
	return uint64(l.places[id] - 1)
}

func (l *localNames) reset() {
	for _, id := range l.ids {
		l.places[id] = 0
	}
	l.ids, l.texts = l.ids[:0], l.texts[:0]
}

const insertSegment = `INSERT INTO segments (segment, rows, checksum, body) VALUES ($1, $2, $3, $4)`

// insert writes a segment of rows that are in order.
func (w *segmentWriter) insert(tx *tx, insert *sql.Stmt, number segmentNumber, rows []row) error {
	s := w.segment(number, rows)
	_, err := insert.ExecContext(tx.ctx, int64(s.number), s.rows, s.checksum, s.body)
	return err
}

// inSegmentOrder is the order of rows inside a segment. Two instants nearly always differ, so that the texts are left alone: they
// would be a seventh of an import's work.
func inSegmentOrder(a, b row) int {
	if byTime := cmp.Compare(a.ExecutedAt, b.ExecutedAt); byTime != 0 {
		return byTime
	}
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.ID, b.ID))
}

// segment makes a segment. Its body is good until the next call.
func (w *segmentWriter) segment(number segmentNumber, rows []row) segment {
	for i := range w.lists {
		w.lists[i].reset()
	}
	b := w.rows[:0]
	before := number.hour()
	for i := range rows {
		r := &rows[i]
		b = binary.AppendUvarint(b, uint64(r.ExecutedAt-before))
		before = r.ExecutedAt
		b = binary.AppendUvarint(b, w.lists[listSources].place(r.source, r.Source))
		b = binary.AppendUvarint(b, w.lists[listGPUs].place(r.gpu, r.GPU))
		b = binary.AppendUvarint(b, w.lists[listRegions].place(r.region, r.Region))
		b = binary.AppendUvarint(b, w.lists[listProviders].place(r.provider, r.Provider))
		b = append(b, byte(boolInt(r.Verified)))
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

// bodyReader reads a body from its beginning. Behind its end, or when a number has no end, everything is 0 and bad is true.
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

// skip goes on behind a number; it gives 0 when that was none.
func (r *bodyReader) skip(size int) uint64 {
	if size <= 0 {
		r.bad = true
		return 0
	}
	r.at += size
	return 1
}

// bytes takes that many bytes, which stay part of the body.
func (r *bodyReader) bytes(length uint64) []byte {
	if length > uint64(len(r.body)-r.at) {
		r.bad = true
		return nil
	}
	r.at += int(length)
	return r.body[r.at-int(length) : r.at]
}

// string takes a text with its length before it.
func (r *bodyReader) string() string {
	length := len(r.bytes(r.unsigned()))
	return r.text[r.at-length : r.at]
}

// of takes the name that a row says the place of.
func (r *bodyReader) of(list []string) string {
	if place := r.unsigned(); place < uint64(len(list)) {
		return list[place]
	}
	r.bad = true
	return ""
}

// appendSegment appends the transactions of a segment. One that does not fit its checksum is an ErrDamaged that names it.
func (d *dictionary) appendSegment(dst []assay.Transaction, s *segment) ([]assay.Transaction, error) {
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
	dst = slices.Grow(dst, int(s.rows))
	at, receipt := s.number.hour(), s.number.receipt()
	for range s.rows {
		at += int64(r.unsigned())
		t := assay.Transaction{ExecutedAt: at, Receipt: receipt}
		t.Source, t.GPU, t.Region, t.Provider = r.of(local[listSources]), r.of(local[listGPUs]), r.of(local[listRegions]), r.of(local[listProviders])
		t.Verified = r.unsigned() == 1
		t.Price, t.GPUs, t.HourMicros = assay.Nanos(r.signed()), r.signed(), r.signed()
		t.ID = r.string()
		dst = append(dst, t)
	}
	if r.bad || r.at != len(r.body) {
		return dst, s.damaged()
	}
	return dst, nil
}

// ErrDamaged says that a stored row is not what was once written.
var ErrDamaged = errors.New("the database is damaged")

func (s *segment) damaged() error {
	return fmt.Errorf("%w: the transactions of receipt %d, executed in the hour from %s, do not fit their checksum", ErrDamaged, s.number.receipt(), assay.FormatInstant(s.number.hour()))
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

// eachSegment calls f for every segment that the rest of a query asks for.
func (tx *tx) eachSegment(rest string, args []any, f func(*segment) error) error {
	return tx.each(selectSegments+rest, args, func(scan scanFunc) error {
		var s segment
		if err := scan((*int64)(&s.number), &s.rows, &s.checksum, &s.body); err != nil {
			return err
		}
		return f(&s)
	})
}

// AppendWindow appends the transactions executed in [from, to) as they were received, hour by hour. Damage is an ErrDamaged
// that names the hour.
func (db *DB) AppendWindow(ctx context.Context, dst []assay.Transaction, from, to int64) ([]assay.Transaction, error) {
	return db.appendWindow(ctx, dst, from, to, func(*segment, []assay.Transaction) {})
}

// appendWindow is AppendWindow, and tells of every segment it has read.
func (db *DB) appendWindow(ctx context.Context, dst []assay.Transaction, from, to int64, each func(*segment, []assay.Transaction)) ([]assay.Transaction, error) {
	err := db.readRaw(ctx, func(tx *tx, scan rawScan) error {
		d, err := readDictionary(tx)
		if err != nil {
			return err
		}
		first, end := segmentsOf(from, to)
		return scan(selectSegments+`WHERE segment >= $1 AND segment < $2 ORDER BY segment`, []any{int64(first), int64(end)}, func(values []driver.Value) error {
			s, err := readSegment(values)
			if err != nil {
				return err
			}
			begin := len(dst)
			if dst, err = d.appendSegment(dst, &s); err != nil {
				return err
			}
			each(&s, dst[begin:])
			if hour := s.number.hour(); hour < from || hour+assay.Hour > to { // only a part of it was asked for
				inside := slices.DeleteFunc(dst[begin:], func(t assay.Transaction) bool { return t.ExecutedAt < from || t.ExecutedAt >= to })
				dst = dst[:begin+len(inside)]
			}
			return nil
		})
	})
	return dst, err
}

// finder finds stored transactions by their source and id. It keeps the segment it has read last, because what is asked
// for together often lies together.
type finder struct {
	tx         *tx
	dictionary *dictionary
	number     segmentNumber                        // of the segment read last
	held       map[transactionKey]assay.Transaction // what is in it; nil for nothing read yet
}

// transactionKey is what a transaction is known by.
type transactionKey struct{ source, id string }

// in looks for a transaction in a segment.
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

// maxProbe is how far behind its hash an id may stand: nobody will see even one step.
const maxProbe = 8

// find looks for a transaction.
func (f *finder) find(key transactionKey) (t assay.Transaction, found bool, err error) {
	var segments []segmentNumber
	hash := f.tx.db.idHash(key.source, key.id)
	err = f.tx.each(`SELECT segment FROM transaction_ids WHERE hash BETWEEN $1 AND $2 ORDER BY hash`, []any{hash, hash + maxProbe}, func(scan scanFunc) error {
		var number segmentNumber
		err := scan((*int64)(&number))
		segments = append(segments, number)
		return err
	})
	for _, number := range segments {
		if err == nil && !found {
			t, found, err = f.in(number, key)
		}
	}
	return t, found, err
}

// FirstTransaction gives the instant of the first transaction; ok is false when there is none.
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

// CountTransactions counts what is stored.
func (db *DB) CountTransactions(ctx context.Context) (n int, err error) {
	err = db.read(ctx, func(tx *tx) error {
		return tx.QueryRowContext(tx.ctx, `SELECT coalesce(sum(rows), 0) FROM segments`).Scan(&n)
	})
	return n, err
}
