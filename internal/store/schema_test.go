package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// Opening creates nothing: a folder whose name was mistyped stays as it is.
func TestOpen_NoDatabase(t *testing.T) {
	t.Parallel()
	f := func(dir string, files ...string) {
		t.Helper()
		address := "sqlite://" + dir
		opening := map[string]func() error{
			"Open":    func() error { _, err := store.Open(t.Context(), address); return err },
			"Upgrade": func() error { return store.Upgrade(t.Context(), address, "", nil) },
		}
		for name, open := range opening {
			if err := open(); !errors.Is(err, store.ErrNoDatabase) {
				t.Errorf("%s in %s: %v", name, dir, err)
			}
		}
		var got []string
		entries, _ := os.ReadDir(dir) // it may be missing
		for _, entry := range entries {
			got = append(got, entry.Name())
		}
		if !slices.Equal(got, files) {
			t.Errorf("%s contains %q afterwards, want %q", dir, got, files)
		}
	}
	dir := t.TempDir()
	f(filepath.Join(dir, "missing"))
	f(dir)
	empty := t.TempDir()
	if err := os.WriteFile(filepath.Join(empty, store.FileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f(empty, store.FileName)
}

func TestPostgres_OpenWithoutTables(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	storetest.ExecAt(t, address, `DROP SCHEMA public CASCADE; CREATE SCHEMA public`)
	if _, err := store.Open(t.Context(), address); !errors.Is(err, store.ErrNoDatabase) {
		t.Errorf("the error is %v", err)
	}
	if schema, err := store.ReadSchema(t.Context(), address); err != nil || schema.Database != 0 || schema.Usable {
		t.Errorf("the schema is %+v (%v)", schema, err)
	}
}

func TestCreate_Exists(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"))
		if _, err := store.Create(t.Context(), storetest.Address(t, db)); !errors.Is(err, store.ErrExists) {
			t.Errorf("the error is %v", err)
		}
		wantCount(t, storetest.Another(t, db), 1)
	})
}

// A writer that takes long, such as a large import, keeps no one from opening the database and reading.
func TestOpen_WhileAnotherWrites(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"))
		held, release := make(chan struct{}), make(chan struct{})
		written := make(chan error, 1)
		go func() { written <- store.HoldWriteLock(t.Context(), db, held, release) }()
		<-held
		other := storetest.Another(t, db)
		wantCount(t, other, 1)
		if schema, err := store.ReadSchema(t.Context(), storetest.Address(t, db)); err != nil || !schema.Usable {
			t.Errorf("the schema is %+v (%v)", schema, err)
		}
		close(release)
		if err := <-written; err != nil {
			t.Error(err)
		}
	})
}

// Only an upgrade changes the tables of an earlier release.
func TestUpgrade_EarlierRelease(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeOld(t, dir, oldMarket...)
	address := "sqlite://" + dir
	_, err := store.Open(t.Context(), address)
	schema, ok := errors.AsType[*store.SchemaError](err)
	if !ok || !schema.Older() || schema.Database != 1 || schema.Program != store.ProgramSchema() {
		t.Fatalf("opening it: %v", err)
	}
	wantOld(t, dir)
	read, err := store.ReadSchema(t.Context(), address)
	if err != nil || read.Database != 1 || read.Usable || len(read.Pending) != store.ProgramSchema()-1 {
		t.Errorf("its schema is %+v (%v)", read, err)
	}
	backup := filepath.Join(t.TempDir(), "before.db")
	var steps []string
	err = store.Upgrade(t.Context(), address, backup, func(migration string, number, of int) {
		if steps = append(steps, migration); number != len(steps) || of != len(read.Pending) {
			t.Errorf("%s is number %d of %d", migration, number, of)
		}
	})
	if err != nil || !slices.Equal(steps, read.Pending) {
		t.Errorf("%q were run (%v), want %q", steps, err, read.Pending)
	}
	storetest.OpenIn(t, dir)
	saved := t.TempDir()
	if err := os.Rename(backup, filepath.Join(saved, store.FileName)); err != nil {
		t.Fatal(err)
	}
	wantOld(t, saved)
	again := func(migration string, _, _ int) { t.Errorf("%s is run again", migration) }
	if err := store.Upgrade(t.Context(), address, "", again); err != nil {
		t.Error(err)
	}
}

// An upgrade whose backup fails does not begin.
func TestUpgrade_BackupFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeOld(t, dir, oldMarket...)
	existing := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(existing, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := store.Upgrade(t.Context(), "sqlite://"+dir, existing, func(string, int, int) { t.Error("it begins") })
	if err == nil || !strings.Contains(err.Error(), "the file exists") {
		t.Errorf("the error is %v", err)
	}
	wantOld(t, dir)
}

// The tables of a later release can be used if that release says so: nodes are upgraded one after another.
func TestOpen_LaterRelease(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		address, program := storetest.Address(t, db), store.ProgramSchema()
		f := func(usableBy int, want bool) {
			t.Helper()
			storetest.Exec(t, db, `DELETE FROM migrations WHERE number > $1`, program)
			storetest.Exec(t, db, `INSERT INTO migrations (number, applied_at, usable_by) VALUES ($1, 0, $2), ($3, 0, 1)`,
				program+1, usableBy, program+2)
			read, err := store.ReadSchema(t.Context(), address)
			if err != nil || read.Usable != want || read.Database != program+2 {
				t.Errorf("usable by %d: the schema is %+v (%v)", usableBy, read, err)
			}
			other, err := store.Open(t.Context(), address)
			if err == nil {
				err = other.Close()
			}
			if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "use a newer assay") {
				t.Errorf("usable by %d: %v", usableBy, err)
			}
			if err := store.Upgrade(t.Context(), address, "", nil); (err == nil) != want {
				t.Errorf("usable by %d: an upgrade returns %v", usableBy, err)
			}
		}
		f(program, true)
		f(program-1, true)
		f(program+1, false)
	})
}

// Every new migration says which programs can use its tables.
func TestMigrations_SayWhoCanUseThem(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		raw := storetest.Raw(t, db)
		defer raw.Close()
		var silent int
		query := `SELECT count(*) FROM migrations WHERE number >= 12 AND (usable_by < 6 OR usable_by > number)`
		if err := raw.QueryRowContext(context.Background(), query).Scan(&silent); err != nil || silent > 0 {
			t.Errorf("%d migrations are not in usableBy, or wrongly (%v)", silent, err)
		}
	})
}

// A node of release 0.5.0 keeps running while the tables are upgraded. Sessions that it starts are complete for others.
func TestSessions_OfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := mustAccount(t, db, "ann@example.com")
		now := time.Now().UnixMilli()
		for i := range byte(2) {
			storetest.Exec(t, db, `INSERT INTO sessions (hash, account_id, created_at, expires_at) VALUES ($1, $2, $3, $4)`,
				append(make([]byte, 31), i), a.ID, now, now+1_000_000)
		}
		list, _, err := db.Sessions(t.Context())
		if err != nil || len(list) != 2 || list[0].ID == list[1].ID {
			t.Fatalf("the sessions are %+v (%v)", list, err)
		}
		for _, s := range list {
			if len(s.ID) != 12 || s.LastUsedAt != now {
				t.Errorf("a session is %+v", s)
			}
		}
	})
}
