package assay

import "slices"

// Kinds of entries of the catalogs.
const (
	KindGPU           = "gpu"
	KindRegion        = "region"
	KindLab           = "lab"
	KindMemoryType    = "memory-type"
	KindCodingProduct = "coding-product"
)

// CatalogKinds are the kinds in the order of the catalogs.
var CatalogKinds = []string{KindGPU, KindRegion, KindLab, KindMemoryType, KindCodingProduct}

// CatalogEntry names an entry of the catalogs.
type CatalogEntry struct {
	Kind string
	Name string // of a memory type and a coding product, its id
}

// Has reports whether the catalogs have an entry.
func (c *Catalog) Has(e CatalogEntry) bool {
	switch e.Kind {
	case KindGPU:
		return slices.Contains(c.GPUNames(), e.Name)
	case KindRegion:
		return slices.Contains(c.Regions, e.Name)
	case KindLab:
		return slices.Contains(c.LabNames(), e.Name)
	case KindMemoryType:
		return slices.ContainsFunc(c.MemoryTypes, func(m MemoryType) bool { return m.ID == e.Name })
	case KindCodingProduct:
		_, ok := c.CodingProduct(e.Name)
		return ok
	}
	return false
}

// Without returns the catalogs without some entries.
func (c *Catalog) Without(entries map[CatalogEntry]bool) Catalog {
	if len(entries) == 0 {
		return *c
	}
	return Catalog{
		GPUs:    without(c.GPUs, entries, func(g GPU) CatalogEntry { return CatalogEntry{KindGPU, g.Name} }),
		Regions: without(c.Regions, entries, func(r string) CatalogEntry { return CatalogEntry{KindRegion, r} }),
		Labs:    without(c.Labs, entries, func(l Lab) CatalogEntry { return CatalogEntry{KindLab, l.Lab} }),
		MemoryTypes: without(c.MemoryTypes, entries, func(m MemoryType) CatalogEntry {
			return CatalogEntry{KindMemoryType, m.ID}
		}),
		CodingProducts: without(c.CodingProducts, entries, func(p CodingProduct) CatalogEntry {
			return CatalogEntry{KindCodingProduct, p.ID}
		}),
	}
}

func without[T any](list []T, entries map[CatalogEntry]bool, entry func(T) CatalogEntry) []T {
	return slices.DeleteFunc(slices.Clone(list), func(one T) bool { return entries[entry(one)] })
}
