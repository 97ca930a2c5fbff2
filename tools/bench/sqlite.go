package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// sqliteImportScript is the fastest way to load a CSV file with the shell that guarantees what Assay guarantees: rows
// are unique by source and id, and on disk at the end. It has Assay's cache size and the advantage of a single
// transaction.
const sqliteImportScript = `PRAGMA journal_mode=wal;
PRAGMA synchronous=full;
PRAGMA cache_size=-65536;
CREATE TABLE transactions (
	id TEXT, source TEXT, executed_at TEXT, gpu_name TEXT, region TEXT,
	price REAL, gpus INTEGER, hours REAL, provider TEXT, verified TEXT
);
CREATE UNIQUE INDEX transactions_by_id ON transactions (source, id);
BEGIN;
.mode csv
.import --skip 1 %s transactions
COMMIT;
SELECT count(*) FROM transactions;
`

// sqliteReadScript reads every transaction's id in Assay's database, which has a row for each.
const sqliteReadScript = "SELECT count(*), sum(hash % 1000) FROM transaction_ids;\n"

// runSQLite runs a script that ends with a count of rows in the shell, without the user's settings.
func (e *engine) runSQLite(ctx context.Context, database, script string, rows int) (timing, error) {
	c := command{
		program: e.tools["sqlite3"], args: []string{"-batch", "-bail", "-init", "/dev/null", filepath.Base(database)},
		dir: filepath.Dir(database), input: script,
	}
	out, took, err := c.run(ctx)
	if err != nil {
		return timing{}, err
	}
	got, err := lastCount(out)
	if err != nil {
		return timing{}, err
	}
	if got != rows {
		return timing{}, fmt.Errorf("%s: %d rows, want %d", c, got, rows)
	}
	return timing{count: rows, took: took}, nil
}

// lastCount is the first number in the last line.
func lastCount(out string) (n int, err error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if _, err := fmt.Sscan(lines[len(lines)-1], &n); err != nil {
		return 0, fmt.Errorf("parse the count in %q: %w", out, err)
	}
	return n, nil
}

// sqliteImport imports the file into a temporary database.
func (e *engine) sqliteImport(ctx context.Context, file string, rows int) (timing, error) {
	home := filepath.Join(e.dir, "sqlite")
	if err := os.Mkdir(home, 0o700); err != nil {
		return timing{}, err
	}
	defer os.RemoveAll(home)
	return e.runSQLite(ctx, filepath.Join(home, "peer.db"), fmt.Sprintf(sqliteImportScript, "../"+filepath.Base(file)),
		rows)
}

// sqliteRead reads the transactions in Assay's database.
func (e *engine) sqliteRead(ctx context.Context, data string, rows int) (timing, error) {
	return e.runSQLite(ctx, filepath.Join(data, "assay.db"), sqliteReadScript, rows)
}
