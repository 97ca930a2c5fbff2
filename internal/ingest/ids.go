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
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		cells := make([]string, len(known.names))
		at, err := rows.next(cells)
		switch {
		case errors.Is(err, io.EOF):
			return ids, nil
		case err == nil && cells[0] == "":
			err = badRow{"id is missing"}
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, at.line, err)
		}
		ids = append(ids, TransactionID{ID: cells[0], Source: cells[1], Line: at.line})
	}
}
