// Package storetest opens real databases for tests, and produces what a test cannot wait for: a second process, a state
// that no method of the store creates, a context that ends in the middle of work.
package storetest

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/assaydata/assay/internal/store"
)

// addresses has the address of each open database, for Another and Exec.
var addresses sync.Map // *store.DB → string

// Open opens a new SQLite database and removes it when the test ends.
func Open(t testing.TB) *store.DB {
	t.Helper()
	return OpenIn(t, SQLite(t))
}

// OpenIn opens the database at an address, or the SQLite database in a folder, and closes it when the test ends. It
// creates a missing one.
func OpenIn(t testing.TB, address string) *store.DB {
	t.Helper()
	if !strings.Contains(address, "://") {
		address = sqliteScheme + address
	}
	db, err := store.Open(t.Context(), address)
	if errors.Is(err, store.ErrNoDatabase) {
		db, err = store.Create(t.Context(), address)
	}
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

// OpenUpgraded is OpenIn for the tables of an earlier release.
func OpenUpgraded(t testing.TB, address string) *store.DB {
	t.Helper()
	if !strings.Contains(address, "://") {
		address = sqliteScheme + address
	}
	if err := store.Upgrade(t.Context(), address, "", func(string, int, int) {}); err != nil {
		t.Fatal(err)
	}
	return OpenIn(t, address)
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

// EachEngine runs a test on every engine in parallel, with a function that creates a database and returns its address.
// A short run, such as the one under the race detector, uses PostgreSQL only in tests of that engine: the others test
// what the engines have in common, and creating the databases takes most of their time.
//
// The engines run after the calling test has returned, as parallel subtests do, so the call must come last.
func EachEngine(t *testing.T, f func(t *testing.T, address func(testing.TB) string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, SQLite)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("a short run uses PostgreSQL only in tests of that engine")
		}
		f(t, Postgres)
	})
}

// Address returns the address of a database.
func Address(t testing.TB, db *store.DB) string {
	t.Helper()
	address, ok := addresses.Load(db)
	if !ok {
		t.Fatal("the database was not opened by storetest")
	}
	return address.(string)
}

// Folder returns the folder of an SQLite database.
func Folder(t testing.TB, db *store.DB) string {
	t.Helper()
	return strings.TrimPrefix(Address(t, db), sqliteScheme)
}

// IsPostgres reports whether a database is a PostgreSQL database.
func IsPostgres(t testing.TB, db *store.DB) bool {
	t.Helper()
	return store.IsPostgres(Address(t, db))
}

// Another opens the same database again, as a second process would.
func Another(t testing.TB, db *store.DB) *store.DB {
	t.Helper()
	return OpenIn(t, Address(t, db))
}

// Exec runs a statement without the store, for states that none of its methods creates.
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

// Raw opens the database without the store.
func Raw(t testing.TB, db *store.DB) *sql.DB {
	t.Helper()
	return openRaw(t, Address(t, db))
}

func openRaw(t testing.TB, address string) *sql.DB {
	t.Helper()
	driver := "pgx"
	if !store.IsPostgres(address) {
		folder := strings.TrimPrefix(address, sqliteScheme)
		driver, address = "sqlite", filepath.Join(folder, store.FileName)+"?_pragma=busy_timeout(30000)"
	}
	raw, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// BreakAt returns a context that ends when it is used for the nth time. Every database call checks its context, so n
// selects where the work fails.
func BreakAt(t testing.TB, n int64) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return AtUse(ctx, n, cancel)
}

// BreakStep is how far apart the uses are at which a test should break the work, one after the other. On SQLite that
// is the given step. A PostgreSQL statement uses its context six times or more, and each broken attempt costs a
// connection, so there it is about once in a statement. What the statements do is the same on both.
func BreakStep(t testing.TB, db *store.DB, step int64) int64 {
	t.Helper()
	if IsPostgres(t, db) {
		return max(step, 5)
	}
	return step
}

// AtUse returns a context that calls f when it is used for the nth time.
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
