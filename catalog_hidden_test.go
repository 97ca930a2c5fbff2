package assay

import (
	"reflect"
	"testing"
)

// Every entry of every kind can be left out, and nothing else is.
func TestCatalog_Without(t *testing.T) {
	t.Parallel()
	all := DefaultCatalog()
	size := func(c Catalog) int {
		return len(c.GPUs) + len(c.Regions) + len(c.Labs) + len(c.MemoryTypes) + len(c.CodingProducts)
	}
	for _, e := range []CatalogEntry{
		{KindGPU, all.GPUs[1].Name},
		{KindRegion, all.Regions[0]},
		{KindLab, all.Labs[2].Lab},
		{KindMemoryType, all.MemoryTypes[3].ID},
		{KindCodingProduct, all.CodingProducts[0].ID},
	} {
		rest := all.Without(map[CatalogEntry]bool{e: true})
		if !all.Has(e) || rest.Has(e) || size(rest) != size(all)-1 {
			t.Errorf("without %v there are %d entries of %d", e, size(rest), size(all))
		}
	}
	if all.Has(CatalogEntry{KindGPU, "us-east"}) || all.Has(CatalogEntry{"planet", "Mars"}) {
		t.Error("the catalogs have entries under other kinds")
	}
	if !reflect.DeepEqual(all.Without(nil), DefaultCatalog()) {
		t.Error("without nothing, the catalogs differ")
	}
}
