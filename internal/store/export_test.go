package store

import (
	"context"
	"database/sql"
	"errors"
	"path"
	"slices"
	"testing"

	"github.com/assaydata/assay"
)

// SetIDHash replaces the hash function of ids. Call it before the first write.
func SetIDHash(db *DB, hash func(source, id string) int64) { db.idHash = hash }

// UpgradeWith upgrades a database with another hash function, and limits how many ids a migration inserts at once.
func UpgradeWith(t *testing.T, address string, hash func(source, id string) int64, ids int) {
	t.Helper()
	db, err := connect(t.Context(), address, false)
	if err != nil {
		t.Fatal(err)
	}
	db.idHash, db.movedIDs = hash, ids
	if err := db.upgrade(t.Context(), "", func(string, int, int) {}); err != nil {
		t.Fatal(err)
	}
}

// MaxProbe is the largest distance between an id's number and its hash.
const MaxProbe = maxProbe

// The encoding of records, which only tests need outside the package.
var (
	AppendBody = appendBody
	ReadBody   = readBody
)

// SegmentBody returns the body of the only segment.
func SegmentBody(t *testing.T, db *DB) (body []byte) {
	t.Helper()
	err := db.read(t.Context(), func(tx *tx) error {
		return tx.eachSegment("", nil, func(s *segment) error { body = s.body; return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// MigrationNames lists the migrations of a folder in their order.
func MigrationNames(t *testing.T, folder string) (names []string) {
	t.Helper()
	for _, file := range migrationFiles(folder) {
		names = append(names, file.name)
	}
	return names
}

// CopiedTables lists the tables of a copy.
func CopiedTables() []string { return slices.Concat(seeded, copied) }

// NewestMigration returns the name of PostgreSQL's newest migration, which begins with its number.
func NewestMigration(t *testing.T) string {
	t.Helper()
	names := MigrationNames(t, "migrations/postgres")
	return path.Base(names[len(names)-1])
}

// SessionSettings returns a PostgreSQL setting in sessions that write and in sessions that read.
func SessionSettings(t *testing.T, db *DB, name string) (writing, reading string) {
	t.Helper()
	query := func(into *string) func(*tx) error {
		return func(tx *tx) error { return tx.QueryRowContext(tx.ctx, `SELECT current_setting($1)`, name).Scan(into) }
	}
	if err := errors.Join(db.write(t.Context(), query(&writing)), db.read(t.Context(), query(&reading))); err != nil {
		t.Fatal(err)
	}
	return writing, reading
}

// HoldWriteLock begins a write transaction, closes held, and ends it when release is closed.
func HoldWriteLock(ctx context.Context, db *DB, held, release chan struct{}) error {
	return db.write(ctx, func(*tx) error {
		close(held)
		<-release
		return nil
	})
}

// UsageQuery is the query of Usage for ten days of a hundred.
func UsageQuery(of UsageOf) (query string, args []any) { return usageQuery(of, 0, 9*assay.Day) }

// The caches of SQLite's connections in KB.
const (
	SmallCache = smallCache
	BulkCache  = bulkCache
)

// SQLiteWriter returns the pool with the connection for writing.
func (db *DB) SQLiteWriter() *sql.DB { return db.engine.(*sqliteEngine).writer }

// PackedPart is how many points a row of packed points has at most.
const PackedPart = packedPart
