package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// TransactionID identifies a transaction in a file.
type TransactionID struct {
	Source, ID string
	Line       int
}

// ReadIDs reads which transactions a file is about: its columns id and, if it has one, source. Other columns are
// ignored, so that a file of transactions will do.
func ReadIDs(ctx context.Context, name string, r io.Reader) (ids []TransactionID, err error) {
	known := &columns{names: []string{"id", "source"}, optional: []string{"source"}}
	known.IgnoreColumns = true
	rows, closer, err := openRows(name, r, known)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer closer()
	err = eachRow(ctx, name, rows, len(known.names), func(cells []string, line int) error {
		if cells[0] == "" {
			return errors.New("id is missing")
		}
		ids = append(ids, TransactionID{ID: cells[0], Source: cells[1], Line: line})
		return nil
	})
	return ids, err
}

// Read reads the rows of a file without importing them. A bad row is an error.
func (im *Importer[T]) Read(ctx context.Context, name string, r io.Reader) (list []T, err error) {
	rows, closer, err := openRows(name, r, im.columns())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer closer()
	err = eachRow(ctx, name, rows, len(im.rows.columns), func(cells []string, _ int) error {
		var row T
		err := im.parseRow(cells, &row)
		list = append(list, row)
		return err
	})
	return list, err
}

// eachRow calls f for the rows of a file until one of them is bad.
func eachRow(
	ctx context.Context, name string, rows rowReader, columns int, f func(cells []string, line int) error,
) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		cells := make([]string, columns)
		at, err := rows.next(cells)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(cells, at.line)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, at.line, err)
		}
	}
}
