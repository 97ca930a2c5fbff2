package store

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresRows is how many rows go to the server at once: enough that the round trip does not matter.
const postgresRows = 8192

// postgresBulk collects rows for COPY.
type postgresBulk struct {
	tx *tx
	table
	rows [][]any
}

func (e *postgresEngine) newBulk(tx *tx, t table) (bulk, error) {
	return &postgresBulk{tx: tx, table: t}, nil
}

func (b *postgresBulk) add(row ...any) error {
	if b.rows = append(b.rows, row); len(b.rows) < postgresRows {
		return nil
	}
	return b.flush()
}

func (b *postgresBulk) flush() error {
	if len(b.rows) == 0 {
		return nil
	}
	rows := b.rows
	b.rows = b.rows[:0]
	return b.tx.conn.Raw(func(driverConn any) error {
		conn := driverConn.(*stdlib.Conn).Conn()
		_, err := conn.CopyFrom(b.tx.ctx, pgx.Identifier{b.name}, b.columns, pgx.CopyFromRows(rows))
		return err
	})
}

func (b *postgresBulk) close() {}

// createPartitions creates the missing partitions of the segments table for the months of the hours. The first
// migration has created those for the time before and after the years with monthly partitions.
func (e *postgresEngine) createPartitions(tx *tx, hours []int64) error {
	months := map[time.Time]bool{}
	for _, hour := range hours {
		if month := startOfMonth(hour); month.Year() >= firstYear && month.Year() < endYear {
			months[month] = true
		}
	}
	if len(months) == 0 {
		return nil
	}
	err := tx.each(`SELECT relname::text FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
		WHERE inhparent = 'segments'::regclass`, nil, func(scan scanFunc) error {
		var name string
		err := scan(&name)
		if month, notAMonth := time.Parse(monthTable, name); notAMonth == nil {
			delete(months, month)
		}
		return err
	})
	if err != nil {
		return err
	}
	for month := range months {
		if err := createMonthPartition(tx, month); err != nil {
			return err
		}
	}
	return nil
}

// The years with monthly partitions, as in the first migration, and the names of the partitions.
const (
	firstYear  = 2000
	endYear    = 2100
	monthTable = "segments_2006_01"
)

// createMonthPartition creates a table and then attaches it: CREATE TABLE … PARTITION OF would block every reader of
// segments.
func createMonthPartition(tx *tx, month time.Time) error {
	name := month.Format(monthTable)
	from, to := numberSegment(month.UnixMilli(), 0), numberSegment(month.AddDate(0, 1, 0).UnixMilli(), 0)
	err := tx.exec(fmt.Sprintf(`CREATE TABLE %[1]s (LIKE segments INCLUDING ALL);
		ALTER TABLE segments ATTACH PARTITION %[1]s FOR VALUES FROM (%[2]d) TO (%[3]d)`, name, int64(from), int64(to)))
	if err != nil {
		return fmt.Errorf("create the table %s: %w", name, err)
	}
	return nil
}

func startOfMonth(at int64) time.Time {
	t := time.UnixMilli(at).UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// afterCopy makes identity columns continue after the ids that were copied.
func (e *postgresEngine) afterCopy(tx *tx) error {
	var statements []string
	err := tx.each(`SELECT table_name::text, column_name::text FROM information_schema.columns
		WHERE table_schema = current_schema() AND is_identity = 'YES'`, nil, func(scan scanFunc) error {
		var table, column string
		err := scan(&table, &column)
		statements = append(statements, fmt.Sprintf(`SELECT setval(pg_get_serial_sequence('%[1]s', '%[2]s'),
			(SELECT coalesce(max(%[2]s), 0) + 1 FROM %[1]s), false)`, table, column))
		return err
	})
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if err := tx.exec(statement); err != nil {
			return err
		}
	}
	return nil
}
