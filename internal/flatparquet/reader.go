package flatparquet

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// Reader reads rows.
type Reader struct {
	columns []*column
	groups  []rowGroup // not begun yet
	left    int64      // rows of the current group
	row     []parquet.Value
}

// Next returns the values of the next row in the order of the columns, valid until the next call, or io.EOF after the
// last row. Any other error ends the file.
func (r *Reader) Next() ([]parquet.Value, error) {
	for r.left <= 0 {
		if len(r.groups) == 0 {
			return nil, io.EOF
		}
		for i, c := range r.columns {
			c.begin(r.groups[0].chunks[i], r.groups[0].rows)
		}
		r.left, r.groups = r.groups[0].rows, r.groups[1:]
	}
	r.left--
	for i, c := range r.columns {
		value, err := c.next()
		if err != nil {
			r.left, r.groups = 0, nil
			return nil, fmt.Errorf("column %q: %w", c.name, err)
		}
		r.row[i] = value
	}
	return r.row, nil
}
