package api

import (
	"github.com/assaydata/assay/internal/snapshot"
)

// What tests from outside the package need.
var (
	OpenAPIText  = openAPIText
	Enumerations = enumerations
	EachEnum     = eachEnum
	Enumerates   = enumerates
	Cursor       = bookmark.cursor
	ParseCursor  = parseCursor
	SiteScopes   = siteScopes

	AppendMemoryRow    = appendMemoryRow
	AppendMemoryMiddle = appendMemoryMiddle
	AppendTokenPrice   = appendTokenPrice
	AppendCost         = appendCost
)

// NewBookmark is where a reader has stopped.
func NewBookmark(p snapshot.Position, history uint64, correctedAt int64) bookmark {
	return bookmark{Position: p, history: history, correctedAt: correctedAt}
}

// CachedMemory is how many responses about memory a snapshot caches.
func CachedMemory(a *API, snap *snapshot.Snapshot) int {
	return memoryModels.current(a, snap).bodies.Len()
}

// CachedCoding is how many responses about coding tools a snapshot caches.
func CachedCoding(a *API, snap *snapshot.Snapshot) int {
	return codingModels.current(a, snap).bodies.Len()
}

// HasPastModel reports whether a model of what was known at a receipt is in memory.
func HasPastModel(a *API, snap *snapshot.Snapshot, name string, received int64) bool {
	return a.past.models.Has(pastKey{name, received, snap.CatalogVersion, keyOfSchedule(snap)})
}
