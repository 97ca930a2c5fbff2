package ingest

import (
	"errors"
	"fmt"

	"github.com/assaydata/assay"
)

var memorySchema = &Schema{
	Family: "memory", About: "the price of a memory type as a source saw it",
	Columns: []Column{
		{"recorded_at", "ISO 8601 date-time, or YYYY-MM-DD HH:MM:SS in UTC", false},
		{"memory_type", "id or exact name of a memory type of the catalog", false},
		{"price", "USD per unit, a plain decimal, 0.001 to 10000", false},
	},
	Example: [][]string{
		{"2026-01-02T10:00:00Z", "mem_ddr5_16gb", "5.125"},
		{"2026-01-02T10:00:00Z", "DDR4 8Gb (1Gx8) 3200", "2.75"},
	},
}

// MemoryColumns are the columns of a file of memory prices.
var MemoryColumns = memorySchema.names()

// Memory imports price readings of memory types. A row is known by its memory type and instant.
func Memory(options Options) *Importer[assay.MemoryReading] {
	return newImporter(options, &family[assay.MemoryReading]{
		columns:  MemoryColumns,
		optional: memorySchema.optional(),
		parse:    parseMemory,
		check:    checkMemory,
		append:   observed(options, assay.FamilyMemory, (*assay.MemoryReading).Key),
		describe: func(r *assay.MemoryReading) (source, key string) {
			return "", fmt.Sprintf("the price of memory_type %q at %s", shown(r.MemoryID), assay.FormatInstant(r.At))
		},
		revises: true,
	})
}

// memoryPrice is in USD per unit. Within its bounds a change in percent is exact.
var memoryPrice = quantity{"price", 9, 1_000_000, 10_000_000_000_000, "plain decimals from 0.001 to 10000 with up to 9 decimals"}

// parseMemory takes the cells in the order of MemoryColumns.
func parseMemory(c *checker, cells []string, r *assay.MemoryReading) (err error) {
	if r.At, err = c.instant("recorded_at", cells[0]); err != nil {
		return err
	}
	if cells[1] == "" {
		return errors.New("memory_type is missing")
	}
	r.MemoryID = cells[1]
	if memory, ok := c.catalog.Memory(cells[1]); ok {
		r.MemoryID = memory.ID // a name and its id are one key
	}
	price, err := memoryPrice.parse(cells[2])
	r.Price = assay.Nanos(price)
	return err
}

func checkMemory(c *checker, r *assay.MemoryReading) error {
	if memory, ok := c.catalog.Memory(r.MemoryID); !ok || memory.ID != r.MemoryID {
		return fmt.Errorf("memory_type %q is not in the catalog: allowed are the ids and names of /api/memory-types", shown(r.MemoryID))
	}
	if err := memoryPrice.check(int64(r.Price)); err != nil {
		return err
	}
	return c.checkInstant("recorded_at", r.At)
}
