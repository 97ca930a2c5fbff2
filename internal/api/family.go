package api

import (
	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/snapshot"
)

// marketFamily is a kind of data with everything that the API does with it. Adding one means one such value, in its own
// file, and one entry in families.
type marketFamily struct {
	name     string // of its line in /health
	catalogs []catalog
	routes   []route

	// latest is the newest instant of the family's data; 0 without data.
	latest func(*snapshot.Snapshot) int64
	// warm prepares the responses that are requested most, before a snapshot is swapped in.
	warm func(*API, *snapshot.Snapshot)
	// forget drops the responses that requests have made of a snapshot; nil if those are few.
	forget func(*API, *snapshot.Snapshot)
	// enums lists what of a catalog the description of the API enumerates; nil for nothing.
	enums func(*assay.Catalog) [][]string
}

// families are all families, in the order of /health.
var families = []marketFamily{gpuFamily, memoryFamily, tokenFamily, codingFamily, siteFamily}
