package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrNotEmpty says that a database that should be new has been used.
var ErrNotEmpty = errors.New("the database to copy into is not empty")

// seeded are the tables that a new database has rows in; copied are the others that a copy takes.
var (
	seeded = []string{"counters", "gpus", "regions", "labs", "memory_types", "coding_products"}
	copied = []string{
		"settings", "sources", "providers", "receipts", "segments", "transaction_ids", "verifications", "conflicts", "late", "methodologies",
		"publications", "publication_covers", "coverage", "series", "points", "records", "publication_series", "unsigned_days", "manifests",
		"realtime", "utilization", "observations", "accounts", "organizations", "floors", "members", "grants", "sessions", "keys", "audit", "usage",
	}
)

// CopyTo copies everything, as it is at one moment, into a new database: all of it or nothing. Progress hears how many rows of
// a table are there.
func (db *DB) CopyTo(ctx context.Context, to *DB, progress func(table string, rows int)) error {
	return db.read(ctx, func(from *tx) error {
		return to.write(ctx, func(into *tx) error {
			if err := empty(into); err != nil {
				return err
			}
			for _, name := range slices.Concat(seeded, copied) {
				if err := copyTable(from, into, name, progress); err != nil {
					return fmt.Errorf("copy the table %s: %w", name, err)
				}
			}
			return into.engine.afterCopy(into)
		})
	})
}

// empty makes a new database wholly empty, and refuses one that is not new.
func empty(into *tx) error {
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

// copyStep is how many rows are copied between two words on the progress.
const copyStep = 100_000

func copyTable(from, into *tx, name string, progress func(table string, rows int)) error {
	if name == segmentsTable.name {
		if err := makeRoomFor(from, into); err != nil {
			return err
		}
	}
	rows, err := from.QueryContext(from.ctx, `SELECT * FROM `+name)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	insert, err := into.engine.newBulk(into, table{name, columns})
	if err != nil {
		return err
	}
	defer insert.close()
	n := 0
	for ; rows.Next(); n++ {
		values, places := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		if err := rows.Scan(places...); err != nil {
			return err
		}
		if err := insert.add(values...); err != nil {
			return err
		}
		if n > 0 && n%copyStep == 0 {
			progress(name, n)
		}
	}
	if err := errors.Join(rows.Err(), insert.flush()); err != nil {
		return err
	}
	progress(name, n)
	return nil
}

func makeRoomFor(from, into *tx) error {
	numbers, err := segmentNumbers(from)
	if err != nil {
		return err
	}
	hours := make([]int64, len(numbers))
	for i, number := range numbers {
		hours[i] = number.hour()
	}
	return into.engine.makeRoom(into, hours)
}
