package verify

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assaydata/assay/internal/store"
)

// TestVerify_AnyByteOfTheFile damages the database's file itself, in the pages of transactions, records and
// manifests: then SQLite complains, or Verify does. What passes must be a byte that nothing is made of: every row
// reads as before.
func TestVerify_AnyByteOfTheFile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine and a lot of work: make unit runs it, without the race detector")
	}
	file, err := marketFile()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := filepath.Join(dir, store.FileName)
	write(t, name, file)
	want, err := dump(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(7, 2026))
	noticed, unused := 0, 0
	for _, table := range []string{"segments", "transaction_ids", "records", "manifests"} {
		write(t, name, file)
		pages, size := pagesOf(t, name, table)
		for range 100 {
			at := pages[random.IntN(len(pages))] + random.Int64N(size)
			damaged := bytes.Clone(file)
			damaged[at] ^= 1 << random.IntN(8)
			for _, rest := range []string{"-wal", "-shm"} { // of a database that could not be closed well
				_ = os.Remove(name + rest)
			}
			write(t, name, damaged)
			if err := verifyFile(t.Context(), dir); err != nil {
				noticed++
				continue
			}
			unused++
			if got, err := dump(t.Context(), name); err != nil || !slices.Equal(got, want) {
				t.Errorf("byte %d, in a page of %s: not noticed, and what is stored reads otherwise: %v", at, table, err)
			}
		}
	}
	t.Logf("%d noticed, %d in unused space", noticed, unused)
	if noticed < 100 {
		t.Errorf("only %d of 400 were noticed: the pages are not those of the tables", noticed)
	}
}

// verifyFile opens the database in a folder and verifies it.
func verifyFile(ctx context.Context, dir string) error {
	db, err := store.Open(ctx, dir)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = Database(ctx, db, Options{})
	return err
}

// pagesOf gives where the pages of a table begin in the file, and how large a page is.
func pagesOf(t *testing.T, file, table string) (pages []int64, size int64) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT pgoffset, pgsize FROM dbstat WHERE name = $1`, table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var offset int64
		if err := rows.Scan(&offset, &size); err != nil {
			t.Fatal(err)
		}
		pages = append(pages, offset)
	}
	if rows.Err() != nil || len(pages) == 0 {
		t.Fatalf("%s has no pages: %v", table, rows.Err())
	}
	return pages, size
}

// dump reads every row of every table that is proven, as it is written to the file.
func dump(ctx context.Context, file string) (all []string, err error) {
	if _, err := os.Stat(file + "-wal"); err == nil {
		return nil, fmt.Errorf("%s is not all of the database", file)
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	for _, table := range tables {
		if all, err = dumpTable(ctx, db, table.name, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func dumpTable(ctx context.Context, db *sql.DB, table string, all []string) ([]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT * FROM `+table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, fmt.Sprintf("%s %#v", table, values))
	}
	return all, rows.Err()
}
