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

// Formats lists the file name extensions that can be imported.
const Formats = ".csv, .ndjson and .jsonl, optionally followed by .gz or .zst, and .parquet"

// Known reports whether a file name has an extension that can be imported.
func Known(name string) bool {
	format, compression := suffixes(name)
	switch format {
	case ".csv", ".ndjson", ".jsonl":
		return true
	case ".parquet":
		return compression == ""
	}
	return false
}

// suffixes returns the extension of the format and that of the compression, if any.
func suffixes(name string) (format, compression string) {
	last := filepath.Ext(name)
	switch compression = strings.ToLower(last); compression {
	case ".gz", ".zst":
		return strings.ToLower(filepath.Ext(strings.TrimSuffix(name, last))), compression
	}
	return compression, ""
}

// rowReader reads the rows of a file.
type rowReader interface {
	// next fills the cells of the next row, in the order of the family's columns, and returns its location. A badRow
	// error concerns this row only; io.EOF and all other errors end the file.
	next(cells []string) (location, error)
}

// badRow is a row that cannot be read.
type badRow struct{ reason string }

func (b badRow) Error() string { return b.reason }

// openRows opens a file in the format that its name says.
func openRows(name string, r io.Reader, columns, optional []string) (rows rowReader, closer func(), err error) {
	format, compression := suffixes(name)
	switch {
	case !Known(name) && format == ".parquet":
		return nil, nil, errors.New("a Parquet file cannot be compressed as a whole: decompress it first")
	case !Known(name):
		return nil, nil, fmt.Errorf("unknown file name extension: must be one of %s", Formats)
	case format == ".parquet":
		rows, err = openParquet(r, columns, optional)
		return rows, func() {}, err
	}
	plain, closer, err := decompress(compression, r)
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

func decompress(compression string, r io.Reader) (plain io.Reader, closer func(), err error) {
	switch compression {
	case ".gz":
		z, err := gzip.NewReader(r)
		return z, func() {}, err
	case ".zst":
		z, err := zstd.NewReader(r, zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return &windowReader{z}, z.Close, nil
	}
	return r, func() {}, nil
}

// maxWindow is how far back compressed data may refer, in bytes, and so what its decoder keeps in memory. Files of all
// levels of zstd up to 19 need no more.
const maxWindow = 8 << 20

// windowReader says how to compress a file that needs a larger window.
type windowReader struct{ r io.Reader }

func (w *windowReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = fmt.Errorf("decompressing it takes a window of more than %d MB: compress it without --ultra and --long",
			maxWindow>>20)
	}
	return n, err
}

// matchColumns maps the file's columns to the family's; -1 is an unknown column, which is ignored.
func matchColumns(names, columns, optional []string) ([]int, error) {
	matched := make([]int, len(names))
	for i, name := range names {
		matched[i] = findColumn(columns, name)
		if matched[i] >= 0 && slices.Contains(matched[:i], matched[i]) {
			return nil, fmt.Errorf("column %q occurs twice", name)
		}
	}
	for i, name := range columns {
		if !slices.Contains(matched, i) && !slices.Contains(optional, name) {
			return nil, fmt.Errorf("column %q is missing: the header must name %s", name, strings.Join(columns, ", "))
		}
	}
	return matched, nil
}

// findColumn returns the position of a column, ignoring letter case.
func findColumn(columns []string, name string) int {
	if i := slices.Index(columns, name); i >= 0 {
		return i
	}
	return slices.Index(columns, strings.ToLower(strings.TrimSpace(name)))
}
