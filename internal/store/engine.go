package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// engine is what differs between the databases.
type engine interface {
	// Ping checks that the database can be read.
	Ping(ctx context.Context) error
	// Clock returns the time by the database's own clock; ok is false if that is the clock of this machine.
	Clock(ctx context.Context) (at time.Time, ok bool, err error)
	// Lag returns the time since the database was last known to have everything that was committed. Only a replica lags.
	Lag() time.Duration
	// Server returns what an operator has set up about the database's server; ok is false if it has none.
	Server(ctx context.Context) (s Server, ok bool, err error)
	// ReleaseMemory frees the memory that bulk writes use, and uses little from here on.
	ReleaseMemory(ctx context.Context) error
	// Backup writes a consistent copy of the database to a new file, while others read and write.
	Backup(ctx context.Context, file string) error
	// LockPublisher waits until no other publisher, in any process, holds the lock. The work under the lock uses the
	// returned context, which ends when the lock is lost.
	LockPublisher(ctx context.Context) (held context.Context, unlock func(), err error)

	name() string // the address without its secrets
	hasTable(tx *tx, name string) (bool, error)
	migrations() string
	begin(ctx context.Context, write bool) (openTx, error)
	newBulk(*tx, table) (bulk, error)
	// insertNewIDs inserts entries with distinct hashes in ascending order. A hash that exists already keeps its entry;
	// the result has its segment.
	insertNewIDs(*tx, []idEntry) (known map[int64]segmentNumber, err error)
	// createPartitions is called before segments of these hours are inserted.
	createPartitions(tx *tx, hours []int64) error
	// afterCopy is called after rows, including their ids, have been copied into all tables.
	afterCopy(tx *tx) error
	// watch calls changed after every commit of any process until the context ends. It may call it without a commit.
	watch(ctx context.Context, changed func())
	close() error
}

// openTx is a transaction on its connection. The caller of begin calls end after the commit or the rollback.
type openTx struct {
	*sql.Tx
	conn *sql.Conn
	end  func()
}

// table is a table for bulk inserts.
type table struct {
	name    string
	columns []string
}

var (
	segmentsTable = table{"segments", []string{"segment", "rows", "checksum", "body"}}
	pointsTable   = table{"points", []string{"series_id", "at", "revision", "value_nanos", "version"}}
	recordsTable  = table{"records", []string{"series_id", "at", "revision", "sequence", "body"}}
	realtimeTable = table{"realtime", []string{"at", "gpu_id", "region_id", "value_nanos", "transactions", "hour_micros"}}
)

// bulk inserts many rows at once. It holds on to the added values until they are written, so they must not change.
type bulk interface {
	add(row ...any) error
	flush() error // writes the remaining rows
	close()
}

// idEntry is a row of transaction_ids: the hash of a transaction's source and id, and the segment that holds it.
type idEntry struct {
	hash    int64
	segment segmentNumber
}

// openEngine connects to a database. A missing SQLite database is created only if the caller says so; PostgreSQL
// databases must exist.
func openEngine(ctx context.Context, address string, create bool) (engine, error) {
	if err := CheckAddress(address); err != nil {
		return nil, fmt.Errorf("invalid database address: %w", err)
	}
	if IsPostgres(address) {
		return openPostgres(ctx, address)
	}
	return openSQLite(ctx, strings.TrimPrefix(address, sqliteScheme), create)
}
