package verify

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/tools/testenv"
)

// TestDatabase_AnyByteOfTheFile flips bits in the database's file, in the pages of four tables: SQLite or Database must
// detect it. A flip that neither detects must be in unused space: every row reads as before.
func TestDatabase_AnyByteOfTheFile(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	file, err := marketFile()
	if err != nil {
		t.Fatal(err)
	}
	for i, table := range []string{"segments", "transaction_ids", "records", "manifests"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			detected := flipBits(t, file, table, rand.New(rand.NewPCG(7, uint64(i))))
			t.Logf("%d of 100 detected, the others are in unused space", detected)
			if detected < 20 {
				t.Errorf("only %d of 100 were detected: these are not the pages of the table", detected)
			}
		})
	}
}

// flipBits flips 100 bits in the pages of a table, one at a time, and counts those that are detected.
func flipBits(t *testing.T, file []byte, table string, random *rand.Rand) (detected int) {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, store.FileName)
	write(t, name, file)
	want, err := dump(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	pages, size := pagesOf(t, name, table)
	for range 100 {
		at := pages[random.IntN(len(pages))] + random.Int64N(size)
		damaged := bytes.Clone(file)
		damaged[at] ^= 1 << random.IntN(8)
		for _, rest := range []string{"-wal", "-shm"} { // of a database that could not be closed
			_ = os.Remove(name + rest)
		}
		write(t, name, damaged)
		if err := verifyFile(t.Context(), dir); err != nil {
			detected++
			continue
		}
		got, err := dump(t.Context(), name)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("byte %d, in a page of %s: not detected, but the rows have changed: %v", at, table, err)
		}
	}
	return detected
}

// verifyFile opens the database in a folder and verifies it.
func verifyFile(ctx context.Context, dir string) error {
	db, err := store.Open(ctx, "sqlite://"+dir)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = Database(ctx, db, Options{})
	return err
}

// pagesOf is the offsets of the pages of a table in the file, and the size of a page.
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

// dump reads every row of every table that is proven.
func dump(ctx context.Context, file string) (all [][]any, err error) {
	if _, err := os.Stat(file + "-wal"); err == nil {
		return nil, fmt.Errorf("%s does not hold the whole database", file)
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	for _, table := range tables {
		all, err = dumpTable(ctx, db, table.name, all)
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func dumpTable(ctx context.Context, db *sql.DB, table string, all [][]any) ([][]any, error) {
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
		for i, value := range values {
			if b, ok := value.([]byte); ok { // the store reads a text and a blob alike
				values[i] = string(b)
			}
		}
		all = append(all, values)
	}
	return all, rows.Err()
}
