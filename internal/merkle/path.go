package merkle

import (
	"errors"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Resource is what a path of tlog-tiles names: a tile of hashes, or the bundle of entries below a tile of level 0.
type Resource struct {
	Tile
	Entries bool
	Width   int // how many hashes or entries
}

// ErrPath is the error for a path that names nothing.
var ErrPath = errors.New("a path is like tile/0/x001/234, tile/1/000.p/5 or tile/entries/x001/234")

// maxLevel is the highest level that tlog-tiles knows.
const maxLevel = 63

// ParsePath parses a path such as tile/0/x001/234.p/17. A resource has only one path.
func ParsePath(path string) (r Resource, err error) {
	rest, ok := strings.CutPrefix(path, "tile/")
	if !ok {
		return r, ErrPath
	}
	// tlog's paths name the height too, and call entries data.
	if entries, ok := strings.CutPrefix(rest, "entries/"); ok {
		r.Entries, rest = true, "data/"+entries
	} else if strings.HasPrefix(rest, "data/") {
		return r, ErrPath
	}
	t, err := tlog.ParseTilePath("tile/8/" + rest)
	if err != nil || t.L > maxLevel {
		return r, ErrPath
	}
	r.Tile, r.Width = Tile{max(t.L, 0), t.N}, t.W
	return r, nil
}

// Path is the path of the resource, which ParsePath parses.
func (r *Resource) Path() string {
	t := tlog.Tile{H: tileHeight, L: r.Level, N: r.Index, W: r.Width}
	if r.Entries {
		t.L = -1
	}
	rest := strings.TrimPrefix(t.Path(), "tile/8/")
	if entries, ok := strings.CutPrefix(rest, "data/"); ok {
		rest = "entries/" + entries
	}
	return "tile/" + rest
}

// Within reports whether the log has the resource when it has so many entries.
func (r *Resource) Within(entries int64) bool {
	hashes := entries >> (tileHeight * r.Level)
	return r.Index < hashes/TileWidth || r.Index == hashes/TileWidth && int64(r.Width) <= hashes%TileWidth
}
