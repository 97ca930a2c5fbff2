package store_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// A full disk is recognized in the errors of files, of SQLite and of PostgreSQL.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	want := func(err error) {
		t.Helper()
		if err == nil || !store.DiskFull(err) {
			t.Errorf("%v is not recognized", err)
		}
	}
	want(os.WriteFile("/dev/full", []byte("x"), 0o600))

	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "small.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, statement := range []string{`PRAGMA max_page_count = 4`, `CREATE TABLE large (content BLOB)`} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	_, err = db.ExecContext(t.Context(), `INSERT INTO large VALUES (zeroblob(1000000))`)
	want(err)
	_, err = db.ExecContext(t.Context(), `INSERT INTO small VALUES (1)`)
	if store.DiskFull(err) {
		t.Errorf("%v is taken for a full disk", err)
	}

	storetest.EachEngine(t, func(t *testing.T, address func(testing.TB) string) {
		if at := address(t); store.IsPostgres(at) {
			raw := storetest.Raw(t, storetest.OpenIn(t, at))
			defer raw.Close()
			_, err := raw.ExecContext(t.Context(), `DO $$ BEGIN RAISE SQLSTATE '53100'; END $$`)
			want(err)
		}
	})
}

// A disk that cannot be written is recognized in the errors of SQLite, and told from a full one.
func TestDiskReadOnly(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kept.db")
	open := func(mode string) *sql.DB {
		t.Helper()
		db, err := sql.Open("sqlite", "file:"+file+"?mode="+mode)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	if _, err := open("rwc").ExecContext(t.Context(), `CREATE TABLE kept (content BLOB)`); err != nil {
		t.Fatal(err)
	}
	f := func(statement string, want bool) {
		t.Helper()
		_, err := open("ro").ExecContext(t.Context(), statement)
		if err == nil || store.DiskReadOnly(err) != want || store.DiskFull(err) {
			t.Errorf("%s: %v; read-only: %v, full: %v", statement, err, store.DiskReadOnly(err), store.DiskFull(err))
		}
	}
	f(`INSERT INTO kept VALUES (1)`, true)
	f(`INSERT INTO missing VALUES (1)`, false)
}
