package memory

import (
	"errors"
	"fmt"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
)

// Family is the family of memory price readings. A reading is identified by its memory type, instant and source.
var Family = &family.Definition[assay.MemoryReading]{
	Family:   assay.FamilyMemory,
	Schema:   schema,
	Parse:    parse,
	Check:    check,
	Key:      (*assay.MemoryReading).Key,
	Describe: describe,
	At:       func(o *assay.Observed[assay.MemoryReading]) int64 { return o.Value.At },
	Slot: func(r *assay.MemoryReading) family.Slot {
		at := weekdayFixing(r.At)
		return family.Slot{Series: r.MemoryID, At: at, End: at}
	},
}

var schema = &family.Schema{
	Name: assay.FamilyMemory.String(), About: "the price of a memory type that a source read", Revises: true,
	Columns: []family.Column{
		{Name: "recorded_at", About: "ISO 8601 date-time, or YYYY-MM-DD HH:MM:SS in UTC"},
		{Name: "memory_type", About: "id or exact name of a memory type in the catalog"},
		{Name: "price", About: "USD per unit, a plain decimal from 0.001 to 10000"},
		{Name: "source", About: "who read it; not needed if there is only one source", Optional: true},
	},
	Example: [][]string{
		{"2026-01-02T10:00:00Z", "mem_ddr5_16gb", "5.125", "exchange"},
		{"2026-01-02T10:00:00Z", "DDR4 8Gb (1Gx8) 3200", "2.75", ""},
	},
}

// priceColumn is in USD per unit. Within its bounds a change in percent is exact.
var priceColumn = family.Quantity{
	Name: "price", Decimals: 9, Least: 1_000_000, Most: 10_000_000_000_000,
	Allowed: "a plain decimal from 0.001 to 10000 with up to 9 decimals",
}

func parse(c *family.Checker, cells []string, r *assay.MemoryReading) (err error) {
	if r.At, err = c.Instant("recorded_at", cells[0]); err != nil {
		return err
	}
	if cells[1] == "" {
		return errors.New("memory_type is missing")
	}
	r.MemoryID = cells[1]
	if memory, ok := c.Catalog.Memory(cells[1]); ok {
		r.MemoryID = memory.ID // a name and its id are the same key
	}
	price, err := priceColumn.Parse(cells[2])
	r.Price, r.Source = assay.Nanos(price), cells[3]
	return err
}

func check(c *family.Checker, r *assay.MemoryReading) error {
	if memory, ok := c.Catalog.Memory(r.MemoryID); !ok || memory.ID != r.MemoryID {
		return family.NotInCatalog("memory_type", r.MemoryID, "the ids and names of /api/memory-types")
	}
	if err := priceColumn.Check(int64(r.Price)); err != nil {
		return err
	}
	if r.Source != "" {
		if err := family.CheckText("source", r.Source); err != nil {
			return err
		}
	}
	return c.CheckInstant("recorded_at", r.At)
}

func describe(r *assay.MemoryReading) string {
	text := fmt.Sprintf("the price of memory_type %q at %s", family.Shorten(r.MemoryID), assay.FormatInstant(r.At))
	if r.Source != "" {
		text += fmt.Sprintf(" by source %q", family.Shorten(r.Source))
	}
	return text
}
