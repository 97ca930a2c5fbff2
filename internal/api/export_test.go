package api

import (
	"math"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/snapshot"
)

// What tests from outside the package need.
var (
	OpenAPIText  = openAPIText
	Enumerations = enumerations
	EachEnum     = eachEnum
	Enumerates   = enumerates
	Cursor       = cursor
	ParseCursor  = parseCursor
	SiteScopes   = siteScopes

	AppendMemoryRow    = appendMemoryRow
	AppendMemoryMiddle = appendMemoryMiddle
	AppendTokenPrice   = appendTokenPrice
	AppendCost         = appendCost
)

// CachedMemory is how many responses about memory a snapshot caches.
func CachedMemory(snap *snapshot.Snapshot) int {
	return memoryModelOf(snap, math.MaxInt64).bodies.Len()
}

// CachedCoding is how many responses about coding tools a snapshot caches.
func CachedCoding(snap *snapshot.Snapshot) int {
	return codingModelOf(snap, math.MaxInt64).bodies.Len()
}

// OpenAPIJSON is OpenAPI as JSON.
func OpenAPIJSON(catalog assay.Catalog) ([]byte, error) {
	d := describe(catalog)
	return d.json.Text(), d.err
}
