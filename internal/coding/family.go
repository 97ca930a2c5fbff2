package coding

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
)

// Family is the family of coding tools' days. A day is identified by its tool and date.
var Family = &family.Definition[assay.CodingDay]{
	Family:   assay.FamilyCoding,
	Schema:   schema,
	Parse:    parse,
	Check:    check,
	Key:      (*assay.CodingDay).Key,
	Describe: describe,
	At:       func(o *assay.Observed[assay.CodingDay]) int64 { return o.Value.Day },
	Slot: func(d *assay.CodingDay) family.Slot {
		return family.Slot{Series: d.Tool, At: d.Day, End: d.Day + assay.Day}
	},
}

var schema = &family.Schema{
	Name: assay.FamilyCoding.String(), About: "what a coding tool did on a day", Revises: true,
	Columns: []family.Column{
		{Name: "date", About: "YYYY-MM-DD, a UTC day"},
		{Name: "tool", About: "a tool of the catalog's coding products, such as cc or codex"},
		{Name: "prs", About: "pull requests opened, an integer"},
		{Name: "merged", About: "how many of these were merged, 0 to prs"},
		{Name: "commits", About: "commits, an integer"},
	},
	Example: [][]string{
		{"2026-01-02", "cc", "41250", "33000", "187400"},
		{"2026-01-02", "codex", "38800", "32592", "0"},
	},
}

// maxPerDay is more pull requests or commits than any tool makes in a day. Below it a change in percent is exact.
const maxPerDay = 50_000_000

var (
	prs     = family.Quantity{Name: "prs", Most: maxPerDay, Allowed: "an integer from 0 to 50000000"}
	merged  = family.Quantity{Name: "merged", Most: maxPerDay, Allowed: "an integer from 0 to prs"}
	commits = family.Quantity{Name: "commits", Most: maxPerDay, Allowed: "an integer from 0 to 50000000"}
)

func parse(_ *family.Checker, cells []string, d *assay.CodingDay) (err error) {
	d.Tool = cells[1]
	if d.Day, err = family.ParseDay("date", cells[0]); err != nil {
		return err
	}
	if d.PRs, err = prs.Parse(cells[2]); err != nil {
		return err
	}
	if d.Merged, err = merged.Parse(cells[3]); err != nil {
		return err
	}
	d.Commits, err = commits.Parse(cells[4])
	return err
}

func check(c *family.Checker, d *assay.CodingDay) error {
	if d.Tool == "" {
		return errors.New("tool is missing")
	}
	if tools := c.Catalog.CodingTools(); !slices.Contains(tools, d.Tool) {
		return family.NotInCatalog("tool", d.Tool, strings.Join(tools, ", "))
	}
	if err := prs.Check(d.PRs); err != nil {
		return err
	}
	if err := merged.Check(d.Merged); err != nil {
		return err
	}
	if err := commits.Check(d.Commits); err != nil {
		return err
	}
	if d.Merged > d.PRs {
		return fmt.Errorf("merged %d is greater than prs %d", d.Merged, d.PRs)
	}
	return c.CheckInstant("date", d.Day)
}

func describe(d *assay.CodingDay) string {
	return fmt.Sprintf("the day %s of tool %q", assay.FormatDay(d.Day), family.Shorten(d.Tool))
}
