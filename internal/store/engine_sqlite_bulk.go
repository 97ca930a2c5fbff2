package store

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// statement inserts many rows at once, which spreads the fixed cost of a statement. Its parameters are question marks,
// because SQLite looks up a name such as $640 in a list each time it is bound.
type statement struct {
	tx      *tx
	head    string // INSERT INTO … VALUES
	tail    string // ON CONFLICT …
	columns int
	whole   *sql.Stmt // for bulkRows rows
}

// bulkRows is large enough to make the fixed cost of a statement small, and small enough to prepare fast.
const bulkRows = 64

func newStatement(tx *tx, t table, tail string) (*statement, error) {
	head := fmt.Sprintf(`INSERT INTO %s (%s) VALUES `, t.name, strings.Join(t.columns, ", "))
	s := &statement{tx: tx, head: head, tail: tail, columns: len(t.columns)}
	var err error
	s.whole, err = s.prepare(bulkRows)
	return s, err
}

func (s *statement) prepare(rows int) (*sql.Stmt, error) {
	return s.tx.PrepareContext(s.tx.ctx, s.head+placeholders(s.columns, rows)+s.tail)
}

// placeholders returns the VALUES list of that many rows.
func placeholders(columns, rows int) string {
	row := "(" + strings.Repeat("?,", columns-1) + "?)"
	return strings.Repeat(row+",", rows-1) + row
}

// insert writes at most bulkRows rows and returns how many of them were new.
func (s *statement) insert(args []any) (inserted int, err error) {
	prepared := s.whole
	if rows := len(args) / s.columns; rows < bulkRows {
		if prepared, err = s.prepare(rows); err != nil {
			return 0, err
		}
		defer prepared.Close()
	}
	result, err := prepared.ExecContext(s.tx.ctx, args...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

func (s *statement) close() { _ = s.whole.Close() }

// sqliteBulk collects the rows of a statement.
type sqliteBulk struct {
	*statement
	args []any
}

func (e *sqliteEngine) newBulk(tx *tx, t table) (bulk, error) {
	s, err := newStatement(tx, t, "")
	if err != nil {
		return nil, err
	}
	return &sqliteBulk{s, make([]any, 0, bulkRows*s.columns)}, nil
}

func (b *sqliteBulk) add(row ...any) error {
	if b.args = append(b.args, row...); len(b.args) < bulkRows*b.columns {
		return nil
	}
	return b.flush()
}

func (b *sqliteBulk) flush() error {
	if len(b.args) == 0 {
		return nil
	}
	_, err := b.insert(b.args)
	b.args = b.args[:0]
	return err
}

var idsTable = table{"transaction_ids", []string{"hash", "segment"}}

func (e *sqliteEngine) insertNewIDs(tx *tx, ids []idEntry) (known map[int64]segmentNumber, err error) {
	insert, err := newStatement(tx, idsTable, ` ON CONFLICT DO NOTHING`)
	if err != nil {
		return nil, err
	}
	defer insert.close()
	known = map[int64]segmentNumber{}
	args := make([]any, 0, bulkRows*len(idsTable.columns))
	for part := range slices.Chunk(ids, bulkRows) {
		args = args[:0]
		for _, id := range part {
			args = append(args, id.hash, int64(id.segment))
		}
		inserted, err := insert.insert(args)
		if err != nil {
			return nil, err
		}
		if inserted == len(part) {
			continue
		}
		if err := findKnown(tx, part, known); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// findKnown looks up ids of which some existed before.
func findKnown(tx *tx, part []idEntry, known map[int64]segmentNumber) error {
	args, given := make([]any, len(part)), make(map[int64]segmentNumber, len(part))
	for i, id := range part {
		args[i], given[id.hash] = id.hash, id.segment
	}
	query := `SELECT hash, segment FROM transaction_ids WHERE hash IN ` + placeholders(len(part), 1)
	return tx.each(query, args, func(scan scanFunc) error {
		var id idEntry
		err := scan(&id.hash, (*int64)(&id.segment))
		if id.segment != given[id.hash] {
			known[id.hash] = id.segment
		}
		return err
	})
}
