package store

import (
	"cmp"
	"database/sql"
	"encoding/binary"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
)

// migrate runs migrations, and fills the catalogs of a new database.
func migrate(tx *tx, pending []migration, progress func(migration string, number, of int)) error {
	err := tx.exec(`CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, applied_at BIGINT NOT NULL)`)
	if err != nil {
		return err
	}
	var existing int
	if err := tx.QueryRowContext(tx.ctx, `SELECT count(*) FROM migrations`).Scan(&existing); err != nil {
		return err
	}
	for i, file := range pending {
		progress(file.title(), i+1, len(pending))
		if err := file.run(tx); err != nil {
			return fmt.Errorf("migration %s: %w", file.name, err)
		}
	}
	tx.logDue = true // what the log lists only now
	if existing == 0 {
		return insertCatalog(tx, assay.DefaultCatalog())
	}
	return nil
}

// migration is an SQL file. Its name begins with its number.
type migration struct {
	number int
	name   string
}

// title is its name for people, such as 011_key_changes.
func (m migration) title() string { return strings.TrimSuffix(path.Base(m.name), ".sql") }

// migrationFiles lists the migrations of a folder in their order.
func migrationFiles(folder string) (files []migration) {
	names, err := fs.Glob(migrations, folder+"/*.sql")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	for _, name := range names {
		digits, _, _ := strings.Cut(path.Base(name), "_")
		number, err := strconv.Atoi(digits)
		if err != nil {
			panic(fmt.Sprintf("migration %s has no number", name)) // a test opens databases with all of them
		}
		files = append(files, migration{number, name})
	}
	slices.SortFunc(files, func(a, b migration) int { return cmp.Compare(a.number, b.number) })
	return files
}

func (m migration) run(tx *tx) error {
	text, err := migrations.ReadFile(m.name)
	if err != nil {
		return err
	}
	if err := tx.exec(string(text)); err != nil {
		return err
	}
	if move := moves[m.name]; move != nil {
		if err := move(tx); err != nil {
			return err
		}
	}
	if m.number < firstUsableBy {
		return tx.exec(`INSERT INTO migrations (number, applied_at) VALUES ($1, $2)`, m.number, tx.now)
	}
	return tx.exec(`INSERT INTO migrations (number, applied_at, usable_by) VALUES ($1, $2, $3)`,
		m.number, tx.now, usableBy[m.number])
}

// usableBy has, for each migration since there is the column, the oldest schema whose programs can use the tables after
// it. It must not be later than the schema of the last release, so that nodes can be upgraded one after another.
var usableBy = map[int]int{
	12: 6, 13: 6, 14: 6, 15: 6, 16: 6, 17: 6, 18: 6, 19: 6, 20: 6, 21: 6, 22: 6, 23: 6, 24: 6, 25: 6, 26: 6,
	27: 6, 28: 6, 29: 6, 30: 6, 31: 6, 32: 6, 33: 6, 34: 6, 35: 6, 36: 6, 37: 6,
}

const firstUsableBy = 12

// moves are the parts of migrations that SQL cannot do, by file.
var moves = map[string]func(*tx) error{
	"migrations/sqlite/002_proof.sql":    addFirstReceipt,
	"migrations/sqlite/004_segments.sql": moveToSegments,

	"migrations/sqlite/008_sessions.sql":   useSessionsNow,
	"migrations/postgres/008_sessions.sql": useSessionsNow,

	"migrations/sqlite/019_log.sql":   startLog,
	"migrations/postgres/019_log.sql": startLog,

	"migrations/sqlite/032_packed_points.sql":   packAll,
	"migrations/postgres/032_packed_points.sql": packAll,
}

// useSessionsNow lets sessions count as used now: it is not known when they were.
func useSessionsNow(tx *tx) error { return tx.exec(`UPDATE sessions SET last_used_at = $1`, tx.now) }

// moveToSegments moves transactions into segments, and the versions and hashes of records into their bodies.
func moveToSegments(tx *tx) error {
	return inOrder(func() error { return moveTransactions(tx) }, func() error { return moveRecords(tx) })
}

// addFirstReceipt adds receipt 1, which everything belongs to that was stored before there were receipts.
func addFirstReceipt(tx *tx) error {
	var rows int
	err := tx.QueryRowContext(tx.ctx, `SELECT count(*) FROM transactions`).Scan(&rows)
	if err != nil || rows == 0 {
		return err
	}
	return tx.addReceipt(1, rows)
}

// usualMovedIDs is how many ids are inserted at once while transactions are moved: many share a page, and they fit in
// memory.
const usualMovedIDs = 1_000_000

// mover moves transactions from a table of single rows into segments.
type mover struct {
	tx         *tx
	writer     segmentWriter
	insert, id *sql.Stmt
	rows       []row // of the next segment
	receipt    int64
	ids        []idEntry
}

// moveTransactions moves all transactions into segments and drops the old table.
func moveTransactions(tx *tx) error {
	d, err := readDictionary(tx)
	if err != nil {
		return err
	}
	m := mover{tx: tx}
	if m.insert, err = tx.PrepareContext(tx.ctx, insertSegment); err != nil {
		return err
	}
	defer m.insert.Close()
	if m.id, err = tx.PrepareContext(tx.ctx, insertID+` ON CONFLICT DO NOTHING`); err != nil {
		return err
	}
	defer m.id.Close()
	err = tx.each(`SELECT executed_at, source_id, id, gpu_id, region_id, provider_id, price_nanos, gpus, hour_micros,
		verified, receipt FROM transactions_3 ORDER BY receipt, executed_at, source_id, id`, nil, func(scan scanFunc) error {
		r := row{Transaction: &assay.Transaction{}}
		var receipt int64
		err := scan(&r.ExecutedAt, &r.source, &r.ID, &r.gpu, &r.region, &r.provider, &r.Price, &r.GPUs, &r.HourMicros,
			&r.Verified, &receipt)
		if err != nil {
			return err
		}
		r.Source, r.GPU = d.sources.texts[r.source], d.gpus.texts[r.gpu]
		r.Region, r.Provider = d.regions.texts[r.region], d.providers.texts[r.provider]
		r.hash = tx.db.idHash(r.Source, r.ID)
		return m.take(r, receipt)
	})
	if err != nil {
		return err
	}
	return inOrder(m.flush, m.insertIDs, func() error { return tx.exec(`DROP TABLE transactions_3`) })
}

// take adds a row to its segment. Rows come in the order of receipt and time.
func (m *mover) take(r row, receipt int64) error {
	if len(m.rows) > 0 && numberSegment(r.ExecutedAt, receipt) != numberSegment(m.rows[0].ExecutedAt, m.receipt) {
		if err := m.flush(); err != nil {
			return err
		}
	}
	m.rows, m.receipt = append(m.rows, r), receipt
	return nil
}

// flush writes a segment.
func (m *mover) flush() error {
	if len(m.rows) == 0 {
		return nil
	}
	slices.SortFunc(m.rows, inSegmentOrder)
	number := numberSegment(m.rows[0].ExecutedAt, m.receipt)
	if err := m.writer.insert(m.tx, m.insert, number, m.rows); err != nil {
		return err
	}
	for i := range m.rows {
		m.ids = append(m.ids, idEntry{hash: m.rows[i].hash, segment: number})
	}
	m.rows = m.rows[:0]
	if len(m.ids) < m.tx.db.movedIDs {
		return nil
	}
	return m.insertIDs()
}

// insertIDs inserts ids in the order of their hashes, each at the first free number.
func (m *mover) insertIDs() error {
	slices.SortFunc(m.ids, func(a, b idEntry) int { return cmp.Compare(a.hash, b.hash) })
	for _, id := range m.ids {
		for entered := int64(0); entered == 0; id.hash++ {
			result, err := m.id.ExecContext(m.tx.ctx, id.hash, int64(id.segment))
			if err != nil {
				return err
			}
			if entered, err = result.RowsAffected(); err != nil {
				return err
			}
		}
	}
	m.ids = m.ids[:0]
	return nil
}

// moveRecords moves the version and the hash of records into their bodies.
func moveRecords(tx *tx) error {
	insert, err := tx.engine.newBulk(tx, recordsTable)
	if err != nil {
		return err
	}
	defer insert.close()
	err = tx.each(`SELECT series_id, at, revision, sequence, body, hash, version
		FROM records_3 JOIN points USING (series_id, at, revision)`, nil, func(scan scanFunc) error {
		var series, at, revision, sequence, version int64
		var body, hash []byte
		if err := scan(&series, &at, &revision, &sequence, &body, &hash, &version); err != nil {
			return err
		}
		body = append(append(binary.AppendVarint(nil, version), body...), hash...)
		return insert.add(series, at, revision, sequence, body)
	})
	if err != nil {
		return err
	}
	return inOrder(insert.flush, func() error { return tx.exec(`DROP TABLE records_3`) })
}
