package assay

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// With returns the catalog with more entries after the existing ones. It refuses invalid entries and entries whose name
// or id exists: identifiers are unique. Lookups compare them byte by byte, but names that differ only in case would
// confuse readers, so they are refused too.
func (c *Catalog) With(added Catalog) (Catalog, error) {
	next := Catalog{
		GPUs: slices.Clip(c.GPUs), Regions: slices.Clip(c.Regions), Labs: slices.Clip(c.Labs),
		MemoryTypes: slices.Clip(c.MemoryTypes), CodingProducts: slices.Clip(c.CodingProducts),
	}
	var errs []error
	appendValid(&next.GPUs, added.GPUs, next.checkGPU, &errs)
	appendValid(&next.Regions, added.Regions, next.checkRegion, &errs)
	appendValid(&next.Labs, added.Labs, next.checkLab, &errs)
	appendValid(&next.MemoryTypes, added.MemoryTypes, next.checkMemoryType, &errs)
	appendValid(&next.CodingProducts, added.CodingProducts, next.checkCodingProduct, &errs)
	return next, errors.Join(errs...)
}

// appendValid adds the entries that pass a check, and the errors of the others.
func appendValid[T any](list *[]T, added []T, check func(T) error, errs *[]error) {
	for _, entry := range added {
		if err := check(entry); err != nil {
			*errs = append(*errs, err)
			continue
		}
		*list = append(*list, entry)
	}
}

func (c *Catalog) checkGPU(g GPU) error {
	return errors.Join(checkName("GPU", g.Name), checkNew("GPU", g.Name, c.GPUNames()))
}

func (c *Catalog) checkRegion(region string) error {
	return errors.Join(checkID("region", region), checkNew("region", region, append([]string{Global}, c.Regions...)))
}

func (c *Catalog) checkLab(l Lab) error {
	return errors.Join(checkID("lab", l.Lab), checkName("label", l.Label), checkNew("lab", l.Lab, c.LabNames()))
}

// memoryPrefix begins the id of every memory type, and no name, because requests use either.
const memoryPrefix = "mem_"

// MemoryCategories are the categories of memory types, in the order of the contract.
var MemoryCategories = []string{"dram", "flash", "module"}

func (c *Catalog) checkMemoryType(m MemoryType) error {
	var ids, names []string
	for _, known := range c.MemoryTypes {
		ids, names = append(ids, known.ID), append(names, known.MemoryType)
	}
	err := errors.Join(
		checkID("memory type", m.ID), checkName("name", m.MemoryType), checkOneOf("category", m.Category, MemoryCategories),
		checkNew("memory type", m.ID, ids), checkNew("name", m.MemoryType, names),
	)
	switch {
	case err != nil:
		return err
	case !strings.HasPrefix(m.ID, memoryPrefix) || m.ID == memoryPrefix:
		return fmt.Errorf("memory type %q: the id must begin with %s and have more characters", m.ID, memoryPrefix)
	case len(m.MemoryType) >= len(memoryPrefix) && strings.EqualFold(m.MemoryType[:len(memoryPrefix)], memoryPrefix):
		return fmt.Errorf("name %q must not begin with %s, as ids do", m.MemoryType, memoryPrefix)
	}
	return nil
}

// CodingCategories are the categories of coding products, in the order of the contract.
var CodingCategories = []string{"prs", "commits", "merge"}

// CodingKind is the type of the values in a category of coding products: a count or a percentage.
func CodingKind(category string) string {
	if category == "merge" {
		return "pct"
	}
	return "count"
}

func (c *Catalog) checkCodingProduct(p CodingProduct) error {
	ids := make([]string, len(c.CodingProducts))
	for i, known := range c.CodingProducts {
		ids[i] = known.ID
	}
	errs := []error{
		checkID("coding product", p.ID), checkName("label", p.Label), checkOneOf("category", p.Category, CodingCategories),
		checkNew("coding product", p.ID, ids),
	}
	for _, tool := range p.Tools {
		errs = append(errs, checkID("tool", tool))
	}
	for _, label := range p.SeriesLabels {
		errs = append(errs, checkName("series label", label))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return p.checkShape()
}

// checkShape refuses a product whose parts do not fit together.
func (p *CodingProduct) checkShape() error {
	switch tools, labels := len(p.Tools), len(p.SeriesLabels); {
	case p.Kind != CodingKind(p.Category):
		return fmt.Errorf("coding product %q: the kind of the category %s is %s, not %q",
			p.ID, p.Category, CodingKind(p.Category), p.Kind)
	case tools != 1 && tools != 2:
		return fmt.Errorf("coding product %q is about one tool, or compares two: it has %d", p.ID, tools)
	case p.Compare != (tools == 2):
		return fmt.Errorf("coding product %q: it compares when it has two tools, and only then", p.ID)
	case p.Compare && p.Tools[0] == p.Tools[1]:
		return fmt.Errorf("coding product %q compares the tool %s with itself", p.ID, p.Tools[0])
	case p.Compare && labels != 2 || !p.Compare && labels != 0:
		return fmt.Errorf("coding product %q: a comparison has two series labels, any other product none; it has %d",
			p.ID, labels)
	}
	return nil
}

// maxName is the longest name or id in bytes: what a message shows of a value.
const maxName = 64

// checkName refuses an invalid name. A comma separates names in messages and on the command line; the first
// character keeps a name from being a dot segment of a path or a flag.
func checkName(what, name string) error {
	first, _ := utf8.DecodeRuneInString(name)
	visible := CheckVisible(fmt.Sprintf("%s %q", what, name), name)
	switch {
	case name == "":
		return fmt.Errorf("%s: the name is empty", what)
	case len(name) > maxName:
		return fmt.Errorf("%s %.16q… is longer than %d bytes", what, name, maxName)
	case visible != nil:
		return visible
	case strings.Contains(name, ","):
		return fmt.Errorf("%s %q: a comma is not allowed", what, name)
	case !unicode.IsLetter(first) && !unicode.IsDigit(first):
		return fmt.Errorf("%s %q must begin with a letter or a digit", what, name)
	case strings.HasSuffix(name, " ") || strings.Contains(name, "  "):
		return fmt.Errorf("%s %q: a space stands at the end, or two together", what, name)
	}
	return nil
}

// checkID refuses an invalid id. Programs use ids in URLs and file names.
func checkID(what, id string) error {
	err := checkName(what, id)
	bad := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' }
	if err == nil && strings.ContainsFunc(id, bad) {
		err = fmt.Errorf("%s %q: allowed are lower-case letters, digits, - and _", what, id)
	}
	return err
}

func checkOneOf(what, word string, allowed []string) error {
	if slices.Contains(allowed, word) {
		return nil
	}
	return fmt.Errorf("%s %q: allowed are %s", what, word, strings.Join(allowed, ", "))
}

// checkNew refuses a name that exists.
func checkNew(what, name string, known []string) error {
	for _, k := range known {
		if k == name {
			return fmt.Errorf("%s %q is in the catalog already", what, name)
		}
		if strings.EqualFold(k, name) {
			return fmt.Errorf("%s %q differs only in case from %q, which is in the catalog", what, name, k)
		}
	}
	return nil
}

// GPUNames are the names of the GPUs in registry order.
func (c *Catalog) GPUNames() []string {
	names := make([]string, len(c.GPUs))
	for i, g := range c.GPUs {
		names[i] = g.Name
	}
	return names
}

// LabNames are the labs in registry order.
func (c *Catalog) LabNames() []string {
	names := make([]string, len(c.Labs))
	for i, l := range c.Labs {
		names[i] = l.Lab
	}
	return names
}
