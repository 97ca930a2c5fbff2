// Package ingest loads files and feeds into the store. A reader turns a file into rows of cells; a row type parses the
// cells into a value and checks it; good values join a batch, and a batch is one transaction of the store. The next
// batch is parsed while one is written. A bad row is reported with its file, line and reason, and never stops the good
// ones. Every row has a key, so importing a file twice changes nothing.
package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/store"
)

// Reject is a row that was not imported, and why.
type Reject struct {
	File   string
	Line   int // in a Parquet file, the number of the row
	Reason string
	Cells  []string // in the order of the family's columns; nil for a value that a program added

	Conflict bool   // it is known with different content
	Text     string // the row itself, if it could not be split into cells; Cells has then what was found
}

// FileError is an error of one file: others may still be imported.
type FileError struct{ Err error }

func (e FileError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e FileError) Unwrap() error { return e.Err }

// Counts says how many rows were inserted, known before, and rejected so far.
type Counts struct {
	Inserted, Duplicates, Rejected int

	Line int // every row of a followed feed up to this line is committed, or rejected
}

// FutureAllowance is how far a reporting clock may be ahead of ours.
const FutureAllowance = 5 * time.Minute

// Receipts are under which receipts transactions were stored. Those of others may lie between them.
type Receipts struct {
	First, Last, Number int64
}

func (r *Receipts) add(number int64) {
	if number == 0 {
		return
	}
	r.First, r.Last = cmp.Or(r.First, number), number
	r.Number++
}

// Options are what importers of every family need. The functions may be nil. While a file is imported Rejected and
// Committed are called one at a time, but usually from another goroutine than the caller's. If Rejected fails, so does
// the import.
type Options struct {
	Store      *store.DB
	Catalog    assay.Catalog
	Source     string       // the source of rows that do not name one
	OnlySource bool         // rows that name another source are rejected, and rows of all families get it
	NotAfter   func() int64 // rows with a later instant are in the future; the result may move with the clock
	Revise     bool         // other content under a known key is a new revision, in the families that allow it
	CheckOnly  bool         // write nothing
	MostRows   int          // of a batch; 0: as many as usual
	Admit      func() error // called before every commit: if it fails, so does the import
	Rejected   func(Reject) error
	Committed  func(Counts) // called after every commit
	Retrying   func(error)  // called when the database refuses a followed feed, which tries again; from any goroutine
	FileOptions
}

// Importer imports rows of one family. It is not safe for concurrent use.
type Importer[T any] struct {
	Options
	rows    *rowType[T]
	checker *family.Checker
	size    int // rows per batch if not 0; set by tests
	handed  int // rows handed to the writer so far; batches grow with it
	counts  Counts
	stored  Receipts
	file    Receipts // of the current file
	filling *batch[T]
	spare   *batch[T]  // the second batch, while no writer has it
	rejects []Reject   // not reported yet
	reader  rowReader  // of the current file
	writer  *writer[T] // while a file is imported
	feed    *feed      // while a feed is followed

	committed int // the last line of the last batch
	source    int // the position of the column source; noColumn if there is none, or any source is good
}

// location is where a row came from.
type location struct {
	file string // empty for a value that a program added
	line int
	text string // shared with the row's cells
}

func newImporter[T any](options Options, rows *rowType[T]) *Importer[T] {
	checker := family.NewChecker(options.Catalog, options.Source, options.NotAfter)
	im := &Importer[T]{Options: options, rows: rows, checker: checker, filling: &batch[T]{}, spare: &batch[T]{}}
	im.source = noColumn
	if options.OnlySource {
		im.source = slices.Index(rows.columns, "source")
	}
	return im
}

// File imports one file. Its name decides the format: see Formats. A Parquet file must be an io.ReaderAt and an
// io.Seeker.
func (im *Importer[T]) File(ctx context.Context, name string, r io.Reader) error {
	rows, closer, err := openRows(name, r, im.columns())
	if err != nil {
		return FileError{fmt.Errorf("%s: %w", name, err)}
	}
	defer closer()
	return im.importRows(ctx, name, rows)
}

func (im *Importer[T]) columns() *columns {
	return &columns{im.rows.columns, im.rows.optional, im.FileOptions}
}

// importRows imports all rows of a reader. When it returns without an error, everything is written and reported.
func (im *Importer[T]) importRows(ctx context.Context, name string, rows rowReader) error {
	im.reader, im.file = rows, Receipts{}
	im.startWriter(ctx)
	err := im.parse(ctx, name, rows)
	if failed := im.stopWriter(); failed != nil {
		return failed // a parser error would be a consequence of it
	}
	return err
}

// parse collects rows until the file or the context ends, or the writer fails. It checks the context before each row,
// because a few bytes of a file may stand for any number of rows, and a row for many megabytes to decompress.
func (im *Importer[T]) parse(ctx context.Context, name string, rows rowReader) error {
	cells := make([]string, len(im.rows.columns))
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		clear(cells)
		at, err := rows.next(cells)
		at.file = name
		if err == nil {
			err = im.row(cells, at)
		} else if bad, ok := errors.AsType[badRow](err); ok {
			err = im.reject(at, Reject{Reason: bad.reason, Cells: cells, Text: at.text})
		} else if errors.Is(err, io.EOF) || errors.Is(err, errStopped) {
			return im.hand()
		} else {
			return im.broken(ctx, fmt.Errorf("%s: read line %d: %w", name, at.line, err))
		}
		if err != nil {
			return err
		}
	}
}

// broken ends a file that cannot be read further. The rows before count, unless the import itself ends.
func (im *Importer[T]) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return cmp.Or(im.hand(), error(FileError{err}))
}

// row adds one row to the batch, or rejects it.
func (im *Importer[T]) row(cells []string, at location) error {
	row := im.filling.add(at)
	err := im.parseRow(cells, row)
	if err != nil && im.feed != nil && im.reloadCatalog(im.feed.ctx) {
		*row = *new(T)
		err = im.parseRow(cells, row)
	}
	if err != nil {
		im.filling.dropLast()
		return im.reject(at, Reject{Reason: err.Error(), Cells: cells})
	}
	if im.feed != nil && len(im.filling.rows) == 1 {
		im.feed.due.Reset(im.feed.delay)
	}
	return im.handFull()
}

// parseRow parses and checks a row's cells.
func (im *Importer[T]) parseRow(cells []string, row *T) error {
	if im.source != noColumn {
		if named := cells[im.source]; named != "" && named != im.Source {
			return fmt.Errorf("source %q is another than %q", family.Shorten(named), im.Source)
		}
		cells[im.source] = im.Source
	}
	if err := im.rows.parse(im.checker, cells, row); err != nil {
		return err
	}
	return im.rows.check(im.checker, row)
}

// reloadCatalog reads the catalog again and reports whether it has changed. A feed is followed for months, and may
// report a GPU model that was added meanwhile.
func (im *Importer[T]) reloadCatalog(ctx context.Context) bool {
	var catalog assay.Catalog
	err := im.persist(func() (err error) {
		catalog, err = im.Store.Catalog(ctx)
		return err
	})
	if err != nil || reflect.DeepEqual(catalog, im.checker.Catalog) {
		return false
	}
	im.checker.Catalog = catalog
	return true
}

// Add adds a value that a program made; it is checked like a row of a file.
func (im *Importer[T]) Add(ctx context.Context, value T) error {
	if err := im.rows.check(im.checker, &value); err != nil {
		source, key := im.rows.describe(&value)
		return im.report([]Reject{{File: source, Reason: fmt.Sprintf("%s: %v", key, err)}})
	}
	*im.filling.add(location{}) = value
	if !im.full() {
		return nil
	}
	return im.Flush(ctx)
}

// Flush commits the added values that are waiting for their batch to fill.
func (im *Importer[T]) Flush(ctx context.Context) error {
	im.handed += len(im.filling.rows)
	return im.commit(ctx, im.filling)
}

// Receipts returns the receipts of the rows committed so far.
func (im *Importer[T]) Receipts() Receipts { return im.stored }

// FileReceipts returns those of the last file.
func (im *Importer[T]) FileReceipts() Receipts { return im.file }

// CommittedLine returns the last line of the batch that was committed last. Committed may call it.
func (im *Importer[T]) CommittedLine() int { return im.committed }

// Counts returns the counts of the rows committed so far.
func (im *Importer[T]) Counts() Counts { return im.counts }
