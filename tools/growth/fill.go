//go:build linux

package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // for rows that no command adds in such numbers

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/store"
)

// What a database has besides its values.
const (
	models  = 1000
	regions = 20

	manyKeys, fewKeys   = 100_000, 2000
	manyUsage, fewUsage = 1_000_000, 20_000
)

// begin is the start of the market: ten hours include the end of a day, which is 16:00 in New York.
var begin = time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)

// database is a database of one size, and what was measured on it.
type database struct {
	options
	*measured
	dir  string
	key  string // a Full key
	sent uint32 // requests
}

func (d *database) folder() string { return filepath.Join(d.dir, "data") }

func model(i int) string  { return fmt.Sprintf("Model %04d", i) }
func region(i int) string { return fmt.Sprintf("region-%02d", i%regions) }

// hours is how many hours have a transaction of each model: it has a value of the model and one of its region.
func (d *database) hours() int { return max(1, d.size/(2*models)) }

// end is the end of the last hour.
func (d *database) end() time.Time { return begin.Add(time.Duration(d.hours()) * time.Hour) }

// lastDay is the last day that has ended.
func (d *database) lastDay() time.Time { return d.end().Add(-22 * time.Hour).Truncate(24 * time.Hour) }

// fill creates the catalog, keys and usage, which no command creates in such numbers, and imports and publishes the
// transactions.
func (d *database) fill(ctx context.Context) error {
	fmt.Printf("growth: %d values\n", d.size)
	if err := d.run(ctx, "init", nil, "init"); err != nil {
		return err
	}
	if err := d.fillTables(ctx); err != nil {
		return err
	}
	rows, write := io.Pipe()
	go func() { _ = write.CloseWithError(d.writeRows(write)) }()
	if err := d.run(ctx, "import transactions", rows, "import", "transactions", "-"); err != nil {
		return err
	}
	from := begin.Add(-24 * time.Hour) // the first day began before
	return d.run(ctx, "publish", nil, "publish", "--from", from.Format(time.RFC3339), "--to", d.end().Format(time.RFC3339))
}

// fillTables adds models and regions, keys and usage. Of the keys one can be used.
func (d *database) fillTables(ctx context.Context) error {
	db, err := store.Open(ctx, "sqlite://"+d.folder())
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.AddToCatalog(ctx, catalog()); err != nil {
		return err
	}
	secret, _, err := keys.Create(ctx, db, assay.Full, "growth", 0)
	if err != nil {
		return err
	}
	d.key = secret.Reveal()
	keyCount, usageCount := manyKeys, manyUsage
	if d.short {
		keyCount, usageCount = fewKeys, fewUsage
	}
	return d.fillInSQL(ctx, keyCount, usageCount)
}

// openRaw opens the database beside the store.
func (d *database) openRaw() (*sql.DB, error) {
	return sql.Open("sqlite", filepath.Join(d.folder(), store.FileName)+"?_txlock=immediate&_pragma=busy_timeout(30000)")
}

// fillInSQL adds what would take the store one transaction each.
func (d *database) fillInSQL(ctx context.Context, keyCount, usageCount int) error {
	db, err := d.openRaw()
	if err != nil {
		return err
	}
	defer db.Close()
	const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < $1) `
	_, err = db.ExecContext(ctx, numbers+`INSERT INTO keys (key_id, hash, tier, name, created_at)
		SELECT printf('%06d', n), randomblob(32), 'full', 'growth', 0 FROM numbers`, keyCount)
	if err != nil {
		return err
	}
	// As after any change of the store: a reader asks for what has changed since then.
	if _, err = db.ExecContext(ctx, `UPDATE counters SET value = value + 1 WHERE name = 'keys'`); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, numbers+`INSERT INTO usage (day, key_id, route, status, requests)
		SELECT $2 + n / $3 * $4, printf('%06d', n % $3), '/api/gpu/{gpuName}', 200, n FROM numbers`,
		usageCount, begin.Truncate(24*time.Hour).UnixMilli(), keyCount, assay.Day)
	return err
}

// writeRows writes a transaction of each model for every hour.
func (d *database) writeRows(to io.Writer) error {
	b := bytes.NewBufferString("id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified\n")
	for h := range d.hours() {
		for m := range models {
			at := begin.Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Second)
			fmt.Fprintf(b, "%d-%d,growth,%s,%s,%s,%d.%03d,8,24,Alder,true\n",
				h, m, at.Format(time.RFC3339), model(m), region(m), 1+m%5, (h*7+m)%1000)
		}
		if _, err := b.WriteTo(to); err != nil {
			return err
		}
	}
	return nil
}

// diskBytes is the size of the database on disk.
func (d *database) diskBytes() (size int64, err error) {
	info, err := os.Stat(filepath.Join(d.folder(), store.FileName))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
