package demo

import (
	"context"
	"iter"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/memory"
	"github.com/assaydata/assay/internal/registry"
	"github.com/assaydata/assay/internal/sites"
	"github.com/assaydata/assay/internal/tokens"
)

// generator makes the rows of a family that become known in (from, until].
type generator func(d *Demo, from, until int64) iter.Seq[family.Row]

// generators has one generator for each family. An empty slot fails TestGenerators_EveryFamily.
var generators = [assay.NumFamilies]generator{
	assay.FamilyMemory: generate(memory.Family, (*Demo).memory),
	assay.FamilyModels: generate(tokens.Family, (*Demo).models),
	assay.FamilyCoding: generate(coding.Family, (*Demo).coding),
	assay.FamilySites:  generate(sites.Family, (*Demo).sites),
}

func generate[T any](f *family.Definition[T], values func(d *Demo, from, until int64) iter.Seq[T]) generator {
	return func(d *Demo, from, until int64) iter.Seq[family.Row] {
		return func(yield func(family.Row) bool) {
			for value := range values(d, from, until) {
				if !yield(f.Row(value)) {
					return
				}
			}
		}
	}
}

// bringFamilies imports the utilization readings and the rows of all families that become known in (fed, until]. A
// family of which the store has nothing, as in a folder from before it existed, gets its whole history. Rows that are
// stored already change nothing.
func (d *Demo) bringFamilies(ctx context.Context, until int64) error {
	counters, err := d.Store.Counters(ctx)
	if err != nil {
		return err
	}
	from := func(newest int64) int64 {
		if newest == 0 {
			return min(d.fed, d.begin(until))
		}
		return d.fed
	}
	readings := ingest.Utilization(d.options(until))
	if err := importAll(ctx, readings, d.utilization(from(counters.Utilization), until)); err != nil {
		return err
	}
	for f := range generators {
		if err := d.bring(ctx, assay.Family(f), from(counters.Observed[f]), until); err != nil {
			return err
		}
	}
	return nil
}

// bring imports the rows of one family that become known in (from, until].
func (d *Demo) bring(ctx context.Context, f assay.Family, from, until int64) error {
	importer := ingest.Observations(d.options(until), registry.Families[f])
	return importAll(ctx, importer, generators[f](d, from, until))
}

// options are those of every import of the demo. Of the families only sites change, which are then revised.
func (d *Demo) options(until int64) ingest.Options {
	return ingest.Options{
		Store: d.Store, Catalog: d.catalog, NotAfter: func() int64 { return until }, Revise: true,
		Rejected: func(r ingest.Reject) error {
			d.Log.Error("demo row rejected", "source", r.File, "reason", r.Reason)
			return nil
		},
	}
}

func importAll[T any](ctx context.Context, importer *ingest.Importer[T], rows iter.Seq[T]) error {
	for row := range rows {
		if err := importer.Add(ctx, row); err != nil {
			return err
		}
	}
	return importer.Flush(ctx)
}

// daily are the rows of the days that become known in (from, until], each day delay after its midnight.
func daily[T any](from, until, delay int64, appendDay func(dst []T, midnight int64) []T) iter.Seq[T] {
	return func(yield func(T) bool) {
		var rows []T
		for midnight := assay.StartOfDay(from-delay) + assay.Day; midnight+delay <= until; midnight += assay.Day {
			rows = appendDay(rows[:0], midnight)
			for _, row := range rows {
				if !yield(row) {
					return
				}
			}
		}
	}
}
