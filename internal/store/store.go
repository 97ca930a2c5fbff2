// Package store is the database: SQLite or PostgreSQL. DB is a concrete type with one SQL text for both; what differs
// (opening, bulk writes, watching, locks) is in the engine_sqlite and engine_postgres files.
//
// Rules of the package; DESIGN.md has the reasons:
//
//   - Time is int64 milliseconds, money is int64 billionths. No floating point is stored.
//   - A public method is one transaction; a lower-case function is the SQL inside it.
//   - Every change that readers follow raises a counter in its transaction.
//   - Nothing published is overwritten.
package store

import (
	"context"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/tracing"
)

//go:embed migrations
var migrations embed.FS

// DB is an open database. It is safe for concurrent use.
type DB struct {
	engine
	Now func() time.Time // the clock, read once per transaction; set it before use

	idHash   func(source, id string) int64 // idHash, except in tests that want ids to share hashes
	movedIDs int                           // how many ids a migration inserts at once; few in tests

	tiles *tileMemory // of the log

	reads, writes transactions // for Activity
	failures      failures

	checkedKeys atomic.Pointer[checkedKeys] // the last ones, so that they are not checked for each signature

	watchMu  sync.Mutex
	watching bool          // the watcher was started, or must not be any more; guarded by watchMu
	changed  chan struct{} // closed at the next commit the watcher sees; guarded by watchMu
	stop     context.CancelFunc
	watched  sync.WaitGroup
	until    context.Context // ends the watcher
}

func newDB(e engine) *DB {
	db := &DB{
		engine: e, Now: time.Now, idHash: idHash, movedIDs: usualMovedIDs, tiles: newTileMemory(),
		changed: make(chan struct{}),
	}
	db.until, db.stop = context.WithCancel(context.Background())
	return db
}

// Close stops the watcher and closes the database.
func (db *DB) Close() error {
	db.watchMu.Lock()
	db.watching = true
	db.watchMu.Unlock()
	db.stop()
	db.watched.Wait()
	return db.close()
}

// Changed returns a channel that is closed after the next commit of any process. Call it before reading, so that no
// commit in between is missed. It may be closed without a commit. The first call starts the watcher: most commands need
// none.
func (db *DB) Changed() <-chan struct{} {
	db.watchMu.Lock()
	defer db.watchMu.Unlock()
	if !db.watching {
		db.watching = true
		db.watched.Go(func() { db.watch(db.until, db.announce) })
	}
	return db.changed
}

func (db *DB) announce() {
	db.watchMu.Lock()
	defer db.watchMu.Unlock()
	close(db.changed)
	db.changed = make(chan struct{})
}

// Counters show what has changed: a reader compares them with those of its last read.
type Counters struct {
	Catalog, Keys, Publication, Methodology, Manifest, Receipt int64

	Checkpoint int64 // how many entries of the log the newest checkpoint signs

	Notices      int64
	Restatements int64
	ValueRecords int64
	ValuesKnown  int64 // up to when the newest records of values know what was received

	Realtime    int64 // the instant of the newest print
	Utilization int64 // the Received of the newest reading

	Observed [assay.NumFamilies]int64 // the Received of the newest observation of each family

	Accounts int64 // accounts, organizations, their members and plans, grants
	Sessions int64
	Devices  int64

	ShareLinks int64

	IngestKeys int64
}

// Counters reads the counters.
func (db *DB) Counters(ctx context.Context) (c Counters, err error) {
	ctx, cancel := context.WithTimeout(ctx, headTimeout)
	defer cancel()
	err = db.read(ctx, func(tx *tx) error {
		c, err = readCounters(tx)
		return err
	})
	return c, err
}

func readCounters(tx *tx) (c Counters, err error) {
	err = tx.each(`SELECT name, value FROM counters`, nil, func(scan scanFunc) error {
		var name string
		var value int64
		if err := scan(&name, &value); err != nil {
			return err
		}
		if counter := c.byName(name); counter != nil {
			*counter = value
		}
		return nil
	})
	return c, err
}

func (c *Counters) byName(name string) *int64 {
	switch name {
	case "catalog":
		return &c.Catalog
	case "keys":
		return &c.Keys
	case "publication":
		return &c.Publication
	case "notices":
		return &c.Notices
	case "restatements":
		return &c.Restatements
	case "value_records":
		return &c.ValueRecords
	case "values_known_at":
		return &c.ValuesKnown
	case "realtime":
		return &c.Realtime
	case "methodology":
		return &c.Methodology
	case "manifest":
		return &c.Manifest
	case "receipt":
		return &c.Receipt
	case "checkpoint":
		return &c.Checkpoint
	case "utilization":
		return &c.Utilization
	case "accounts":
		return &c.Accounts
	case "sessions":
		return &c.Sessions
	case "devices":
		return &c.Devices
	case "share_links":
		return &c.ShareLinks
	case "ingest_keys":
		return &c.IngestKeys
	}
	if family, ok := assay.FamilyByName(name); ok && family < assay.NumFamilies {
		return &c.Observed[family]
	}
	return nil // written by a newer release
}

// Setting reads a named setting of the installation; it is empty when unset.
func (db *DB) Setting(ctx context.Context, name string) (value string, err error) {
	err = db.read(ctx, func(tx *tx) error {
		return tx.each(`SELECT value FROM settings WHERE name = $1`, []any{name}, func(scan scanFunc) error {
			return scan(&value)
		})
	})
	return value, err
}

// SetSetting stores a named setting of the installation.
func (db *DB) SetSetting(ctx context.Context, name, value string) error {
	return db.write(ctx, func(tx *tx) error {
		return tx.exec(`INSERT INTO settings (name, value) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	})
}

// tx is a transaction with its context, its time, and shorthands for SQL.
type tx struct {
	openTx
	db     *DB
	engine engine
	ctx    context.Context
	now    int64

	logDue    bool // something was written that belongs in the log
	received  received
	published published
}

type scanFunc func(dest ...any) error

func (tx *tx) exec(query string, args ...any) error {
	_, err := tx.ExecContext(tx.ctx, query, args...)
	return err
}

// each calls f for every row of a query. A column that cannot be read is damage; the error names its table and row.
func (tx *tx) each(query string, args []any, f func(scanFunc) error) error {
	rows, err := tx.QueryContext(tx.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for row := 1; rows.Next(); row++ {
		if err := f(namingScan(rows.Scan, query, row)); err != nil {
			return err
		}
	}
	return rows.Err()
}

func namingScan(scan scanFunc, query string, row int) scanFunc {
	return func(dest ...any) error {
		if err := scan(dest...); err != nil {
			return fmt.Errorf("%w: row %d of %s: %w", ErrDamaged, row, firstTable.FindStringSubmatch(query)[1], err)
		}
		return nil
	}
}

// firstTable finds the first table of a query.
var firstTable = regexp.MustCompile(`(?:FROM|UPDATE|INTO)[ (]+(\w+)|$`)

// counter reads a counter.
func (tx *tx) counter(name string) (value int64, err error) {
	err = tx.QueryRowContext(tx.ctx, `SELECT value FROM counters WHERE name = $1`, name).Scan(&value)
	return value, err
}

// bump raises a counter and returns its new value.
func (tx *tx) bump(counter string) (value int64, err error) {
	query := `UPDATE counters SET value = value + 1 WHERE name = $1 RETURNING value`
	err = tx.QueryRowContext(tx.ctx, query, counter).Scan(&value)
	return value, err
}

// inOrder runs the steps one after another and stops at the first error: in PostgreSQL every statement after a failed
// one fails too, and would hide the reason.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) read(ctx context.Context, f func(*tx) error) error {
	return db.transact(ctx, false, f)
}

func (db *DB) write(ctx context.Context, f func(*tx) error) error {
	return db.transact(ctx, true, f)
}

// rawScan runs a query and calls f with each row as the driver reads it. The values are reused.
type rawScan func(query string, args []any, f func([]driver.Value) error) error

// readRaw is read for queries of millions of rows, where database/sql would take longer than the database.
func (db *DB) readRaw(ctx context.Context, f func(*tx, rawScan) error) error {
	return db.read(ctx, func(tx *tx) error { return f(tx, tx.scanRaw) })
}

// scanRaw is a rawScan.
func (tx *tx) scanRaw(query string, args []any, row func([]driver.Value) error) error {
	return tx.conn.Raw(func(driverConn any) error { return scanRaw(tx.ctx, driverConn, query, args, row) })
}

func scanRaw(
	ctx context.Context, driverConn any, query string, args []any, row func([]driver.Value) error,
) (err error) {
	named := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	rows, err := driverConn.(driver.QueryerContext).QueryContext(ctx, query, named)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	values := make([]driver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(values); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := row(values); err != nil {
			return err
		}
	}
}

// transact runs f in a transaction. After the context has ended, the error is the context's: the database would only
// report that it was interrupted, rolled back or closed.
func (db *DB) transact(ctx context.Context, write bool, f func(*tx) error) error {
	name := "store read"
	if write {
		name = "store write"
	}
	ctx, end := tracing.Start(ctx, name)
	began := time.Now()
	err := db.transactOnce(ctx, write, f)
	end(err)
	db.countTransaction(write, time.Since(began), err)
	return err
}

func (db *DB) transactOnce(ctx context.Context, write bool, f func(*tx) error) error {
	open, err := db.begin(ctx, write)
	if err == nil {
		t := &tx{openTx: open, db: db, engine: db.engine, ctx: ctx, now: db.Now().UnixMilli()}
		err = f(t)
		if err == nil && t.logDue {
			err = t.appendLog()
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = open.Commit()
		} else {
			_ = open.Rollback() // the first error is the one to report
		}
		open.end()
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
