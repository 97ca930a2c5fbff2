// Package flatparquet reads rows from Parquet files of unknown origin. Whatever a file claims, reading it takes a few
// dozen megabytes: sizes are checked before memory is allocated, and values are decoded one at a time.
//
// Files are parsed with parquet-go as far as their schema. Its readers are not used: they believe the sizes in page
// headers, and expand a page of a million equal values before they return the first. Only columns outside of groups and
// lists can be read.
//
// File (file.go) checks and reads the footer. Reader (reader.go) returns rows. A column (column.go) reads the pages of
// its chunks, decompresses them (decompress.go), and decodes their values (values.go, hybrid.go, delta.go).
package flatparquet

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Limits of what is held in memory.
const (
	// maxFooter is the size limit of the footer, which describes every column of every row group.
	maxFooter = 4 << 20
	// maxMetadata is what the footer may take once it is decoded: some ten thousand columns of row groups.
	maxMetadata = 12 << 20
	// maxHeader is the size limit of a page's header, which may contain the smallest and the largest text of the page.
	maxHeader = 1 << 20
	// readBuffer is what is read of a column at once. Nearly all headers fit into it.
	readBuffer = 64 << 10
	// maxPages is what the current pages and dictionaries of all columns may take together. Most writers make pages and
	// dictionaries of up to a megabyte, DuckDB pages of 122,880 rows. The garbage collector lets the heap grow to twice
	// of what is in use, so this is far less than the 64 MB that reading may take.
	maxPages = 16 << 20
	// maxGarbage is how much memory may be waiting for the garbage collector.
	maxGarbage = 8 << 20
)

var errTruncated = errors.New("the file is broken: a page ends too early")

func broken(format string, args ...any) error {
	return fmt.Errorf("the file is broken: "+format, args...)
}

// memory is what the pages of a file share.
type memory struct {
	left    int    // of maxPages
	garbage int    // dropped since the last garbage collection
	packed  []byte // a compressed page

	gzip   gzip.Reader
	brotli brotli.Reader
	zstd   *zstd.Decoder // nil until it is needed
}

// resize makes a buffer n bytes long, and replaces it only if it is too small. Its content is undefined.
func (m *memory) resize(buffer *[]byte, n int) error {
	old := cap(*buffer)
	if old >= n {
		*buffer = (*buffer)[:n]
		return nil
	}
	*buffer = nil // so that it can be collected
	m.left += old
	if n > m.left {
		return fmt.Errorf("the pages of all columns take more than %d MB together: write the file with smaller pages",
			maxPages>>20)
	}
	// Without this, a file with ever larger pages would have several buffers in memory before the next collection.
	if m.garbage += old; m.garbage > maxGarbage {
		runtime.GC()
		m.garbage = 0
	}
	const step = 64 << 10 // pages of a column differ a little, and zstd wants a few bytes to spare
	size := min(n+step, m.left)
	m.left -= size
	*buffer = make([]byte, n, size)
	return nil
}
