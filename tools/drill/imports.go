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

	// The history starts with unpublished days, which the operator publishes, and ends with published ones.
	unpublished = 120 * 24 * time.Hour
	published   = 3 * 24 * time.Hour
)

// appendRow adds a transaction as a CSV row.
func appendRow(b *bytes.Buffer, id string, at time.Time, cents int) {
	fmt.Fprintf(b, "%s,drill,%s,H100 SXM,us-east,2.%02d,1,1,Alder,true\n", id, at.UTC().Format("2006-01-02T15:04:05.000Z"),
		cents%100)
}

// historyFile has two transactions for every hour until now.
func historyFile(begin time.Time) []byte {
	b := bytes.NewBufferString(rowsHeader)
	for at, n := begin.Add(15*time.Minute), 0; at.Before(time.Now()); at, n = at.Add(30*time.Minute), n+1 {
		appendRow(b, fmt.Sprintf("history-%d", n), at, n)
	}
	return b.Bytes()
}

// historyName is the file of the history, which is counted at the end.
const historyName = "history.csv"

func writeHistory(dir string, file []byte) error {
	return os.WriteFile(filepath.Join(dir, historyName), file, 0o600)
}

// historyRows is the number of rows of a history file.
func historyRows(file []byte) int { return bytes.Count(file, []byte("\n")) - 1 }

// importRepeatedly writes small files with current rows, and imports each until that is acknowledged: an operator does
// not know how far an aborted import got, and simply runs it again. It ends with the work context.
func (d *drill) importRepeatedly(ctx, work context.Context) error {
	for n := 0; work.Err() == nil; n++ {
		b := bytes.NewBufferString(rowsHeader)
		for i := range rowsAFile {
			appendRow(b, fmt.Sprintf("row-%d-%d", n, i), time.Now(), n+i)
		}
		name := filepath.Join(d.Dir, "import.csv")
		if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
			return err
		}
		if err := d.retry(ctx, "import", "transactions", name); err != nil {
			return err
		}
		var err error
		d.journal.record(func(p *phase) {
			p.writes += rowsAFile
			err = moveFile(name, d.importedFolder(p), fmt.Sprintf("%d.csv", n))
		})
		if err != nil {
			return err
		}
		pause(work, importPause)
	}
	return nil
}

// retry runs a command until it succeeds.
func (d *drill) retry(ctx context.Context, args ...string) error {
	for {
		_, err := d.assay(ctx, args...)
		if err == nil {
			return nil
		}
		if !pause(ctx, retryPause) {
			return err
		}
	}
}

// importedFolder is the folder of the files whose import was acknowledged in a phase.
func (d *drill) importedFolder(p *phase) string {
	return filepath.Join(d.Dir, "imported", p.begun.UTC().Format("150405.000"))
}

func moveFile(file, folder, name string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return os.Rename(file, filepath.Join(folder, name))
}
