package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// engine is what differs between databases.
type engine interface {
	// Ping tells whether the database can be read.
	Ping(ctx context.Context) error
	// Lag is how long ago the database was last known to have all that was committed. Only a replica is ever behind.
	Lag() time.Duration
	// ReleaseMemory gives back the memory that bulk writing has filled.
	ReleaseMemory(ctx context.Context) error
	// Backup writes a consistent copy of the database to a new file, while others read and write.
	Backup(ctx context.Context, file string) error
	// LockPublisher waits until nobody else publishes, in any process, and gives what ends that. The context it gives is for
	// the work under the lock: it ends when the lock is lost.
	LockPublisher(ctx context.Context) (held context.Context, unlock func(), err error)

	name() string // the address, without what is secret in it
	migrations() string
	begin(ctx context.Context, write bool) (begun, error)
	newBulk(*tx, table) (bulk, error)
	// enterIDs enters ids whose hashes are in order and all different. Where a hash is known, it stays, and the segment it
	// leads to is in the result.
	enterIDs(*tx, []placedID) (known map[int64]segmentNumber, err error)
	// makeRoom is called before segments are inserted that hold these hours.
	makeRoom(tx *tx, hours []int64) error
	// afterCopy is called when rows with ids of their own have been copied into all tables.
	afterCopy(tx *tx) error
	// watch calls changed after every commit, by whichever process, until the context ends. It may call it for nothing.
	watch(ctx context.Context, changed func())
	close() error
}

// begun is a transaction on its connection. Whoever begins one calls end after committing it or rolling it back.
type begun struct {
	*sql.Tx
	conn *sql.Conn
	end  func()
}

// table is one that many rows go into at once.
type table struct {
	name    string
	columns []string
}

var (
	segmentsTable = table{"segments", []string{"segment", "rows", "checksum", "body"}}
	pointsTable   = table{"points", []string{"series_id", "at", "revision", "value_nanos", "version"}}
	recordsTable  = table{"records", []string{"series_id", "at", "revision", "sequence", "body"}}
)

// bulk inserts rows, many at once. What is added is kept until it is written, so it must not be changed.
type bulk interface {
	add(row ...any) error
	flush() error // writes what is left
	close()
}

// placedID says which segment a hash leads to.
type placedID struct {
	hash    int64
	segment segmentNumber
}

const sqliteScheme = "sqlite://"

func openEngine(ctx context.Context, address string) (engine, error) {
	if IsPostgres(address) {
		return openPostgres(ctx, address)
	}
	folder := strings.TrimPrefix(address, sqliteScheme)
	if scheme, _, ok := strings.Cut(folder, "://"); ok && !strings.ContainsAny(scheme, `/\`) {
		return nil, fmt.Errorf("a database of kind %q is not known: allowed are sqlite://FOLDER and postgres://USER@HOST/DATABASE", scheme)
	}
	if folder == "" {
		return nil, fmt.Errorf("the address %s names no folder: it is sqlite://FOLDER", sqliteScheme)
	}
	return openSQLite(ctx, folder)
}

// IsPostgres tells that an address is one of PostgreSQL.
func IsPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}
