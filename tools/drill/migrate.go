//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// migratedRows make a copy that takes some seconds, so that the primary dies in the middle of it.
const migratedRows = 400_000

// failOverMigrating kills the primary while an SQLite database is copied to PostgreSQL. The copy must fail and leave
// nothing, and work when it is repeated.
func (d *drill) failOverMigrating(ctx context.Context, p *phase) error {
	from, to, err := d.prepareMigration(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, d.options.assay, "migrate", "--from", from, "--to", to)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.Contains(lines.Text(), " rows") {
	} // the first table is copied
	old, err := d.killPrimary(ctx)
	if err != nil {
		return err
	}
	lost := time.Now()
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	if err := cmd.Wait(); err == nil {
		return errors.New("assay migrate was over before the primary was killed")
	}
	fmt.Println("drill: assay migrate says:", said[max(0, len(said)-1):])
	if err := d.afterFailover(ctx, p, old, lost); err != nil {
		return err
	}
	if rows, err := d.countCopied(ctx, to); err != nil || rows > 0 {
		return fmt.Errorf("the copy that failed has left %d rows (%w)", rows, err)
	}
	copied, err := d.assay(ctx, "migrate", "--from", from, "--to", to)
	if err == nil && !strings.Contains(copied, "verified: ") {
		err = fmt.Errorf("the second copy says %s", copied)
	}
	return err
}

// prepareMigration makes a database to copy and an empty one, and returns their addresses.
func (d *drill) prepareMigration(ctx context.Context) (from, to string, err error) {
	folder := filepath.Join(d.Dir, "source")
	from = "sqlite://" + folder
	b := bytes.NewBufferString(rowsHeader)
	for n := range migratedRows {
		appendRow(b, fmt.Sprintf("source-%d", n), d.begun.Add(time.Duration(n)*time.Second), n)
	}
	rows := filepath.Join(d.Dir, "source.csv")
	if err := os.WriteFile(rows, b.Bytes(), 0o600); err != nil {
		return "", "", err
	}
	for _, args := range [][]string{
		{"init", "--no-signing-key", "--store", from},
		{"import", "transactions", "--store", from, rows},
	} {
		if _, err := d.assay(ctx, args...); err != nil {
			return "", "", err
		}
	}
	conn, err := pgx.Connect(ctx, d.url())
	if err != nil {
		return "", "", err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `CREATE DATABASE copied`)
	return from, strings.Replace(d.url(), "/postgres?", "/copied?", 1), err
}

// countCopied counts the rows in the new database, which may have tables already.
func (d *drill) countCopied(ctx context.Context, address string) (rows int, err error) {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, `SELECT (SELECT count(*) FROM segments) + (SELECT count(*) FROM receipts)`).Scan(&rows)
	return rows, err
}
