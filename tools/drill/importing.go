//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	rowsHeader  = "id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified\n"
	rowsAFile   = 5
	importPause = 500 * time.Millisecond
	retryPause  = 200 * time.Millisecond

	// The history is days that nobody has published, for the operator to do so, and then some that are.
	unpublished = 120 * 24 * time.Hour
	published   = 3 * 24 * time.Hour
)

// appendRow adds a transaction in the form that is imported.
func appendRow(b *bytes.Buffer, id string, at time.Time, cents int) {
	fmt.Fprintf(b, "%s,drill,%s,H100 SXM,us-east,2.%02d,1,1,Alder,true\n", id, at.UTC().Format("2006-01-02T15:04:05.000Z"), cents%100)
}

// historyFile has two transactions for every hour until now.
func historyFile(begin time.Time) []byte {
	b := bytes.NewBufferString(rowsHeader)
	for at, n := begin.Add(15*time.Minute), 0; at.Before(time.Now()); at, n = at.Add(30*time.Minute), n+1 {
		appendRow(b, fmt.Sprintf("history-%d", n), at, n)
	}
	return b.Bytes()
}

// historyName is where the history is kept for the end, when rows are counted.
const historyName = "history.csv"

func keepHistory(dir string, file []byte) error {
	return os.WriteFile(filepath.Join(dir, historyName), file, 0o600)
}

// historyRows is how many rows a history file has.
func historyRows(file []byte) int { return bytes.Count(file, []byte("\n")) - 1 }

// imports writes small files with rows of now, and imports each until that is acknowledged: an operator does not know what
// has become of an import that broke off, and simply runs it again. It goes on until there is no more work.
func (d *drill) imports(ctx, work context.Context) error {
	for n := 0; work.Err() == nil; n++ {
		b := bytes.NewBufferString(rowsHeader)
		for i := range rowsAFile {
			appendRow(b, fmt.Sprintf("row-%d-%d", n, i), time.Now(), n+i)
		}
		name := filepath.Join(d.Dir, "import.csv")
		if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
			return err
		}
		if err := d.until(ctx, "import", "transactions", name); err != nil {
			return err
		}
		var err error
		d.log.note(func(p *phase) {
			p.writes += rowsAFile
			err = keep(name, d.kept(p), fmt.Sprintf("%d.csv", n))
		})
		if err != nil {
			return err
		}
		every(work, importPause)
	}
	return nil
}

// until runs a command again and again until it succeeds.
func (d *drill) until(ctx context.Context, args ...string) error {
	for {
		_, err := d.assay(ctx, args...)
		if err == nil {
			return nil
		}
		if !every(ctx, retryPause) {
			return err
		}
	}
}

// kept is the folder of the files that were acknowledged in a phase.
func (d *drill) kept(p *phase) string {
	return filepath.Join(d.Dir, "imported", p.begun.UTC().Format("150405.000"))
}

func keep(file, folder, name string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return os.Rename(file, filepath.Join(folder, name))
}
