package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// FileName is the database's file inside its folder.
const FileName = "assay.db"

// pollEvery is how often the watcher checks for commits. A check reads one word of shared memory, and readers are
// promised new data within a second.
const pollEvery = 100 * time.Millisecond

// sqliteEngine has one connection for writing, whose transactions take the write lock when they begin, and several for
// reading.
type sqliteEngine struct {
	path    string
	file    os.FileInfo // the opened file, to notice when it is moved away
	writer  *sql.DB
	readers *sql.DB

	writerCache atomic.Int64 // KB that a new connection for writing uses
}

// The caches of connections in KB. Readers scan or look up a row; the system's cache of the file serves them as well as
// one of their own, which would take twice its size: SQLite's allocator rounds a page with its header up to the next
// power of two. Bulk writes touch pages all over the tables.
const (
	smallCache = 2 << 10
	bulkCache  = 64 << 10
)

func openSQLite(ctx context.Context, dir string, create bool) (*sqliteEngine, error) {
	e := &sqliteEngine{path: filepath.Join(dir, FileName)}
	e.writerCache.Store(bulkCache)
	if create {
		if err := e.createFile(); err != nil {
			return nil, fmt.Errorf("create the database: %w", err)
		}
	}
	var err error
	if e.file, err = os.Stat(e.path); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open %s: %w", e.path, ErrNoDatabase)
	} else if err != nil {
		return nil, err
	}
	if err := checkWAL(e.path); err != nil {
		return nil, err
	}
	// The busy timeout comes first: every later pragma may have to wait for another process.
	writer, err := e.pool(1, e.writerCache.Load,
		"immediate", "busy_timeout(30000)", "journal_mode(wal)", "synchronous(full)")
	if err != nil {
		return nil, err
	}
	readers, err := e.pool(4, func() int64 { return smallCache }, "deferred", "busy_timeout(30000)", "query_only(1)")
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	e.writer, e.readers = writer, readers
	if err := e.connect(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", e.path, err), e.close())
	}
	return e, nil
}

// createFile creates the database's folder and file unless they exist. Only its owner can read the file, whatever the
// folder allows; SQLite gives the files beside it the same permissions.
func (e *sqliteEngine) createFile() error {
	if err := os.MkdirAll(filepath.Dir(e.path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(e.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		err = file.Close()
	}
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

func (e *sqliteEngine) pool(connections int, cache func() int64, lock string, pragmas ...string) (*sql.DB, error) {
	path := url.URL{Path: filepath.ToSlash(e.path)} // a folder's name may contain # or %
	query := url.Values{"mode": {"rw"}, "_txlock": {lock}, "_pragma": pragmas}
	dsn := url.URL{Scheme: "file", Opaque: path.EscapedPath(), RawQuery: query.Encode()}
	connector, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(&sqliteConnector{Connector: connector, engine: e, cache: cache})
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// sqliteConnector connects only to the file that the engine opened. After the file is moved away, SQLite would connect
// to another file in its place, and treat the log of the first one as its own.
type sqliteConnector struct {
	driver.Connector
	engine *sqliteEngine
	cache  func() int64 // KB
}

// Connect checks the file again once it is open, in case it was moved meanwhile.
func (c *sqliteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := c.engine.checkFile(); err != nil {
		return nil, err
	}
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	err = c.engine.checkFile()
	if err == nil {
		_, err = conn.(driver.ExecerContext).ExecContext(ctx, cacheSize(c.cache()), nil)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// cacheSize is the statement that sets the cache of a connection.
func cacheSize(kb int64) string { return fmt.Sprintf(`PRAGMA cache_size = -%d`, kb) }

// checkFile checks that the path still leads to the opened file.
func (e *sqliteEngine) checkFile() error {
	file, err := os.Stat(e.path)
	if err != nil {
		return err
	}
	if !os.SameFile(file, e.file) {
		return fmt.Errorf("%s is not the file that was opened", e.path)
	}
	return nil
}

// connect makes the first connection. The busy timeout does not cover the switch of a new file to WAL, so processes
// that open it at the same time retry.
func (e *sqliteEngine) connect(ctx context.Context) (err error) {
	for range connectAttempts {
		if err = e.writer.PingContext(ctx); !isBusy(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(connectPause):
		}
	}
	return err
}

// connectAttempts and connectPause give other processes two seconds to create the file, which takes milliseconds.
const (
	connectAttempts = 100
	connectPause    = 20 * time.Millisecond
)

func isBusy(err error) bool {
	failure, ok := errors.AsType[*sqlite.Error](err)
	return ok && failure.Code()&0xff == sqlite3.SQLITE_BUSY
}

func (e *sqliteEngine) name() string { return filepath.Dir(e.path) }

// sqliteMigrations is the folder of the migrations.
const sqliteMigrations = "migrations/sqlite"

func (e *sqliteEngine) migrations() string { return sqliteMigrations }

func (e *sqliteEngine) hasTable(tx *tx, name string) (exists bool, err error) {
	query := `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = $1`
	err = tx.QueryRowContext(tx.ctx, query, name).Scan(&exists)
	return exists, err
}

func (e *sqliteEngine) begin(ctx context.Context, write bool) (openTx, error) {
	pool := e.readers
	if write {
		pool = e.writer
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return openTx{}, err
	}
	end := func() { _ = conn.Close() } // the transaction has reported any error
	t, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: !write})
	if err != nil {
		end()
	}
	return openTx{Tx: t, conn: conn, end: end}, err
}

// createPartitions does nothing: SQLite has one table for all time.
func (e *sqliteEngine) createPartitions(*tx, []int64) error { return nil }

// afterCopy does nothing: SQLite's next id follows the largest.
func (e *sqliteEngine) afterCopy(*tx) error { return nil }

func (e *sqliteEngine) close() error {
	return errors.Join(e.readers.Close(), e.writer.Close())
}

// Ping checks that the database can be read and that its path still leads to the opened file: SQLite would keep writing
// to a file that was moved away.
func (e *sqliteEngine) Ping(ctx context.Context) error {
	if err := e.checkFile(); err != nil {
		return err
	}
	var one int
	return e.readers.QueryRowContext(ctx, `SELECT 1 FROM counters LIMIT 1`).Scan(&one)
}

// Lag returns zero: commits go to this database.
func (e *sqliteEngine) Lag() time.Duration { return 0 }

// Clock has nothing to say: SQLite runs on this machine.
func (e *sqliteEngine) Clock(context.Context) (at time.Time, ok bool, err error) {
	return time.Time{}, false, nil
}

// ReleaseMemory gives the writer a cache as small as a reader's, and frees what it holds. A server writes little at a
// time, and would fill the large cache in the course of days. The same goes for the connections that replace this one:
// the driver drops a connection when its caller gives up in the middle of a statement.
func (e *sqliteEngine) ReleaseMemory(ctx context.Context) error {
	e.writerCache.Store(smallCache)
	_, err := e.writer.ExecContext(ctx, cacheSize(smallCache)+`; PRAGMA shrink_memory`)
	return err
}

// lockFile is locked by the publisher. The system releases the lock when the process ends, however it ends.
const lockFile = "publisher.lock"

// lockRetry is the pause between two attempts to take a held lock.
const lockRetry = 20 * time.Millisecond

// LockPublisher locks a file. Such a lock cannot be lost.
func (e *sqliteEngine) LockPublisher(ctx context.Context) (held context.Context, unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(filepath.Dir(e.path), lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open the publisher's lock: %w", err)
	}
	for {
		locked, err := tryLock(file)
		if locked {
			return ctx, func() { _ = file.Close() }, nil // closing releases the lock
		}
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("take the publisher's lock: %w", err), file.Close())
		}
		select {
		case <-ctx.Done():
			return nil, nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(lockRetry):
		}
	}
}

// watch calls changed after every commit of any process. It has its own connection, because SQLite's data_version
// changes with the commits of all other connections.
func (e *sqliteEngine) watch(ctx context.Context, changed func()) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var conn *sql.Conn
	defer func() {
		if conn != nil {
			_ = conn.Close()
		}
	}()
	last := int64(-1)
	for {
		var err error
		if conn == nil {
			conn, err = e.readers.Conn(ctx)
		}
		version := last
		if err == nil {
			err = conn.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&version)
		}
		if err == nil && version != last {
			last = version
			changed()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Backup writes a consistent copy of the database to a new file, while others read and write. It removes the copy when
// it fails.
func (e *sqliteEngine) Backup(ctx context.Context, file string) error {
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("backup to %s: the file exists", file)
	}
	partial := file + ".partial"
	err := e.copyTo(ctx, partial)
	if err == nil {
		err = os.Rename(partial, file)
	}
	if err != nil {
		_ = removeCopy(partial)
		return fmt.Errorf("backup to %s: %w", file, err)
	}
	return nil
}

func (e *sqliteEngine) copyTo(ctx context.Context, file string) error {
	if err := removeCopy(file); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) // VACUUM would let everyone read it
	if err != nil {
		return err
	}
	if err = e.vacuumInto(ctx, file); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// removeCopy removes what an earlier copy has left: its file, and the journal that SQLite keeps on a full disk.
func removeCopy(file string) error {
	for _, left := range []string{file, file + "-journal"} {
		if err := os.Remove(left); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// vacuumInto copies the database. It goes through it in order and needs no large cache, and both sides have one.
func (e *sqliteEngine) vacuumInto(ctx context.Context, file string) error {
	conn, err := e.writer.Conn(ctx)
	if err != nil {
		return err
	}
	if _, err = conn.ExecContext(ctx, cacheSize(smallCache)); err == nil {
		_, err = conn.ExecContext(ctx, `VACUUM INTO $1`, file)
	}
	_, restored := conn.ExecContext(context.WithoutCancel(ctx), cacheSize(e.writerCache.Load()))
	return errors.Join(err, restored, conn.Close())
}
