package assay

import (
	"reflect"
	"strings"
	"testing"
)

func TestCatalog_With(t *testing.T) {
	t.Parallel()
	c := DefaultCatalog()
	before := DefaultCatalog()
	added := Catalog{
		GPUs:        []GPU{{"MI300X", true}, {"GH200 96GB/480GB", false}},
		Regions:     []string{"sa-east"},
		Labs:        []Lab{{"cohere", "Cohere", false}},
		MemoryTypes: []MemoryType{{"mem_hbm3_24gb", "HBM3 24GB (8-high) 6.4/9.2", "module"}},
		CodingProducts: []CodingProduct{
			{ID: "jules-merge", Label: "Jules Merge", Category: "merge", Kind: "pct", Tools: []string{"jules"}},
			{
				ID: "cc-vs-jules", Label: "Claude vs Jules", Category: "commits", Kind: "count", Compare: true,
				SeriesLabels: []string{"Claude Commits", "Jules Commits"}, Tools: []string{"cc", "jules"},
			},
		},
	}
	got, err := c.With(added)
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultCatalog()
	want.GPUs = append(want.GPUs, added.GPUs...)
	want.Regions = append(want.Regions, added.Regions...)
	want.Labs = append(want.Labs, added.Labs...)
	want.MemoryTypes = append(want.MemoryTypes, added.MemoryTypes...)
	want.CodingProducts = append(want.CodingProducts, added.CodingProducts...)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !reflect.DeepEqual(c, before) {
		t.Errorf("the old catalog has become %+v", c)
	}
}

// The catalog that a new database starts with keeps the rules that new entries must keep.
func TestCatalog_WithDefaults(t *testing.T) {
	t.Parallel()
	var empty Catalog
	if got, err := empty.With(DefaultCatalog()); err != nil || !reflect.DeepEqual(got, DefaultCatalog()) {
		t.Errorf("got %+v (%v)", got, err)
	}
}

func TestCatalog_WithRefuses(t *testing.T) {
	t.Parallel()
	c := DefaultCatalog()
	f := func(added Catalog, want string) {
		t.Helper()
		if got, err := c.With(added); err == nil || err.Error() != want {
			t.Errorf("%+v: got %v, want %s", added, err, want)
		} else if !reflect.DeepEqual(got, DefaultCatalog()) {
			t.Errorf("%+v is refused and added", added)
		}
	}
	gpu := func(name, want string) { t.Helper(); f(Catalog{GPUs: []GPU{{Name: name}}}, want) }
	gpu("H200", `GPU "H200" is in the catalog already`)
	gpu("h100 sxm", `GPU "h100 sxm" differs only in case from "H100 SXM", which is in the catalog`)
	gpu("", `GPU: the name is empty`)
	gpu(" H300", `GPU " H300" must begin with a letter or a digit`)
	gpu("H300 ", `GPU "H300 ": a space stands at the end, or two together`)
	gpu("H300  SXM", `GPU "H300  SXM": a space stands at the end, or two together`)
	gpu("H300\tSXM", `GPU "H300\tSXM" contains U+0009: must be visible characters and plain spaces`)
	gpu("H300\u00a0SXM", `GPU "H300\u00a0SXM" contains U+00A0: must be visible characters and plain spaces`)
	gpu("H300\u200b", `GPU "H300\u200b" contains U+200B: must be visible characters and plain spaces`)
	gpu("H300, SXM", `GPU "H300, SXM": a comma is not allowed`)
	gpu("H300\xff", `GPU "H300\xff" is not valid UTF-8 text`)
	gpu("..", `GPU ".." must begin with a letter or a digit`)
	gpu("-free", `GPU "-free" must begin with a letter or a digit`)
	gpu(strings.Repeat("H", 65), `GPU "HHHHHHHHHHHHHHHH"… is longer than 64 bytes`)

	region := func(name, want string) { t.Helper(); f(Catalog{Regions: []string{name}}, want) }
	region("us-east", `region "us-east" is in the catalog already`)
	region("global", `region "global" is in the catalog already`)
	region("SA East", `region "SA East": allowed are lower-case letters, digits, - and _`)
	region("", `region: the name is empty`)

	lab := func(l Lab, want string) { t.Helper(); f(Catalog{Labs: []Lab{l}}, want) }
	lab(Lab{"openai", "Another", false}, `lab "openai" is in the catalog already`)
	lab(Lab{"Cohere", "Cohere", false}, `lab "Cohere": allowed are lower-case letters, digits, - and _`)
	lab(Lab{"cohere", "", false}, `label: the name is empty`)

	memory := func(m MemoryType, want string) { t.Helper(); f(Catalog{MemoryTypes: []MemoryType{m}}, want) }
	memory(MemoryType{"mem_slc_1gb", "SLC", "flash"}, `memory type "mem_slc_1gb" is in the catalog already`)
	memory(MemoryType{"mem_slc", "slc 1GB (128mx8)", "flash"}, `name "slc 1GB (128mx8)" differs only in case from "SLC 1Gb (128Mx8)", which is in the catalog`)
	memory(MemoryType{"slc", "SLC", "flash"}, `memory type "slc": the id must begin with mem_ and have more characters`)
	memory(MemoryType{"mem_", "SLC", "flash"}, `memory type "mem_": the id must begin with mem_ and have more characters`)
	memory(MemoryType{"mem_slc", "MEM_slc_1gb", "flash"}, `name "MEM_slc_1gb" must not begin with mem_, as ids do`)
	memory(MemoryType{"mem_slc", "SLC", "disk"}, `category "disk": allowed are dram, flash, module`)

	product := func(change func(*CodingProduct), want string) {
		t.Helper()
		p := CodingProduct{
			ID: "cc-vs-jules", Label: "Claude vs Jules", Category: "prs", Kind: "count", Compare: true,
			SeriesLabels: []string{"Claude PRs", "Jules PRs"}, Tools: []string{"cc", "jules"},
		}
		change(&p)
		f(Catalog{CodingProducts: []CodingProduct{p}}, want)
	}
	product(func(p *CodingProduct) { p.ID = "cc-prs" }, `coding product "cc-prs" is in the catalog already`)
	product(func(p *CodingProduct) { p.ID = "cc/prs" }, `coding product "cc/prs": allowed are lower-case letters, digits, - and _`)
	product(func(p *CodingProduct) { p.Label = "" }, `label: the name is empty`)
	product(func(p *CodingProduct) { p.Category = "stars" }, `category "stars": allowed are prs, commits, merge`)
	product(func(p *CodingProduct) { p.Kind = "pct" }, `coding product "cc-vs-jules": the kind of the category prs is count, not "pct"`)
	product(func(p *CodingProduct) { p.Tools = nil }, `coding product "cc-vs-jules" is about one tool, or compares two: it has 0`)
	product(func(p *CodingProduct) { p.Tools = []string{"a", "b", "c"} }, `coding product "cc-vs-jules" is about one tool, or compares two: it has 3`)
	product(func(p *CodingProduct) { p.Tools[1] = "Jules" }, `tool "Jules": allowed are lower-case letters, digits, - and _`)
	product(func(p *CodingProduct) { p.Tools[1] = "cc" }, `coding product "cc-vs-jules" compares the tool cc with itself`)
	product(func(p *CodingProduct) { p.Compare = false }, `coding product "cc-vs-jules": it compares when it has two tools, and only then`)
	product(func(p *CodingProduct) { p.SeriesLabels = p.SeriesLabels[:1] },
		`coding product "cc-vs-jules": a comparison has two series labels, any other product none; it has 1`)
	product(func(p *CodingProduct) { p.Compare, p.Tools = false, p.Tools[:1] },
		`coding product "cc-vs-jules": a comparison has two series labels, any other product none; it has 2`)
	product(func(p *CodingProduct) { p.SeriesLabels[0] = "\n" },
		`series label "\n" contains U+000A: must be visible characters and plain spaces`)
}

// Entries that come together are held against each other, too.
func TestCatalog_WithTwice(t *testing.T) {
	t.Parallel()
	c := DefaultCatalog()
	got, err := c.With(Catalog{GPUs: []GPU{{"X300", true}, {"x300", false}}})
	if want := `GPU "x300" differs only in case from "X300", which is in the catalog`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if len(got.GPUs) != 7 {
		t.Errorf("the GPUs are %v", got.GPUs)
	}
}
