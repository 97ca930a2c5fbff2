package ingest

import (
	"fmt"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

var utilizationSchema = &Schema{
	Family: "utilization", About: "how much of the capacity that a source tracks is rented",
	Columns: []Column{
		{"recorded_at", "ISO 8601 date-time, or YYYY-MM-DD HH:MM:SS in UTC", false},
		{"gpu_name", "a GPU of the catalog, spelled exactly", false},
		{"region", "a region of the catalog, or empty", true},
		{"rented_gpus", "a whole number, 0 to tracked_gpus", false},
		{"tracked_gpus", "a whole number, 1 at least", false},
		{"source", "who reported it; may be left out when --source is given", true},
	},
	Example: [][]string{
		{"2026-01-02T09:00:00Z", "H100 SXM", "us-east", "7400", "8000", "exchange"},
		{"2026-01-02T10:00:00Z", "H100 SXM", "us-east", "7520", "8000", "exchange"},
	},
}

// UtilizationColumns are the columns of a file of utilization readings.
var UtilizationColumns = utilizationSchema.names()

// Utilization imports utilization readings. A row is known by its source, GPU, region and instant.
func Utilization(options Options) *Importer[assay.UtilizationReading] {
	return newImporter(options, &family[assay.UtilizationReading]{
		columns:  UtilizationColumns,
		optional: utilizationSchema.optional(),
		parse:    parseReading,
		check:    checkReading,
		append:   (*store.DB).AppendUtilization,
		describe: func(r *assay.UtilizationReading) (source, key string) {
			return r.Source, fmt.Sprintf("the reading of gpu_name %q and region %q at %s", r.GPU, r.Region, assay.FormatInstant(r.At))
		},
	})
}

// More GPUs than maxTracked are not tracked anywhere: such a row counts something else.
const maxTracked = 1_000_000_000

var (
	rented  = quantity{"rented_gpus", 0, 0, maxTracked, "whole numbers from 0 to tracked_gpus"}
	tracked = quantity{"tracked_gpus", 0, 1, maxTracked, "whole numbers from 1 to 1000000000"}
)

// parseReading takes the cells in the order of UtilizationColumns.
func parseReading(c *checker, cells []string, r *assay.UtilizationReading) (err error) {
	r.GPU, r.Region, r.Source = cells[1], cells[2], c.sourceOr(cells[5])
	if r.At, err = c.instant("recorded_at", cells[0]); err != nil {
		return err
	}
	if r.Rented, err = rented.parse(cells[3]); err != nil {
		return err
	}
	r.Tracked, err = tracked.parse(cells[4])
	return err
}

func checkReading(c *checker, r *assay.UtilizationReading) error {
	if err := checkText("source", r.Source); err != nil {
		return err
	}
	if err := c.checkLine(r.GPU, r.Region); err != nil {
		return err
	}
	if err := tracked.check(r.Tracked); err != nil {
		return err
	}
	if err := rented.check(r.Rented); err != nil {
		return err
	}
	if r.Rented > r.Tracked {
		return fmt.Errorf("rented_gpus %d is above tracked_gpus %d", r.Rented, r.Tracked)
	}
	return c.checkInstant("recorded_at", r.At)
}
