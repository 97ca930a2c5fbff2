package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/assaydata/assay/internal/store"
)

const sqliteScheme = "sqlite://"

// SQLite creates an SQLite database, removes it when the test ends, and returns its address. It copies a database that
// each process creates once, because creating tables would take most of the time of many tests.
func SQLite(t testing.TB) (address string) {
	t.Helper()
	content, err := sqliteTemplate()
	if err != nil {
		t.Fatalf("create the template of the test databases: %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, store.FileName), content, 0o600); err != nil {
		t.Fatal(err)
	}
	return sqliteScheme + dir
}

var sqliteTemplate = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "assay-template")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := store.Create(context.Background(), sqliteScheme+dir)
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil { // which moves everything into one file
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, store.FileName))
})
