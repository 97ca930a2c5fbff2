package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrNotEmpty is the error for copying into a database that has been used.
var ErrNotEmpty = errors.New("the database to copy into is not empty")

// seeded are the tables that have rows in a new database; copied are the other tables of a copy.
var (
	seeded = []string{
		"counters", "delivery_lease", "gpus", "regions", "labs", "memory_types", "coding_products", "settings", "log_tail",
		"log_progress",
	}
	copied = []string{
		"hidden", "sources", "expected_sources", "providers", "receipts", "segments", "transaction_ids",
		"verifications", "corrections", "conflicts", "late", "methodologies", "publications", "publication_covers",
		"coverage", "series", "points", "packed_points", "records",
		"publication_series", "unsigned_days", "manifests", "realtime", "utilization", "observations", "accounts",
		"organizations", "floors", "members", "grants", "sessions", "devices", "totp", "passkeys",
		"recovery_codes", "used_tickets", "keys", "audit", "usage",
		"log_tiles", "log_bundles", "log_records", "log_methodologies", "checkpoints", "cosignatures",
		"key_events", "imports", "anchors", "complaint_events", "notices", "restatements", "value_records",
		"endpoints", "alerts", "deliveries", "share_links", "key_requests", "ingest_keys",
		"watchlist", "saved_views",
	}
)

// CopyTo copies everything, as of one moment, into a new database, and reads it back before the commit: the copy is
// complete and equal, or nothing was copied. It calls progress with the number of rows copied so far.
func (db *DB) CopyTo(ctx context.Context, to *DB, progress func(table string, rows int)) error {
	done := false
	err := db.read(ctx, func(from *tx) error {
		err := to.write(ctx, func(into *tx) error {
			if err := emptyTables(into); err != nil {
				return err
			}
			sums := map[string]checksums{}
			for _, name := range slices.Concat(seeded, copied) {
				sum, err := copyTable(from, into, name, progress)
				if err != nil {
					return fmt.Errorf("copy the table %s: %w", name, err)
				}
				sums[name] = sum
			}
			if err := into.engine.afterCopy(into); err != nil {
				return err
			}
			if err := copyUsableBy(from, into); err != nil {
				return err
			}
			return compareCopy(into, sums) // last, in case writing one table changes another
		})
		done = err == nil
		return err
	})
	if done { // if the context ends only now, the copy is complete all the same
		return nil
	}
	return err
}

// emptyTables removes the initial rows of a new database, and refuses a database that is not new.
func emptyTables(into *tx) error {
	for _, name := range copied {
		var rows int
		if err := into.QueryRowContext(into.ctx, `SELECT count(*) FROM `+name).Scan(&rows); err != nil {
			return err
		}
		if rows > 0 {
			return fmt.Errorf("%w: its table %s has %d rows", ErrNotEmpty, name, rows)
		}
	}
	for _, name := range seeded {
		if err := into.exec(`DELETE FROM ` + name); err != nil {
			return err
		}
	}
	return nil
}

// copyUsableBy copies which programs can use the tables: some of what they hold only later programs can read.
func copyUsableBy(from, into *tx) error {
	return from.each(`SELECT number, usable_by FROM migrations WHERE usable_by > 0`, nil, func(scan scanFunc) error {
		var number, usableBy int64
		if err := scan(&number, &usableBy); err != nil {
			return err
		}
		return into.exec(`UPDATE migrations SET usable_by = $1 WHERE number = $2`, usableBy, number)
	})
}

// copyStep is how many rows are copied between two calls of progress.
const copyStep = 100_000

func copyTable(from, into *tx, name string, progress func(table string, rows int)) (sum checksums, err error) {
	if name == segmentsTable.name {
		if err := createPartitionsFor(from, into); err != nil {
			return sum, err
		}
	}
	var insert bulk
	begin := func(columns []string) (err error) {
		sum.columns = columns
		insert, err = into.engine.newBulk(into, table{name, columns})
		return err
	}
	err = eachRow(from, `SELECT * FROM `+name, begin, func(values []any) error {
		if err := sum.add(values); err != nil {
			return err
		}
		if err := insert.add(values...); err != nil {
			return err
		}
		if sum.rows%copyStep == 0 {
			progress(name, sum.rows)
		}
		return nil
	})
	if insert != nil {
		defer insert.close()
	}
	if err == nil {
		err = insert.flush()
	}
	if err != nil {
		return sum, err
	}
	progress(name, sum.rows)
	return sum, nil
}

// eachRow calls begin with the columns of a query, and f with each row. The values are not reused.
func eachRow(tx *tx, query string, begin func(columns []string) error, f func(values []any) error) error {
	rows, err := tx.QueryContext(tx.ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err == nil {
		err = begin(columns)
	}
	if err != nil {
		return err
	}
	pointers := make([]any, len(columns))
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			pointers[i] = &values[i]
		}
		if err := rows.Scan(pointers...); err != nil {
			return err
		}
		if err := f(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

func createPartitionsFor(from, into *tx) error {
	numbers, err := segmentNumbers(from, ``)
	if err != nil {
		return err
	}
	hours := make([]int64, len(numbers))
	for i, number := range numbers {
		hours[i] = number.hour()
	}
	return into.engine.createPartitions(into, hours)
}
