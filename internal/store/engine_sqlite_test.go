package store_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// A folder's name becomes part of an address, where some characters have a special meaning.
func TestOpen_OddFolderNames(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	f := func(name string) {
		t.Helper()
		dir := filepath.Join(parent, name)
		mustAppend(t, storetest.OpenIn(t, dir), rental("a"))
		if _, err := os.Stat(filepath.Join(dir, store.FileName)); err != nil {
			t.Error(err)
		}
		wantCount(t, storetest.OpenIn(t, dir), 1)
	}
	f("with space")
	f("a#b")
	f("a?b")
	f("100%")
	f("%41")
	f("a&b=c")
	f("a:b")
	f("été 東京")
}

// Another process is creating the file: it holds the write lock, and the file is not in WAL mode yet. SQLite then fails
// at once, whatever the busy timeout. The lock is released after more uses of the context than one attempt makes.
func TestCreate_FileBeingCreated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other, err := sql.Open("sqlite", filepath.Join(dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	exec := func(statement string) {
		t.Helper()
		if _, err := other.ExecContext(t.Context(), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	exec(`CREATE TABLE other (x)`)
	exec(`BEGIN IMMEDIATE`)
	db, err := store.Create(storetest.AtUse(t.Context(), 50, func() { exec(`COMMIT`) }), "sqlite://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpen_FolderIsAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), "sqlite://"+file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("opening a file as a folder returns the error %v, want one with its name", err)
	}
}

func TestOpen_NotADatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	content := []byte(strings.Repeat("not a database\n", 100))
	if err := os.WriteFile(filepath.Join(dir, store.FileName), content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), "sqlite://"+dir); err == nil || !strings.Contains(err.Error(), store.FileName) {
		t.Errorf("opening a file that is no database returns the error %v, want one with its name", err)
	}
}

func TestPing_FileMovedAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := storetest.OpenIn(t, dir)
	f := func(want string) {
		t.Helper()
		err := db.Ping(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("ping returns the error %v, want %q", err, want)
		}
	}
	file, away := filepath.Join(dir, store.FileName), filepath.Join(dir, "away.db")
	f("")
	if err := os.Rename(file, away); err != nil {
		t.Fatal(err)
	}
	f("no such file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f("is not the file that was opened")
	if err := os.Rename(away, file); err != nil {
		t.Fatal(err)
	}
	f("")
}

// After its file is moved away, the store neither creates another one nor touches the log beside it, and continues when
// the file is back.
func TestSQLite_FileMovedAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := storetest.OpenIn(t, dir)
	mustAppend(t, db, rentals(10)...)
	file, away := filepath.Join(dir, store.FileName), filepath.Join(dir, "away.db")
	if err := os.Rename(file, away); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 20 { // more than there are connections, so that the pool tries to open some
		wg.Go(func() { _, _ = db.Directory(t.Context()) })
	}
	wg.Wait()
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a new file in place of the one that was moved away (%v)", err)
	}
	if err := os.Rename(away, file); err != nil {
		t.Fatal(err)
	}
	wantCount(t, storetest.OpenIn(t, dir), 10)
}

// Only the owner can read the database, the files beside it and a backup, whatever the folder and the umask allow.
func TestSQLite_FilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the folder of a careless operator
		t.Fatal(err)
	}
	db := storetest.OpenIn(t, dir)
	mustAppend(t, db, rentals(10)...)
	if err := db.Backup(t.Context(), filepath.Join(dir, "copy.db")); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 4 {
		t.Fatalf("the folder has %v (%v), want the database with its two files, and the copy", entries, err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v, want 0600", entry.Name(), info.Mode())
		}
	}
}

func TestPing_ContextEnded(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Ping(ctx); err == nil {
		t.Error("ping with an ended context succeeds")
	}
}

// backupBatch is how many rows the test's writer commits at once: a consistent copy has a multiple of it.
const backupBatch = 70

func TestBackup_WhileWriting(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	all := rentals(100 * backupBatch)
	mustAppend(t, db, all[:10*backupBatch]...)
	writer := storetest.Another(t, db)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for start := 10 * backupBatch; start < len(all) && ctx.Err() == nil; start += backupBatch {
			if _, err := writer.AppendTransactions(t.Context(), all[start:start+backupBatch]); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range 3 {
		folder := t.TempDir()
		if err := db.Backup(t.Context(), filepath.Join(folder, store.FileName)); err != nil {
			t.Fatal(err)
		}
		checkBackup(t, folder, i)
	}
	stop()
	wg.Wait()
}

func checkBackup(t *testing.T, folder string, i int) {
	t.Helper()
	file := filepath.Join(folder, store.FileName)
	if names := fileNames(t, folder); len(names) != 1 {
		t.Errorf("backup %d left the files %q, want one", i, names)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("backup %d: %v (%v), want a file that only its owner can read", i, info, err)
	}
	raw, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	var verdict string
	if err := raw.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("backup %d: the integrity check says %q (%v)", i, verdict, err)
	}
	count, err := storetest.OpenIn(t, folder).CountTransactions(t.Context())
	if err != nil || count < 10*backupBatch || count%backupBatch != 0 {
		t.Errorf("backup %d has %d rows (%v), want whole commits of %d", i, count, err, backupBatch)
	}
}

func fileNames(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestBackup_RefusesAnExistingFile(t *testing.T) {
	t.Parallel()
	db, folder := storetest.Open(t), t.TempDir()
	file := filepath.Join(folder, "backup.db")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := db.Backup(t.Context(), file); err == nil || !strings.Contains(err.Error(), "the file exists") {
		t.Errorf("a backup to an existing file returns the error %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "precious" {
		t.Errorf("the file now holds %q (%v)", text, err)
	}
	if names := fileNames(t, folder); len(names) != 1 {
		t.Errorf("the folder now holds %q", names)
	}
}

func TestBackup_CanceledLeavesNothing(t *testing.T) {
	t.Parallel()
	db, folder := storetest.Open(t), t.TempDir()
	mustAppend(t, db, rentals(5000)...)
	done := false
	for n := int64(1); !done; n++ {
		file := filepath.Join(folder, fmt.Sprint(n))
		done = db.Backup(storetest.BreakAt(t, n), file) == nil
		want := 0
		if done {
			want = 1
		}
		if names := fileNames(t, folder); len(names) != want {
			t.Fatalf("after cancellation at use %d the folder holds %q, want %d files", n, names, want)
		}
	}
	// What a killed process has left does not matter, nor the journal that SQLite keeps on a full disk.
	file := filepath.Join(folder, "next.db")
	for _, left := range []string{".partial", ".partial-journal"} {
		if err := os.WriteFile(file+left, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Backup(t.Context(), file); err != nil {
		t.Error(err)
	}
	if names := fileNames(t, folder); len(names) != 2 {
		t.Errorf("the folder holds %q, want two backups", names)
	}
}

// A client that hangs up costs a connection. The next one must not take the memory of bulk writes again.
func TestReleaseMemory_NextConnection(t *testing.T) {
	t.Parallel()
	db := storetest.OpenIn(t, t.TempDir())
	writer := db.SQLiteWriter()
	cache := func() (kb int64) {
		t.Helper()
		if err := writer.QueryRow(`PRAGMA cache_size`).Scan(&kb); err != nil {
			t.Fatal(err)
		}
		return -kb
	}
	if got := cache(); got != store.BulkCache {
		t.Errorf("before, the cache has %d KB, want %d", got, store.BulkCache)
	}
	if err := db.ReleaseMemory(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := writer.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Raw(func(any) error { return driver.ErrBadConn }); !errors.Is(err, driver.ErrBadConn) {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		t.Fatal(err)
	}
	if got := cache(); got != store.SmallCache {
		t.Errorf("after the connection was lost, the cache has %d KB, want %d", got, store.SmallCache)
	}
}
