package ingest

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Formats lists the file name extensions that can be imported.
const Formats = ".csv, .ndjson and .jsonl, optionally followed by .gz or .zst, and .parquet"

// Format returns the format that a file name says: csv, ndjson or parquet, or nothing if it cannot be imported.
func Format(name string) string {
	extension, compression := suffixes(name)
	switch {
	case extension == ".csv":
		return "csv"
	case extension == ".ndjson" || extension == ".jsonl":
		return "ndjson"
	case extension == ".parquet" && compression == "":
		return "parquet"
	}
	return ""
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

	// split fills the cells of a row again, from the text of its location. It may run beside next.
	split(text string, cells []string)
}

// badRow is a row that cannot be read.
type badRow struct{ reason string }

func (b badRow) Error() string { return b.reason }

// openRows opens a file in the format that its name says.
func openRows(name string, r io.Reader, columns *columns) (rows rowReader, closer func(), err error) {
	format := Format(name)
	extension, compression := suffixes(name)
	switch {
	case format == "" && extension == ".parquet":
		return nil, nil, errors.New("a Parquet file cannot be compressed as a whole: decompress it first")
	case format == "":
		return nil, nil, fmt.Errorf("unknown file name extension: must be one of %s", Formats)
	case format == "parquet":
		rows, err = openParquet(r, columns)
		return rows, func() {}, err
	}
	plain, closer, err := decompress(compression, r)
	if err != nil {
		return nil, nil, err
	}
	if rows, err = openLines(format, plain, columns); err != nil {
		closer()
		return nil, nil, err
	}
	return rows, closer, nil
}

func openLines(format string, r io.Reader, columns *columns) (rowReader, error) {
	lines, err := columns.lines(r)
	if err != nil || format == "ndjson" {
		return &ndjsonReader{lines, columns}, err
	}
	header, err := columns.header(lines)
	return &csvReader{lines, header, columns.delimiter()}, err
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
