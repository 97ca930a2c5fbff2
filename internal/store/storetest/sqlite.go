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

// SQLite makes a database of SQLite that goes away with the test, and gives its address. It is a copy of one that is
// made once a process, because most of the time that many tests take would be the making of tables.
func SQLite(t testing.TB) (address string) {
	t.Helper()
	content, err := sqliteTemplate()
	if err != nil {
		t.Fatalf("make the template of the test databases: %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, store.FileName), content, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

var sqliteTemplate = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "assay-template")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := store.Open(context.Background(), dir)
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil { // with it, everything is in the one file
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, store.FileName))
})
