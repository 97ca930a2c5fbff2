package ingest

import (
	"context"
	"fmt"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/store"
)

var utilizationSchema = &family.Schema{
	Name: "utilization", About: "the rented share of the capacity that a source tracks", Revises: true,
	Columns: []family.Column{
		{Name: "recorded_at", About: "ISO 8601 date-time, or YYYY-MM-DD HH:MM:SS in UTC"},
		{Name: "gpu_name", About: "a GPU model of the catalog, spelled exactly"},
		{Name: "region", About: "a region of the catalog, or empty", Optional: true},
		{Name: "rented_gpus", About: "an integer, 0 to tracked_gpus"},
		{Name: "tracked_gpus", About: "an integer, at least 1"},
		{Name: "source", About: "who reported it; may be left out when --source is given", Optional: true},
	},
	Example: [][]string{
		{"2026-01-02T09:00:00Z", "H100 SXM", "us-east", "7400", "8000", "exchange"},
		{"2026-01-02T10:00:00Z", "H100 SXM", "us-east", "7520", "8000", "exchange"},
	},
}

// UtilizationColumns are the columns of a file of utilization readings.
var UtilizationColumns = utilizationSchema.Names()

// Utilization imports utilization readings. A row is identified by its source, GPU model, region and instant.
func Utilization(options Options) *Importer[assay.UtilizationReading] {
	return newImporter(options, &rowType[assay.UtilizationReading]{
		columns:  UtilizationColumns,
		optional: utilizationSchema.Optional(),
		parse:    parseReading,
		check:    checkReading,
		append: func(db *store.DB, ctx context.Context, rows []assay.UtilizationReading) (store.Appended, error) {
			return db.AppendUtilization(ctx, rows, options.Revise)
		},
		revises: utilizationSchema.Revises,
		describe: func(r *assay.UtilizationReading) (source, key string) {
			return r.Source, fmt.Sprintf("the reading of gpu_name %q and region %q at %s of source %q",
				r.GPU, r.Region, assay.FormatInstant(r.At), r.Source)
		},
	})
}

// maxTracked is more GPUs than any source tracks: a row above it counts something else.
const maxTracked = 1_000_000_000

var (
	rented  = family.Quantity{Name: "rented_gpus", Most: maxTracked, Allowed: "an integer from 0 to tracked_gpus"}
	tracked = family.Quantity{Name: "tracked_gpus", Least: 1, Most: maxTracked, Allowed: "an integer from 1 to 1000000000"}
)

// parseReading parses cells in the order of UtilizationColumns.
func parseReading(c *family.Checker, cells []string, r *assay.UtilizationReading) (err error) {
	r.GPU, r.Region, r.Source = cells[1], cells[2], c.SourceOr(cells[5])
	if r.At, err = c.Instant("recorded_at", cells[0]); err != nil {
		return err
	}
	if r.Rented, err = rented.Parse(cells[3]); err != nil {
		return err
	}
	r.Tracked, err = tracked.Parse(cells[4])
	return err
}

func checkReading(c *family.Checker, r *assay.UtilizationReading) error {
	if err := family.CheckText("source", r.Source); err != nil {
		return err
	}
	if err := c.CheckLine(r.GPU, r.Region); err != nil {
		return err
	}
	if err := tracked.Check(r.Tracked); err != nil {
		return err
	}
	if err := rented.Check(r.Rented); err != nil {
		return err
	}
	if r.Rented > r.Tracked {
		return fmt.Errorf("rented_gpus %d is greater than tracked_gpus %d", r.Rented, r.Tracked)
	}
	return c.CheckInstant("recorded_at", r.At)
}
