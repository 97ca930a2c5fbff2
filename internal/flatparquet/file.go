package flatparquet

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// File is an opened Parquet file.
type File struct {
	file   io.ReaderAt
	size   int64
	opened *parquet.File
}

// Open reads the footer of a file.
func Open(file io.ReaderAt, size int64) (f *File, err error) {
	defer recoverFrom(&err)
	if err := checkFooter(file, size); err != nil {
		return nil, err
	}
	opened, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true),
		parquet.OptimisticRead(false))
	if err != nil {
		return nil, err
	}
	return &File{file: file, size: size, opened: opened}, nil
}

// recoverFrom turns a panic into an error: parquet-go does not check everything in a schema before it uses it.
func recoverFrom(err *error) {
	if cause := recover(); cause != nil {
		*err = broken("%v", cause)
	}
}

// checkFooter checks that the footer can be decoded in bounded memory.
func checkFooter(file io.ReaderAt, size int64) error {
	const tail = 8 // the size of the footer and the magic bytes
	if size < tail {
		return broken("it has only %d bytes", size)
	}
	var end [tail]byte
	if _, err := file.ReadAt(end[:], size-tail); err != nil {
		return err
	}
	if magic := string(end[4:]); magic != "PAR1" {
		return fmt.Errorf("this is no Parquet file, or an encrypted one: it ends with %q, not PAR1", magic)
	}
	length := int64(binary.LittleEndian.Uint32(end[:4]))
	if length > min(maxFooter, size-tail) {
		return broken("its footer has %d bytes: allowed are %d", length, min(maxFooter, size-tail))
	}
	footer := make([]byte, length)
	if _, err := file.ReadAt(footer, size-tail-length); err != nil {
		return err
	}
	_, err := skim(footer, maxMetadata)
	return err
}

// Columns returns the columns and groups at the top of the schema.
func (f *File) Columns() []*parquet.Column { return f.opened.Root().Columns() }

// Reader returns a reader of the given columns, each of which is a leaf at the top of the schema and not repeated. The
// file cannot be used afterwards, because its metadata is no longer needed.
func (f *File) Reader(columns []*parquet.Column) (*Reader, error) {
	r := &Reader{row: make([]parquet.Value, len(columns))}
	shared := &memory{left: maxPages}
	for _, c := range columns {
		switch {
		case c.Type().Kind() == parquet.FixedLenByteArray && c.Type().Length() <= 0:
			return nil, broken("column %q has values of %d bytes", c.Name(), c.Type().Length())
		case c.Type().Kind() == parquet.Int96:
			return nil, fmt.Errorf("column %q has the type INT96, which is deprecated", c.Name())
		}
		r.columns = append(r.columns, &column{
			name: c.Name(), kind: c.Type().Kind(), length: valueLength(c), optional: c.Optional(), memory: shared,
			file: f.file,
		})
	}
	groups := f.opened.Metadata().RowGroups
	for i := range groups {
		group, err := readGroup(&groups[i], columns, f.size)
		if err != nil {
			return nil, fmt.Errorf("row group %d: %w", i+1, err)
		}
		r.groups = append(r.groups, group)
	}
	f.opened = nil
	return r, nil
}

// rowGroup is the rows that a file has together, and a chunk of each column.
type rowGroup struct {
	rows   int64
	chunks []chunk
}

// chunk is where the pages of a column of a row group are.
type chunk struct {
	offset, size int64
	codec        format.CompressionCodec
}

func readGroup(group *format.RowGroup, columns []*parquet.Column, size int64) (rowGroup, error) {
	read := rowGroup{rows: group.NumRows}
	for _, c := range columns {
		if c.Index() < 0 || c.Index() >= len(group.Columns) {
			return read, broken("column %q has no data", c.Name())
		}
		found := &group.Columns[c.Index()]
		meta := &found.MetaData
		if found.FilePath != "" || meta.NumValues != group.NumRows {
			return read, broken("column %q does not have a value for each of %d rows", c.Name(), group.NumRows)
		}
		offset, length := meta.DataPageOffset, meta.TotalCompressedSize
		if meta.DictionaryPageOffset > 0 {
			offset = meta.DictionaryPageOffset
		}
		if offset < 0 || length < 0 || offset > size || length > size-offset {
			return read, broken("column %q is not inside the file", c.Name())
		}
		read.chunks = append(read.chunks, chunk{offset, length, meta.Codec})
	}
	return read, nil
}

// valueLength is the length in bytes of a value of a column; 0 if it varies or is a bit.
func valueLength(c *parquet.Column) int {
	switch c.Type().Kind() { //nolint:exhaustive // the others have no length
	case parquet.Int32, parquet.Float:
		return 4
	case parquet.Int64, parquet.Double:
		return 8
	case parquet.FixedLenByteArray:
		return c.Type().Length()
	}
	return 0
}
