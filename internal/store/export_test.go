package store

import (
	"errors"
	"path"
	"slices"
	"testing"
)

// SetIDHash replaces the hash that finds ids. It is to be called before anything is written.
func SetIDHash(db *DB, hash func(source, id string) int64) { db.idHash = hash }

// OpenToMigrate opens a database with another hash for ids, and with so few ids that a migration inserts at once.
func OpenToMigrate(t *testing.T, address string, hash func(source, id string) int64, ids int) *DB {
	t.Helper()
	e, err := openEngine(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	db := newDB(e)
	db.idHash, db.movedIDs = hash, ids
	if _, err := db.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// MaxProbe is how far behind its hash an id may stand.
const MaxProbe = maxProbe

// The body of a record, which nobody outside needs to see.
var (
	AppendBody = appendBody
	ReadBody   = readBody
)

// SegmentBody is the body of the only segment.
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
	files, err := migrationFiles(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		names = append(names, file.name)
	}
	return names
}

// CopiedTables are the tables that a copy takes.
func CopiedTables() []string { return slices.Concat(seeded, copied) }

// NewestMigration is the name of the newest migration of PostgreSQL, which begins with its number.
func NewestMigration(t *testing.T) string {
	t.Helper()
	names := MigrationNames(t, "migrations/postgres")
	return path.Base(names[len(names)-1])
}

// SessionSettings gives a setting of PostgreSQL's as sessions that write and that read have it.
func SessionSettings(t *testing.T, db *DB, name string) (writing, reading string) {
	t.Helper()
	ask := func(into *string) func(*tx) error {
		return func(tx *tx) error { return tx.QueryRowContext(tx.ctx, `SELECT current_setting($1)`, name).Scan(into) }
	}
	if err := errors.Join(db.write(t.Context(), ask(&writing)), db.read(t.Context(), ask(&reading))); err != nil {
		t.Fatal(err)
	}
	return writing, reading
}
