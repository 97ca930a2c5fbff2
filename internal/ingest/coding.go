package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assaydata/assay"
)

var codingSchema = &Schema{
	Family: "coding", About: "what a coding tool did on a day",
	Columns: []Column{
		{"date", "YYYY-MM-DD, a day of UTC", false},
		{"tool", "a tool of the catalog's coding products, such as cc or codex", false},
		{"prs", "pull requests opened, a whole number", false},
		{"merged", "how many of these were merged, 0 to prs", false},
		{"commits", "commits, a whole number", false},
	},
	Example: [][]string{
		{"2026-01-02", "cc", "41250", "33000", "187400"},
		{"2026-01-02", "codex", "38800", "32592", "0"},
	},
}

// CodingColumns are the columns of a file of coding metrics.
var CodingColumns = codingSchema.names()

// Coding imports what coding tools did. A row is known by its tool and day.
func Coding(options Options) *Importer[assay.CodingDay] {
	return newImporter(options, &family[assay.CodingDay]{
		columns:  CodingColumns,
		optional: codingSchema.optional(),
		parse:    parseCoding,
		check:    checkCoding,
		append:   observed(options, assay.FamilyCoding, (*assay.CodingDay).Key),
		describe: func(d *assay.CodingDay) (source, key string) {
			return "", fmt.Sprintf("the day %s of tool %q", assay.FormatDay(d.Day), shown(d.Tool))
		},
		revises: true,
	})
}

// No tool opens more pull requests or makes more commits a day than maxCoded; below it a change in percent is exact.
const maxCoded = 50_000_000

var (
	prs     = quantity{"prs", 0, 0, maxCoded, "whole numbers from 0 to 50000000"}
	merged  = quantity{"merged", 0, 0, maxCoded, "whole numbers from 0 to prs"}
	commits = quantity{"commits", 0, 0, maxCoded, "whole numbers from 0 to 50000000"}
)

// parseCoding takes the cells in the order of CodingColumns.
func parseCoding(_ *checker, cells []string, d *assay.CodingDay) (err error) {
	d.Tool = cells[1]
	if d.Day, err = parseDay("date", cells[0]); err != nil {
		return err
	}
	if d.PRs, err = prs.parse(cells[2]); err != nil {
		return err
	}
	if d.Merged, err = merged.parse(cells[3]); err != nil {
		return err
	}
	d.Commits, err = commits.parse(cells[4])
	return err
}

func checkCoding(c *checker, d *assay.CodingDay) error {
	if d.Tool == "" {
		return errors.New("tool is missing")
	}
	if tools := c.tools(); !slices.Contains(tools, d.Tool) {
		return fmt.Errorf("tool %q is not in the catalog: allowed are %s", shown(d.Tool), strings.Join(tools, ", "))
	}
	if err := prs.check(d.PRs); err != nil {
		return err
	}
	if err := merged.check(d.Merged); err != nil {
		return err
	}
	if err := commits.check(d.Commits); err != nil {
		return err
	}
	if d.Merged > d.PRs {
		return fmt.Errorf("merged %d is above prs %d", d.Merged, d.PRs)
	}
	return c.checkInstant("date", d.Day)
}

// tools are those of the catalog's coding products, in the order of the catalog.
func (c *checker) tools() (tools []string) {
	for _, p := range c.catalog.CodingProducts {
		for _, tool := range p.Tools {
			if !slices.Contains(tools, tool) {
				tools = append(tools, tool)
			}
		}
	}
	return tools
}
