// Package ingest brings files and feeds into the store. A reader turns a file into rows of cells; a family turns the cells
// into a value and checks it; good values join a batch, and a batch is one transaction of the store. While a batch is
// written the next one is parsed. A bad row is reported with its file, line and reason, and never stops the good ones.
// Rows are known by a key of their family, so importing a file twice changes nothing.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// Reject is a row that was not imported.
type Reject struct {
	File   string
	Line   int // of a Parquet file the row
	Reason string
	Row    string
}

// Counts tell what became of the rows so far.
type Counts struct {
	Inserted, Duplicates, Rejected int
}

// Options are what importers of every family need. Rejected and Committed may be nil; while a file is imported they are
// called one at a time, but mostly from another goroutine than the caller's.
type Options struct {
	Store     *store.DB
	Catalog   assay.Catalog
	Source    string       // the source of rows that do not name one
	NotAfter  func() int64 // rows of a later instant are from the future; the answer may move with the clock
	Revise    bool         // other content under a known key is a new revision, in the families that have them
	Rejected  func(Reject) // hears every rejected row
	Committed func(Counts) // hears the counts after every commit
}

// Importer imports rows of one family. It is not safe for concurrent use.
type Importer[T any] struct {
	Options
	family  *family[T]
	values  *checker
	size    int // rows of a batch when not by the rule of batchSize; a test's is small
	handed  int // rows that have gone to the store, by which batches grow
	counts  Counts
	filling *batch[T]
	spare   *batch[T]  // the second batch, while no writer has it
	rejects []Reject   // not told yet
	writer  *writer[T] // while a file is imported
	feed    *feed      // while a feed is followed
}

// place is where a row stood.
type place struct {
	file string // of a value that a feed has made none: it is told by its source
	line int
	text string // shared with the row's cells
}

func newImporter[T any](options Options, f *family[T]) *Importer[T] {
	values := &checker{catalog: options.Catalog, source: options.Source, notAfter: options.NotAfter}
	return &Importer[T]{Options: options, family: f, values: values, filling: &batch[T]{}, spare: &batch[T]{}}
}

// File imports one file. The name decides how it is read: see Formats. A Parquet file must be an io.ReaderAt and an
// io.Seeker.
func (im *Importer[T]) File(ctx context.Context, name string, r io.Reader) error {
	rows, closer, err := openRows(name, r, im.family.columns, im.family.optional)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer closer()
	return im.rows(ctx, name, rows)
}

// rows imports what a reader gives. When it returns, all is written and told, or it gives the reason why not.
func (im *Importer[T]) rows(ctx context.Context, name string, rows rowReader) error {
	im.startWriter(ctx)
	err := im.parse(name, rows)
	if failed := im.stopWriter(); failed != nil {
		return failed // whatever stopped the parser was a consequence
	}
	return err
}

// parse gathers rows until the file ends or the writer has failed.
func (im *Importer[T]) parse(name string, rows rowReader) error {
	cells := make([]string, len(im.family.columns))
	for {
		clear(cells)
		at, err := rows.next(cells)
		at.file = name
		if err == nil {
			err = im.row(cells, at)
		} else if bad, ok := errors.AsType[badRow](err); ok {
			err = im.reject(at, bad.reason)
		} else if errors.Is(err, io.EOF) || errors.Is(err, errStopped) {
			return im.hand()
		} else {
			return fmt.Errorf("%s: read line %d: %w", name, at.line, err)
		}
		if err != nil {
			return err
		}
	}
}

// row takes one row's cells: a good one joins the batch, a bad one is rejected.
func (im *Importer[T]) row(cells []string, at place) error {
	row := im.filling.add(at)
	err := im.value(cells, row)
	if err != nil && im.feed != nil && im.newCatalog(im.feed.ctx) {
		*row = *new(T)
		err = im.value(cells, row)
	}
	if err != nil {
		im.filling.dropLast()
		return im.reject(at, err.Error())
	}
	if im.feed != nil && len(im.filling.rows) == 1 {
		im.feed.due.Reset(im.feed.delay)
	}
	return im.handFull()
}

// value makes a value of a row's cells.
func (im *Importer[T]) value(cells []string, row *T) error {
	if err := im.family.parse(im.values, cells, row); err != nil {
		return err
	}
	return im.family.check(im.values, row)
}

// newCatalog takes over the catalog if it has changed since: a feed is followed for months, and what it reports of a GPU
// that was added meanwhile is right. When it cannot be read, the one in hand holds; the next batch will fail and tell why.
func (im *Importer[T]) newCatalog(ctx context.Context) bool {
	catalog, err := im.Store.Catalog(ctx)
	if err != nil || reflect.DeepEqual(catalog, im.values.catalog) {
		return false
	}
	im.values.catalog = catalog
	return true
}

// Add takes a value that a feed has made; it is checked like a row of a file.
func (im *Importer[T]) Add(ctx context.Context, value T) error {
	if err := im.family.check(im.values, &value); err != nil {
		source, key := im.family.describe(&value)
		im.tell([]Reject{{File: source, Reason: fmt.Sprintf("%s: %v", key, err)}})
		return nil
	}
	*im.filling.add(place{}) = value
	if !im.full() {
		return nil
	}
	return im.Flush(ctx)
}

// Flush commits the added values that wait for their batch to fill.
func (im *Importer[T]) Flush(ctx context.Context) error {
	im.handed += len(im.filling.rows)
	return im.commit(ctx, im.filling)
}

// Counts tells what became of the rows committed so far.
func (im *Importer[T]) Counts() Counts { return im.counts }
