// Package family defines what a data family is: observations that sources report and indices are computed from, such as
// memory prices, or what coding tools did on a day.
//
// A family is one value, a Definition. It says what a row of a file looks like, which rows are plausible, what
// identifies a row, and which instant a row is about. Everything between a file and a reader works from that value:
// ingest parses and checks rows, store keeps them as JSON under their keys, live reads them back, snapshot holds them,
// /health reports how recent they are. Package registry lists the definitions.
package family

import (
	"encoding/json"
	"fmt"

	"github.com/assaydata/assay"
)

// Family is a Definition without its type parameter, so that code can loop over all families.
type Family interface {
	Name() assay.Family
	FileSchema() *Schema
	ParseRow(c *Checker, cells []string) (Row, error)
	CheckRow(c *Checker, row Row) error
	DescribeRow(row Row) string
	EncodeRow(row Row) (key string, body []byte, err error)
	NewBatch() Batch
	NoObservations() AnyObservations
	Settles() bool
}

// Definition describes the family of observations of type T. All fields but Slot are required.
type Definition[T any] struct {
	Family   assay.Family
	Schema   *Schema
	Parse    func(c *Checker, cells []string, value *T) error // cells are in the order of the schema's columns
	Check    func(c *Checker, value *T) error                 // rejects what cannot be true
	Key      func(value *T) string                            // identifies a value within its family
	Describe func(value *T) string                            // names a value by its key, in words
	At       func(o *assay.Observed[T]) int64                 // the instant an observation is about
	Slot     func(value *T) Slot                              // the time that settles with it; nil if none does
}

// Row is one row of any family on its way into the database.
type Row struct{ value any }

// Row returns a value as a row.
func (d *Definition[T]) Row(value T) Row { return Row{&value} }

func value[T any](row Row) *T { return row.value.(*T) }

// Name returns the family's name.
func (d *Definition[T]) Name() assay.Family { return d.Family }

// Settles reports whether values of the family become final.
func (d *Definition[T]) Settles() bool { return d.Slot != nil }

// FileSchema returns the columns of the family's files.
func (d *Definition[T]) FileSchema() *Schema { return d.Schema }

// ParseRow parses the cells of a row.
func (d *Definition[T]) ParseRow(c *Checker, cells []string) (Row, error) {
	value := new(T)
	err := d.Parse(c, cells, value)
	return Row{value}, err
}

// CheckRow rejects a row that cannot be true.
func (d *Definition[T]) CheckRow(c *Checker, row Row) error { return d.Check(c, value[T](row)) }

// DescribeRow names a row by its key, in words.
func (d *Definition[T]) DescribeRow(row Row) string { return d.Describe(value[T](row)) }

// EncodeRow returns a row's key and its content as the database keeps it.
func (d *Definition[T]) EncodeRow(row Row) (key string, body []byte, err error) {
	body, err = json.Marshal(value[T](row))
	return d.Key(value[T](row)), body, err
}

// Batch collects observations that were read from the database.
type Batch interface {
	// Add decodes an observation. Observations are added in the order of receipt.
	Add(key string, body []byte, revision int, received int64) error
}

// Batches holds a batch of each family, or nil for none.
type Batches [assay.NumFamilies]Batch

type batch[T any] struct{ observed []assay.Observed[T] }

// NewBatch returns an empty batch.
func (d *Definition[T]) NewBatch() Batch { return &batch[T]{} }

// BatchOf returns a batch of observations, which must be in the order of receipt.
func (d *Definition[T]) BatchOf(observed ...assay.Observed[T]) Batch { return &batch[T]{observed} }

// Add decodes an observation.
func (b *batch[T]) Add(key string, body []byte, revision int, received int64) error {
	o := assay.Observed[T]{Key: key, Revision: revision, Received: received}
	if err := json.Unmarshal(body, &o.Value); err != nil {
		return fmt.Errorf("decode the observation %q: %w", key, err)
	}
	b.observed = append(b.observed, o)
	return nil
}
