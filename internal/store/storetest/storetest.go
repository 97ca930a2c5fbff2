// Package storetest opens real databases for tests, and brings about what a test cannot wait for: a second process, a
// state that no method makes, an end in the middle of work.
package storetest

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/assaydata/assay/internal/store"
)

// folders remembers where each open database lives, for Another and Exec.
var folders sync.Map // *store.DB → string

// Open opens a new database that goes away with the test.
func Open(t testing.TB) *store.DB {
	t.Helper()
	return OpenIn(t, t.TempDir())
}

// OpenIn opens the database in a folder and closes it with the test.
func OpenIn(t testing.TB, dir string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	folders.Store(db, dir)
	t.Cleanup(func() {
		folders.Delete(db)
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return db
}

// Each runs a test on every engine; today that is SQLite.
func Each(t *testing.T, f func(t *testing.T, db *store.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, Open(t)) })
}

// Another opens the same database once more, as a second process would.
func Another(t testing.TB, db *store.DB) *store.DB {
	t.Helper()
	return OpenIn(t, folder(t, db))
}

// Exec runs a statement past the store, for states that none of its methods makes.
func Exec(t testing.TB, db *store.DB, query string, args ...any) {
	t.Helper()
	raw, err := sql.Open("sqlite", filepath.Join(folder(t, db), store.FileName)+"?_pragma=busy_timeout(30000)")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func folder(t testing.TB, db *store.DB) string {
	t.Helper()
	dir, ok := folders.Load(db)
	if !ok {
		t.Fatal("the database was not opened by storetest")
	}
	return dir.(string)
}

// BreakAt is a context that ends when it is used for the nth time. Work that takes it breaks off at a place that n
// chooses, because every call of the database asks for the end of its context.
func BreakAt(t testing.TB, n int64) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return AtUse(ctx, n, cancel)
}

// AtUse is a context that calls f when it is used for the nth time.
func AtUse(ctx context.Context, n int64, f func()) context.Context {
	c := &counted{Context: ctx, f: f}
	c.left.Store(n)
	return c
}

type counted struct {
	context.Context
	f    func()
	left atomic.Int64
}

func (c *counted) Done() <-chan struct{} {
	if c.left.Add(-1) == 0 {
		c.f()
	}
	return c.Context.Done()
}
