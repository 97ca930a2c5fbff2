package ingest

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Formats says which names tell a format.
const Formats = ".csv, .ndjson and .jsonl, with .gz or .zst behind, and .parquet"

// Known tells whether a file's name tells a format.
func Known(name string) bool {
	format, packing := suffixes(name)
	switch format {
	case ".csv", ".ndjson", ".jsonl":
		return true
	case ".parquet":
		return packing == ""
	}
	return false
}

// suffixes gives the suffix that tells the format and, behind it, the one that tells how the file is packed, if any.
func suffixes(name string) (format, packing string) {
	last := filepath.Ext(name)
	switch packing = strings.ToLower(last); packing {
	case ".gz", ".zst":
		return strings.ToLower(filepath.Ext(strings.TrimSuffix(name, last))), packing
	}
	return packing, ""
}

// rowReader gives the rows of a file.
type rowReader interface {
	// next fills the cells of the next row, in the order of the family's columns, and says where it stood. The error
	// badRow is about this row only; io.EOF and all others end the file.
	next(cells []string) (location, error)
}

// badRow is a row that cannot be read.
type badRow struct{ reason string }

func (b badRow) Error() string { return b.reason }

// openRows reads a file by its name.
func openRows(name string, r io.Reader, columns, optional []string) (rows rowReader, closer func(), err error) {
	format, packing := suffixes(name)
	switch {
	case !Known(name) && format == ".parquet":
		return nil, nil, errors.New("a Parquet file is packed inside and cannot be read through another packing: unpack it first")
	case !Known(name):
		return nil, nil, fmt.Errorf("the name does not tell the format: allowed are %s", Formats)
	case format == ".parquet":
		rows, err = openParquet(r, columns, optional)
		return rows, func() {}, err
	}
	plain, closer, err := unpack(packing, r)
	if err != nil {
		return nil, nil, err
	}
	lines := newLineReader(plain)
	if format != ".csv" {
		return &ndjsonReader{lines, columns}, closer, nil
	}
	header, err := readHeader(lines, columns, optional)
	if err != nil {
		closer()
		return nil, nil, err
	}
	return &csvReader{lines, header}, closer, nil
}

func unpack(packing string, r io.Reader) (plain io.Reader, closer func(), err error) {
	switch packing {
	case ".gz":
		z, err := gzip.NewReader(r)
		return z, func() {}, err
	case ".zst":
		z, err := zstd.NewReader(r)
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return r, func() {}, nil
}

// matchColumns tells which of the file's columns is which of ours; -1 is a column we do not know and ignore.
func matchColumns(names, columns, optional []string) ([]int, error) {
	matched := make([]int, len(names))
	for i, name := range names {
		matched[i] = findColumn(columns, name)
		if matched[i] >= 0 && slices.Contains(matched[:i], matched[i]) {
			return nil, fmt.Errorf("column %q stands twice", name)
		}
	}
	for i, name := range columns {
		if !slices.Contains(matched, i) && !slices.Contains(optional, name) {
			return nil, fmt.Errorf("column %q is missing: the header must name %s", name, strings.Join(columns, ", "))
		}
	}
	return matched, nil
}

// findColumn finds a column in whichever case it is written.
func findColumn(columns []string, name string) int {
	if i := slices.Index(columns, name); i >= 0 {
		return i
	}
	return slices.Index(columns, strings.ToLower(strings.TrimSpace(name)))
}
