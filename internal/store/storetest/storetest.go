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

// addresses remembers where each open database lives, for Another and Exec.
var addresses sync.Map // *store.DB → string

// Open opens a new database of SQLite that goes away with the test.
func Open(t testing.TB) *store.DB {
	t.Helper()
	return OpenIn(t, SQLite(t))
}

// OpenIn opens the database at an address and closes it with the test.
func OpenIn(t testing.TB, address string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	addresses.Store(db, address)
	t.Cleanup(func() {
		addresses.Delete(db)
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return db
}

// Each runs a test on every engine.
func Each(t *testing.T, f func(t *testing.T, db *store.DB)) {
	t.Helper()
	EachAddress(t, func(t *testing.T, address string) { f(t, OpenIn(t, address)) })
}

// EachAddress runs a test with the address of a new database of every engine.
func EachAddress(t *testing.T, f func(t *testing.T, address string)) {
	t.Helper()
	EachEngine(t, func(t *testing.T, address func(testing.TB) string) { f(t, address(t)) })
}

// EachEngine runs a test on every engine in parallel, with a function that makes a new database and returns its
// address. The short run, which is the one under the race detector, leaves PostgreSQL to the tests that are about it:
// the others test what the engines have in common, and creating the databases takes most of their time.
//
// The engines run after the calling test has returned, as parallel subtests do: nothing may follow the call.
func EachEngine(t *testing.T, f func(t *testing.T, address func(testing.TB) string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, SQLite)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("in the short run PostgreSQL is left to the tests that are about it")
		}
		f(t, Postgres)
	})
}

// Address is where a database lives.
func Address(t testing.TB, db *store.DB) string {
	t.Helper()
	address, ok := addresses.Load(db)
	if !ok {
		t.Fatal("the database was not opened by storetest")
	}
	return address.(string)
}

// IsPostgres tells that a database is one of PostgreSQL.
func IsPostgres(t testing.TB, db *store.DB) bool {
	t.Helper()
	return store.IsPostgres(Address(t, db))
}

// Another opens the same database once more, as a second process would.
func Another(t testing.TB, db *store.DB) *store.DB {
	t.Helper()
	return OpenIn(t, Address(t, db))
}

// Exec runs a statement past the store, for states that none of its methods makes.
func Exec(t testing.TB, db *store.DB, query string, args ...any) {
	t.Helper()
	ExecAt(t, Address(t, db), query, args...)
}

// ExecAt is Exec for a database that is not open.
func ExecAt(t testing.TB, address, query string, args ...any) {
	t.Helper()
	raw := openRaw(t, address)
	defer raw.Close()
	if _, err := raw.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// Raw opens the database past the store.
func Raw(t testing.TB, db *store.DB) *sql.DB {
	t.Helper()
	return openRaw(t, Address(t, db))
}

func openRaw(t testing.TB, address string) *sql.DB {
	t.Helper()
	driver := "pgx"
	if !store.IsPostgres(address) {
		driver, address = "sqlite", filepath.Join(address, store.FileName)+"?_pragma=busy_timeout(30000)"
	}
	raw, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	return raw
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
