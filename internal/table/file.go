package table

import (
	"io"

	"github.com/parquet-go/parquet-go"
)

// File writes a Parquet file row by row, from the text of rows or from their values. Equal rows and facts give equal
// bytes, on every machine: nothing in a file depends on the time, on chance or on the number of processors. Its memory
// does not grow with the number of rows.
type File struct {
	rows *parquetRows
	to   io.Writer
}

// NewFile begins a file.
func NewFile(s *Schema, to io.Writer) *File { return &File{newParquet(s), to} }

// Row writes a row of the text of a JSON object.
func (f *File) Row(text []byte) error { return f.flush(f.rows.add(text)) }

// Word is a value of a column of text that many rows have: to make it for each of them would take most of the time.
type Word struct {
	column int
	value  parquet.Value
}

// Word makes a word of a column whose values are never absent. The bytes must not change later.
func (f *File) Word(column int, text []byte) Word {
	return Word{column, parquet.ByteArrayValue(text).Level(0, 0, column)}
}

// PutWord sets the value of a word's column in the current row.
func (f *File) PutWord(w Word) {
	batch := &f.rows.batch[w.column]
	*batch = append(*batch, w.value)
}

// PutInteger sets the value of a column of integers, instants or decimals in the current row. A decimal is in units of
// its ninth place.
func (f *File) PutInteger(column int, n int64) { f.rows.put(column, parquet.Int64Value(n)) }

// EndRow ends a row, all of whose columns were set.
func (f *File) EndRow() error { return f.flush(f.rows.endRow()) }

// Close ends the file.
func (f *File) Close(facts ...Fact) error { return f.flush(f.rows.close(facts)) }

// flush passes on what the rows have written.
func (f *File) flush(err error) error {
	out := &f.rows.out
	if err == nil && len(out.text) > 0 {
		_, err = f.to.Write(out.text)
	}
	out.text = out.text[:0]
	return err
}
