package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"sync"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/snapshot"
)

// catalogBodies are the catalogs' answers, made whenever the catalog changes.
type catalogBodies struct {
	version int64 // of the catalog

	gpuTypes, gpuTypesFree, regions, tokenTypes, tokenTypesFree, memoryTypes, codingProducts *body

	description func() (*openAPIBodies, error)
}

// gpuType is a row of the GPU catalog.
type gpuType struct {
	GPUName string `json:"gpu_name"`
	Region  string `json:"region"`
}

// regionRow is a row of the catalog of regions.
type regionRow struct {
	Region string `json:"region"`
}

func newCatalogBodies(snap *snapshot.Snapshot, modified int64) *catalogBodies {
	c := snap.Catalog
	var all, free []gpuType
	for _, g := range snap.GPUsByName {
		all = append(all, gpuType{GPUName: g.Name})
		if g.Free {
			free = append(free, gpuType{GPUName: g.Name})
		}
	}
	var regions []regionRow
	for _, region := range c.Regions {
		regions = append(regions, regionRow{region})
	}
	freeLabs := slices.DeleteFunc(slices.Clone(c.Labs), func(l assay.Lab) bool { return !l.Free })
	return &catalogBodies{
		version:        snap.CatalogVersion,
		gpuTypes:       listBody(all, modified),
		gpuTypesFree:   listBody(free, modified),
		regions:        listBody(regions, modified),
		tokenTypes:     listBody(c.Labs, modified),
		tokenTypesFree: listBody(freeLabs, modified),
		memoryTypes:    listBody(sortedMemory(c.MemoryTypes), modified),
		codingProducts: listBody(c.CodingProducts, modified),
		description:    sync.OnceValues(func() (*openAPIBodies, error) { return describe(c) }),
	}
}

// sortedMemory is the order of memory types: by category, then name.
func sortedMemory(types []assay.MemoryType) []assay.MemoryType {
	return slices.SortedFunc(slices.Values(types), func(a, b assay.MemoryType) int {
		return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(a.MemoryType, b.MemoryType))
	})
}

// listBody is the answer of a catalog.
func listBody[T any](rows []T, modified int64) *body {
	if rows == nil {
		rows = []T{} // an empty list, not null
	}
	var raw bytes.Buffer
	err := json.NewEncoder(&raw).Encode(struct {
		Success bool `json:"success"`
		Count   int  `json:"count"`
		Data    []T  `json:"data"`
	}{true, len(rows), rows})
	if err != nil {
		panic(err) // the rows are strings
	}
	return newBody(bytes.TrimSpace(raw.Bytes()), modified)
}

func gpuTypes(c *call) (answer, error)       { return ready(c.s.catalogs.Load().gpuTypes), nil }
func gpuTypesFree(c *call) (answer, error)   { return ready(c.s.catalogs.Load().gpuTypesFree), nil }
func regions(c *call) (answer, error)        { return ready(c.s.catalogs.Load().regions), nil }
func tokenTypes(c *call) (answer, error)     { return ready(c.s.catalogs.Load().tokenTypes), nil }
func tokenTypesFree(c *call) (answer, error) { return ready(c.s.catalogs.Load().tokenTypesFree), nil }
func memoryTypes(c *call) (answer, error)    { return ready(c.s.catalogs.Load().memoryTypes), nil }
func codingProducts(c *call) (answer, error) { return ready(c.s.catalogs.Load().codingProducts), nil }
