package api

import (
	"bytes"
	"encoding/json"

	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/table"
	"github.com/assaydata/assay/internal/web"
)

// catalog is a list of what can be requested, such as all GPUs.
type catalog struct {
	path    string
	columns *table.Schema
	body    func(snap *snapshot.Snapshot, modified int64) *web.Body
}

// newCatalog makes a catalog of rows.
func newCatalog[T any](path string, rows func(*snapshot.Snapshot) []T, columns *table.Schema) catalog {
	return catalog{path, columns, func(snap *snapshot.Snapshot, modified int64) *web.Body {
		return listBody(rows(snap), modified)
	}}
}

// catalogBodies are the bodies of all catalogs, by path.
type catalogBodies map[string]*web.Body

// catalogBodies returns the catalogs of a snapshot, made when the catalog changes.
func (a *API) catalogBodies(snap *snapshot.Snapshot) catalogBodies {
	return a.catalogs.Get(snap.CatalogVersion, func() catalogBodies {
		bodies := catalogBodies{}
		for _, f := range families {
			for _, c := range f.catalogs {
				bodies[c.path] = c.body(snap, a.Now().UnixMilli())
			}
		}
		return bodies
	})
}

// serveCatalog serves the catalog of a path.
func serveCatalog(path string) func(query) (web.Response, error) {
	return func(q query) (web.Response, error) { return web.Ready(q.api.catalogBodies(q.snap)[path]), nil }
}

// listBody is the response of a catalog.
func listBody[T any](rows []T, modified int64) *web.Body {
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
	return web.NewBody(bytes.TrimSpace(raw.Bytes()), modified)
}
