package store

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/merkle"
	"github.com/assaydata/assay/internal/proof"
	"golang.org/x/mod/sumdb/tlog"
)

// logSalt is the setting with the salt of the log's commitments.
const logSalt = "log_salt"

// startLog begins the log. What happened before there was one is appended after all migrations.
func startLog(tx *tx) error {
	salt := make([]byte, proof.SaltSize)
	_, _ = rand.Read(salt) // it never fails
	err := tx.exec(`INSERT INTO settings (name, value) VALUES ($1, $2), ($3, $4)`,
		logSalt, hex.EncodeToString(salt), logOrigin, newOrigin())
	if err != nil {
		return err
	}
	publications, err := tx.counter("publication")
	if err != nil {
		return err
	}
	w, err := newLogWriter(tx)
	if err != nil {
		return err
	}
	if err := w.add(proof.AppendStart(nil, tx.now, publications)); err != nil {
		return err
	}
	return w.finish()
}

// appendLog appends everything to the log that is not in it. It is called at the end of each transaction that writes
// something of that kind, and reads back what was written: so entries say what the tables say, and what a program of an
// earlier release has written is appended by the next transaction of this one.
func (tx *tx) appendLog() error {
	tx.logDue = false
	w, err := newLogWriter(tx)
	if err != nil {
		return err
	}
	return w.appendNew()
}

// logWriter appends to the log.
type logWriter struct {
	tx       *tx
	salt     proof.Salt
	progress map[string]int64 // by kind
	before   int64            // the size of the log before

	size    int64
	tail    [][]byte     // the new entries after the last bundle
	edge    *merkle.Edge // up to the last bundle; nil before the first new one
	records []logRecord
	packer  packer
}

// logRecord is a row of log_records.
type logRecord struct{ prefix, leaf int64 }

var logRecordsTable = table{"log_records", []string{"prefix", "leaf"}}

func newLogWriter(tx *tx) (*logWriter, error) {
	w := &logWriter{tx: tx, progress: map[string]int64{}}
	var err error
	if w.salt, err = readLogSalt(tx); err != nil {
		return nil, err
	}
	if w.size, err = tx.counter("log"); err != nil {
		return nil, err
	}
	w.before = w.size
	err = tx.each(`SELECT kind, number FROM log_progress`, nil, func(scan scanFunc) error {
		var kind string
		var number int64
		err := scan(&kind, &number)
		w.progress[kind] = number
		return err
	})
	return w, err
}

// appendNew appends what is not in the log.
func (w *logWriter) appendNew() error {
	return inOrder(w.methodologies, w.catalog, w.received, w.publications, w.manifests, w.others, w.finish)
}

func (w *logWriter) methodologies() error {
	missing, err := methodologiesWhere(w.tx, `WHERE version NOT IN (SELECT version FROM log_methodologies)`)
	for i := range missing {
		if err == nil {
			err = w.add(proof.AppendMethodologyEntry(nil, w.salt, &missing[i]))
		}
		if err == nil {
			err = w.tx.exec(`INSERT INTO log_methodologies (version) VALUES ($1)`, missing[i].Version)
		}
	}
	return err
}

// publications appends publications, each with its records behind it.
func (w *logWriter) publications() error {
	newest, err := w.tx.counter("publication")
	if err != nil {
		return err
	}
	for version := w.progress[proof.PublicationKind] + 1; version <= newest; version++ {
		entry, err := publicationEntry(w.tx, w.salt, version)
		if err == nil {
			err = w.add(entry)
		}
		if err == nil {
			err = w.recordsOf(version)
		}
		if err != nil {
			return err
		}
	}
	return w.advance(proof.PublicationKind, newest)
}

// recordsOf appends the records of a publication, some series at a time: it may have those of years.
func (w *logWriter) recordsOf(version int64) error {
	if w.tx.published.version == version {
		return w.publishedRecords()
	}
	groups, err := seriesGroups(w.tx, version)
	if err != nil {
		return err
	}
	var entries [][]byte
	for _, group := range groups {
		entries = entries[:0]
		err := eachRecordEntry(w.tx, version, group, func(hash assay.Hash, entry []byte) {
			w.records = append(w.records, logRecord{recordPrefix(hash), w.size + int64(len(entries))})
			entries = append(entries, bytes.Clone(entry))
		})
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if err := w.add(entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// publishedRecords appends the records that this transaction has written.
func (w *logWriter) publishedRecords() error {
	var entry []byte
	for _, d := range w.tx.published.inLogOrder() {
		w.records = append(w.records, logRecord{recordPrefix(d.Hash), w.size})
		entry = proof.AppendRecordEntry(entry[:0], d, w.tx.published.version)
		if err := w.add(bytes.Clone(entry)); err != nil {
			return err
		}
	}
	return nil
}

// recordPrefix is how log_records lists a record.
func recordPrefix(hash assay.Hash) int64 { return int64(binary.BigEndian.Uint64(hash[:])) }

func (w *logWriter) manifests() error {
	after := w.progress[proof.ManifestKind]
	list, err := readManifests(w.tx, `WHERE sequence > $1 ORDER BY sequence`, after)
	if err != nil {
		return err
	}
	for i := range list {
		if err := w.add(proof.AppendManifestEntry(nil, &list[i])); err != nil {
			return err
		}
	}
	return w.advance(proof.ManifestKind, after+int64(len(list)))
}

// catalog appends the catalog if it has changed.
func (w *logWriter) catalog() error {
	version, err := w.tx.counter("catalog")
	if err != nil || version == w.progress[proof.CatalogKind] {
		return err
	}
	entry, err := catalogEntry(w.tx, version)
	if err != nil || entry == nil {
		return err
	}
	if err := w.add(entry); err != nil {
		return err
	}
	return w.advance(proof.CatalogKind, version)
}

// received appends receipts, and the transactions that came with them.
func (w *logWriter) received() error {
	after := w.progress[proof.ReceiptKind]
	newest, err := w.tx.counter("receipt")
	if err != nil || newest == after {
		return err
	}
	if err := w.numbered(&numberedKinds[0]); err != nil {
		return err
	}
	if w.tx.received.first == after+1 { // all that are missing came with this transaction
		for _, entry := range w.tx.received.entries {
			if err := w.add(entry); err != nil {
				return err
			}
		}
		return nil
	}
	numbers, err := segmentNumbers(w.tx, `WHERE `+receiptColumn+` > $1`, after)
	if err != nil {
		return err
	}
	return eachTransactionsEntry(w.tx, numbers, w.add)
}

// others appends what else is listed by number.
func (w *logWriter) others() error {
	for i := range numberedKinds[1:] {
		if err := w.numbered(&numberedKinds[1+i]); err != nil {
			return err
		}
	}
	return nil
}

// numbered appends the new entries of a kind.
func (w *logWriter) numbered(k *numberedKind) error {
	newest, err := k.newest(w.tx)
	last := w.progress[k.name]
	if err != nil || newest == last {
		return err
	}
	var entries [][]byte
	err = k.each(w.tx, w.salt, last, newest, func(entry []byte) error {
		entries = append(entries, bytes.Clone(entry))
		return nil
	})
	for _, entry := range entries {
		if hash, ok := proof.EntryHash(entry); ok && k.name == proof.ValueKind {
			w.records = append(w.records, logRecord{recordPrefix(hash), w.size})
		}
		if err == nil {
			err = w.add(entry)
		}
	}
	if err != nil {
		return err
	}
	return w.advance(k.name, newest)
}

// advance records that everything of a kind is in the log up to a number.
func (w *logWriter) advance(kind string, number int64) error {
	if number == w.progress[kind] {
		return nil
	}
	return w.tx.exec(`INSERT INTO log_progress (kind, number) VALUES ($1, $2)
		ON CONFLICT (kind) DO UPDATE SET number = excluded.number`, kind, number)
}

// add appends an entry, which it keeps.
func (w *logWriter) add(entry []byte) error {
	if err := merkle.CheckEntry(entry); err != nil {
		return err
	}
	w.size++
	if w.tail = append(w.tail, entry); w.size%merkle.TileWidth != 0 {
		return nil
	}
	return w.completeTile()
}

// completeTile moves the entries of a full tile into a bundle.
func (w *logWriter) completeTile() (err error) {
	if w.edge == nil {
		older, err := readTail(w.tx, w.before)
		if err != nil {
			return err
		}
		w.tail = append(older, w.tail...)
		read := func(t merkle.Tile) ([]byte, error) { return readTile(w.tx, t, w.before) }
		if w.edge, err = merkle.ReadEdge(w.size-merkle.TileWidth, read); err != nil {
			return err
		}
	}
	var bundle []byte
	for _, entry := range w.tail {
		if bundle, err = merkle.AppendBundled(bundle, entry); err != nil {
			return err
		}
		if err := w.edge.Append(tlog.RecordHash(entry), w.putTile); err != nil {
			return err
		}
	}
	w.tail = w.tail[:0]
	packed, err := w.packer.pack(bundle)
	if err != nil {
		return err
	}
	return w.tx.exec(`INSERT INTO log_bundles (bundle, entries) VALUES ($1, $2)`, w.size/merkle.TileWidth-1, packed)
}

func (w *logWriter) putTile(t merkle.Tile, hashes []byte) error {
	return w.tx.exec(`INSERT INTO log_tiles (level, tile, hashes) VALUES ($1, $2, $3)
		ON CONFLICT (level, tile) DO UPDATE SET hashes = excluded.hashes`, t.Level, t.Index, hashes)
}

// finish writes what is not yet written.
func (w *logWriter) finish() error {
	if w.size == w.before {
		return nil
	}
	if w.edge != nil {
		if err := w.edge.Incomplete(w.putTile); err != nil {
			return err
		}
		if err := w.tx.exec(`DELETE FROM log_tail`); err != nil {
			return err
		}
	}
	first := w.size - int64(len(w.tail))
	for i, entry := range w.tail {
		if err := w.tx.exec(`INSERT INTO log_tail (leaf, entry) VALUES ($1, $2)`, first+int64(i), entry); err != nil {
			return err
		}
	}
	if err := w.writeRecords(); err != nil {
		return err
	}
	return w.tx.exec(`UPDATE counters SET value = $1 WHERE name = 'log'`, w.size)
}

// writeRecords writes where the records are. Sorted, those that share a page come one after another.
func (w *logWriter) writeRecords() error {
	if len(w.records) == 0 {
		return nil
	}
	slices.SortFunc(w.records, func(a, b logRecord) int { return cmp.Compare(a.prefix, b.prefix) })
	insert, err := w.tx.engine.newBulk(w.tx, logRecordsTable)
	if err != nil {
		return err
	}
	defer insert.close()
	for _, r := range w.records {
		if err := insert.add(r.prefix, r.leaf); err != nil {
			return err
		}
	}
	return insert.flush()
}
