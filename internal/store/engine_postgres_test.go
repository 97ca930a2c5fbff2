package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// openPostgres opens a new PostgreSQL database.
func openPostgres(t *testing.T) *store.DB {
	t.Helper()
	return storetest.OpenIn(t, storetest.Postgres(t))
}

// waitTimeout ends a test that hangs. No result depends on how long something takes.
const waitTimeout = time.Minute

// Both engines have the same newest migration, so that no change is missing in one of them.
func TestMigrations_SameNumber(t *testing.T) {
	t.Parallel()
	f := func(folder string) string {
		t.Helper()
		names := store.MigrationNames(t, folder)
		return path.Base(names[len(names)-1])[:3]
	}
	if sqlite, postgres := f("migrations/sqlite"), f("migrations/postgres"); sqlite != postgres {
		t.Errorf("the newest migration of SQLite is %s, that of PostgreSQL %s", sqlite, postgres)
	}
}

func TestOpen_Addresses(t *testing.T) {
	t.Parallel()
	f := func(address, want string, never ...string) {
		t.Helper()
		_, err := store.Open(t.Context(), address)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("opening %s returns the error %v, want one with %q", address, err, want)
			return
		}
		for _, text := range never {
			if strings.Contains(err.Error(), text) {
				t.Errorf("the error contains a secret: %v", err)
			}
		}
	}
	const unknown = "must begin with sqlite:// or postgres://"
	f("mysql://ann:hunter2@host/db", unknown, "hunter2")
	f("host=db password=hunter2", unknown, "hunter2")
	f("data", unknown)
	f("", unknown)
	f("sqlite://", "the folder is missing")
	f("postgres://ann:hunter2@127.0.0.1:1/db", "open postgres://127.0.0.1:1/db", "hunter2")
	f("postgres://127.0.0.1:1/db?user=ann&password=hunter2", "open postgres://127.0.0.1:1/db", "hunter2")
	f("postgres://ann:hun%74er2@127.0.0.1:1/db", "open postgres://127.0.0.1:1/db", "hunter2", "hun%74er2")
	f("postgres://ann:hunter2@127.0.0.1/db?sslmode=maybe", "cannot parse `postgres://…`: failed to configure TLS", "hunter2")
	f("postgres://127.0.0.1/db?password=hunter2&sslmode=maybe", "cannot parse `postgres://…`", "hunter2")
	f("postgres://ann:hunter2%zz@127.0.0.1/db", "cannot parse `postgres://…`", "hunter2")

	dir := t.TempDir()
	mustAppend(t, storetest.OpenIn(t, dir), rental("a"))
	db, err := store.Open(t.Context(), "sqlite://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	wantCount(t, db, 1)
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func TestPostgres_CreateTogether(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	storetest.ExecAt(t, address, `DROP SCHEMA public CASCADE; CREATE SCHEMA public`)
	createTogether(t, address)
}

// Names sort byte by byte, whatever the locale of the server.
func TestPostgres_ByteOrder(t *testing.T) {
	t.Parallel()
	db := openPostgres(t)
	names := []string{"a", "B", "_", "é", "Z", "aa", "A b", "A-b", "ß"}
	for _, name := range names {
		storetest.Exec(t, db, `INSERT INTO providers (provider) VALUES ($1)`, name)
	}
	raw := storetest.Raw(t, db)
	defer raw.Close()
	rows, err := raw.QueryContext(t.Context(), `SELECT provider FROM providers ORDER BY provider`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		got = append(got, name)
	}
	slices.Sort(names)
	if rows.Err() != nil || !slices.Equal(got, names) {
		t.Errorf("the order is %q (%v), want %q", got, rows.Err(), names)
	}
	var other int
	err = raw.QueryRowContext(t.Context(), `SELECT count(*) FROM information_schema.columns
		WHERE table_schema = 'public' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'`).Scan(&other)
	if err != nil || other != 0 {
		t.Errorf("%d text columns have another collation (%v)", other, err)
	}
}

// Each month has a partition, and a read covers all of them.
func TestPostgres_Months(t *testing.T) {
	t.Parallel()
	db := openPostgres(t)
	at := func(text string) int64 {
		t.Helper()
		instant, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return instant.UnixMilli()
	}
	var batch []assay.Transaction
	for i, instant := range []string{
		"1999-12-31T23:59:59Z", "2000-01-01T00:00:00Z", "2024-01-31T23:59:59Z", "2024-02-01T00:00:00Z",
		"2024-02-29T12:00:00Z", "2099-12-31T23:59:59Z", "2100-01-01T00:00:00Z",
	} {
		x := rental(fmt.Sprint(i))
		x.ExecutedAt = at(instant)
		batch = append(batch, x)
	}
	mustAppend(t, db, batch[:3]...)
	mustAppend(t, db, batch[2:]...)
	wantStored(t, db, batch...)
	raw := storetest.Raw(t, db)
	defer raw.Close()
	var tables string
	query := `SELECT string_agg(DISTINCT tableoid::regclass::text, ' ' ORDER BY tableoid::regclass::text) FROM segments`
	err := raw.QueryRowContext(t.Context(), query).Scan(&tables)
	want := "segments_2000_01 segments_2024_01 segments_2024_02 segments_2099_12 segments_after segments_before"
	if err != nil || tables != want {
		t.Errorf("the segments are in %s (%v), want %s", tables, err, want)
	}
}

// Creating a partition and reading do not wait for each other.
func TestPostgres_NewMonthWhileReading(t *testing.T) {
	t.Parallel()
	db := openPostgres(t)
	raw := storetest.Raw(t, db)
	defer raw.Close()
	reading, err := raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reading.Rollback() }()
	var n int
	if err := reading.QueryRowContext(t.Context(), `SELECT count(*) FROM segments`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	x := rental("a")
	x.ExecutedAt = time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	if _, err := db.AppendTransactions(ctx, []assay.Transaction{x}); err != nil {
		t.Fatal(err)
	}
}

// A writer that cannot get the lock returns the server's error.
func TestPostgres_WriterLockTimeout(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	db := storetest.OpenIn(t, address+"&lock_timeout=10ms")
	holder := storetest.Raw(t, db)
	defer holder.Close()
	conn, err := holder.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const writerLock = 0x61737361790001
	if _, err := conn.ExecContext(t.Context(), `SELECT pg_advisory_lock($1)`, int64(writerLock)); err != nil {
		t.Fatal(err)
	}
	if err := db.SetSetting(t.Context(), "a", "b"); err == nil || !strings.Contains(err.Error(), "lock timeout") {
		t.Errorf("got %v, want the server's lock timeout", err)
	}
}

// A commit of another process is noticed.
func TestPostgres_Changed(t *testing.T) {
	t.Parallel()
	db := openPostgres(t)
	another := storetest.Another(t, db)
	for i := range 5 { // the first notifications may come from opening
		commitAndAwait(t, db, another, i)
	}
}

// After its connections are cut, a process reads and writes as before, and announces a possible change.
func TestPostgres_ConnectionsCut(t *testing.T) {
	t.Parallel()
	db := openPostgres(t)
	mustAppend(t, db, rental("a"))
	for round := range 3 {
		changed := db.Changed()
		storetest.CutConnections(t, storetest.Address(t, db))
		storetest.Await(t, changed)
		wantCount(t, db, 1+round)
		mustAppend(t, db, rental(fmt.Sprint(round)))
		if err := db.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}
	// Once it listens again, it notices commits of other processes as before.
	changed := db.Changed()
	if err := storetest.Another(t, db).SetSetting(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	storetest.Await(t, changed)
}

func TestPostgres_PublisherLock(t *testing.T) {
	t.Parallel()
	db := openPostgres(t)
	another := storetest.Another(t, db)
	unlock := lock(t, db)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := another.LockPublisher(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for a held lock returns the error %v, want %v", err, context.DeadlineExceeded)
	}
	unlock()
	lock(t, another)()
}

// With its connection a publisher loses the lock, and its context ends. The next publisher gets the lock.
func TestPostgres_PublisherLockLost(t *testing.T) {
	t.Parallel()
	db := openPostgres(t)
	held, unlock, err := db.LockPublisher(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	storetest.CutConnections(t, storetest.Address(t, db))
	select {
	case <-held.Done():
	case <-time.After(waitTimeout):
		t.Fatal("the context of the lock did not end")
	}
	if cause := context.Cause(held); cause == nil || !strings.Contains(cause.Error(), "the publisher's lock was lost") {
		t.Errorf("the cause is %v", cause)
	}
	lock(t, db)()
}

func TestPostgres_BackupRefused(t *testing.T) {
	t.Parallel()
	db := openPostgres(t)
	if err := db.Backup(t.Context(), "file"); err == nil || !strings.Contains(err.Error(), "pg_dump") {
		t.Errorf("a backup returns the error %v, want a hint to pg_dump", err)
	}
	if err := db.ReleaseMemory(t.Context()); err != nil {
		t.Error(err)
	}
}

// A batch may be larger than what is sent at once, and contain known rows.
func TestPostgres_LargeBatch(t *testing.T) {
	t.Parallel()
	db := openPostgres(t)
	all := rentals(20_000)
	wantAppended(t, mustAppend(t, db, all[:9000]...), store.Appended{Inserted: 9000})
	other := slices.Clone(all)
	other[8999].Price++
	want := store.Appended{Inserted: 11_000, Duplicates: 8999, Conflicts: []int{8999}}
	wantAppended(t, mustAppend(t, db, other...), want)
	if got := window(t, db, math.MinInt64, math.MaxInt64); len(got) != 20_000 {
		t.Errorf("%d rows are stored, want 20000", len(got))
	}
}
