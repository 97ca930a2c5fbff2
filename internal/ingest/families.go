package ingest

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/registry"
	"github.com/assaydata/assay/internal/store"
)

// rowType says how rows of type T become values in the store: what they look like in a file, which of them are
// plausible, and where they go.
type rowType[T any] struct {
	columns  []string // the header of a CSV file, the members of an NDJSON object, the columns of a Parquet file
	optional []string // the columns that a file may lack
	parse    func(c *family.Checker, cells []string, row *T) error
	check    func(c *family.Checker, row *T) error
	append   func(db *store.DB, ctx context.Context, rows []T) (store.Appended, error)
	describe func(row *T) (source, key string) // the key in words; observations have no source
	revises  bool                              // --revise turns other content into a new revision
}

// conflict reports that the key of a row is known with other content.
func (t *rowType[T]) conflict(source, key string) string {
	if t.revises {
		return key + " is known with different content; the first version stays. Use --revise to add a new revision."
	}
	return fmt.Sprintf("%s of source %q is known with different content; the first version stays", key, source)
}

// Observations imports rows of a data family.
func Observations(options Options, f family.Family) *Importer[family.Row] {
	return newImporter(options, &rowType[family.Row]{
		columns:  f.FileSchema().Names(),
		optional: f.FileSchema().Optional(),
		parse: func(c *family.Checker, cells []string, row *family.Row) (err error) {
			*row, err = f.ParseRow(c, cells)
			return err
		},
		check: func(c *family.Checker, row *family.Row) error { return f.CheckRow(c, *row) },
		append: func(db *store.DB, ctx context.Context, rows []family.Row) (store.Appended, error) {
			batch := make([]store.Observation, len(rows))
			for i, row := range rows {
				var err error
				if batch[i].Key, batch[i].Body, err = f.EncodeRow(row); err != nil {
					return store.Appended{}, err
				}
			}
			return db.AppendObservations(ctx, f.Name(), batch, options.Revise)
		},
		describe: func(row *family.Row) (source, key string) { return "", f.DescribeRow(*row) },
		revises:  f.FileSchema().Revises,
	})
}

// AnyImporter is an Importer without its type parameter.
type AnyImporter interface {
	File(ctx context.Context, name string, r io.Reader) error
	Follow(ctx context.Context, name string, r io.Reader, delay time.Duration) error
	Counts() Counts
	CommittedLine() int
	Receipts() Receipts
	FileReceipts() Receipts
}

// Family is something that can be imported: transactions, utilization, or a data family of the registry.
type Family struct {
	*family.Schema
	New func(Options) AnyImporter
}

// Families lists everything that can be imported, in the order in which help lists it.
var Families = allFamilies()

func allFamilies() []Family {
	all := []Family{
		{transactionSchema, func(o Options) AnyImporter { return Transactions(o) }},
		{utilizationSchema, func(o Options) AnyImporter { return Utilization(o) }},
	}
	for _, f := range registry.Families {
		all = append(all, Family{f.FileSchema(), func(o Options) AnyImporter { return Observations(o, f) }})
	}
	return all
}

// FindFamily returns the family with the given name.
func FindFamily(name string) (f Family, ok bool) {
	for _, f := range Families {
		if f.Name == name {
			return f, true
		}
	}
	return Family{}, false
}
