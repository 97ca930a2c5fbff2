// Package merkle is the arithmetic of an append-only log: a Merkle tree over entries, as RFC 6962 defines it and as
// C2SP's tlog-tiles stores and serves it. It is pure: the caller reads and stores the tiles.
//
// A leaf of the tree is the hash of an entry. A tile holds 256 neighboring hashes of one level, and levels are eight
// apart: each hash of a tile of level 1 is the hash over a full tile of level 0. Only the last tile of a level can have
// fewer than 256, so appending rewrites one tile of each level at most, and a full tile never changes.
//
// The tree over the first N entries follows from the tiles for any N. So does a proof that an entry is in it
// (inclusion), and that the tree over N entries begins with that over M (consistency). Package tlog of x/mod makes and
// checks the proofs; this package lets it read tiles.
package merkle

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

const (
	tileHeight = 8
	// TileWidth is how many hashes a full tile has.
	TileWidth = 1 << tileHeight
	// MaxEntry is the largest size of an entry: bundles give it 16 bits.
	MaxEntry = 1<<16 - 1
)

// Tile names a tile of hashes.
type Tile struct {
	Level int
	Index int64
}

// Edge is the last, incomplete tile of each level: all that appending needs. The zero value is that of an empty tree.
type Edge struct {
	size  int64
	tiles [][]byte // by level
}

// ReadEdge reads the edge of a tree. read returns a tile with at least the hashes that a tree of the size has.
func ReadEdge(size int64, read func(Tile) ([]byte, error)) (*Edge, error) {
	e := &Edge{size: size}
	for level, n := 0, size; n > 0; level, n = level+1, n>>tileHeight {
		var tile []byte
		if width := int(n % TileWidth); width > 0 {
			data, err := read(Tile{level, n >> tileHeight})
			if err != nil {
				return nil, err
			}
			if len(data) < width*tlog.HashSize {
				return nil, shortTile(Tile{level, n >> tileHeight}, data, width)
			}
			tile = append(tile, data[:width*tlog.HashSize]...)
		}
		e.tiles = append(e.tiles, tile)
	}
	return e, nil
}

// Size is the number of leaves.
func (e *Edge) Size() int64 { return e.size }

// Append appends a leaf. It calls full for each tile that this completes.
func (e *Edge) Append(leaf tlog.Hash, full func(Tile, []byte) error) error {
	e.size++
	n, hash := e.size, leaf
	for level := 0; ; level++ {
		if level == len(e.tiles) {
			e.tiles = append(e.tiles, nil)
		}
		tile := append(e.tiles[level], hash[:]...)
		e.tiles[level] = tile
		if n%TileWidth != 0 {
			return nil
		}
		n >>= tileHeight
		if err := full(Tile{level, n - 1}, tile); err != nil {
			return err
		}
		hash, e.tiles[level] = tileHash(tile), nil
	}
}

// Incomplete calls f for the last tile of each level that is not full.
func (e *Edge) Incomplete(f func(Tile, []byte) error) error {
	n := e.size
	for level, tile := range e.tiles {
		n >>= tileHeight
		if len(tile) == 0 {
			continue
		}
		if err := f(Tile{level, n}, tile); err != nil {
			return err
		}
	}
	return nil
}

// Root is the hash of the tree.
func (e *Edge) Root() (tlog.Hash, error) {
	return tlog.TreeHash(e.size, Reader(func(t Tile) ([]byte, error) {
		if t.Level < len(e.tiles) && t.Index == e.size>>(tileHeight*(t.Level+1)) {
			return e.tiles[t.Level], nil
		}
		return nil, fmt.Errorf("the root needs tile %d of level %d, which is not at the edge", t.Index, t.Level)
	}))
}

// tileHash is the hash over a full tile.
func tileHash(tile []byte) tlog.Hash {
	hashes := splitTile(tile)
	for len(hashes) > 1 {
		hashes = overPairs(hashes)
	}
	return hashes[0]
}

// splitTile returns the hashes of a tile.
func splitTile(tile []byte) []tlog.Hash {
	hashes := make([]tlog.Hash, len(tile)/tlog.HashSize)
	for i := range hashes {
		copy(hashes[i][:], tile[i*tlog.HashSize:])
	}
	return hashes
}

// overPairs replaces each pair of hashes by the hash over both; a last one without another is left out.
func overPairs(hashes []tlog.Hash) []tlog.Hash {
	for i := range len(hashes) / 2 {
		hashes[i] = tlog.NodeHash(hashes[2*i], hashes[2*i+1])
	}
	return hashes[:len(hashes)/2]
}

// Reader reads the hashes of a tree from tiles. It is a tlog.HashReader. It returns a tile as it is stored, with at
// least the hashes that the tree has.
type Reader func(Tile) ([]byte, error)

// ReadHashes is of tlog.HashReader.
func (read Reader) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	read = read.Once()
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		var err error
		if hashes[i], err = read.hash(index); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

// hash reads one hash of the tree.
func (read Reader) hash(index int64) (hash tlog.Hash, err error) {
	want := tlog.TileForIndex(tileHeight, index)
	id := Tile{want.L, want.N}
	data, err := read(id)
	if err != nil {
		return hash, err
	}
	if len(data) < want.W*tlog.HashSize {
		return hash, shortTile(id, data, want.W)
	}
	return tlog.HashFromTile(want, data[:want.W*tlog.HashSize], index)
}

// Once returns a reader of the same tree that reads each tile once.
func (read Reader) Once() Reader {
	tiles := map[Tile][]byte{}
	return func(t Tile) (data []byte, err error) {
		data, ok := tiles[t]
		if !ok {
			if data, err = read(t); err != nil {
				return nil, err
			}
			tiles[t] = data
		}
		return data, nil
	}
}

func shortTile(t Tile, data []byte, want int) error {
	have := len(data) / tlog.HashSize
	return fmt.Errorf("tile %d of level %d has %d hashes of %d: %w", t.Index, t.Level, have, want, ErrShort)
}

// CheckEntry checks the size of an entry.
func CheckEntry(entry []byte) error {
	if len(entry) > MaxEntry {
		return fmt.Errorf("an entry of the log has %d bytes, and at most %d are possible", len(entry), MaxEntry)
	}
	return nil
}

// AppendBundled appends an entry to a bundle: the entries of a tile of level 0, each behind its length.
func AppendBundled(bundle, entry []byte) ([]byte, error) {
	if err := CheckEntry(entry); err != nil {
		return nil, err
	}
	return append(append(bundle, byte(len(entry)>>8), byte(len(entry))), entry...), nil
}

// ErrShort is the error for a bundle or a tile that ends too early.
var ErrShort = errors.New("a bundle or a tile of the log ends too early")

// SplitBundle calls f for each entry of a bundle, in order. The entry is valid until the bundle changes.
func SplitBundle(bundle []byte, f func(entry []byte) error) error {
	for len(bundle) > 0 {
		if len(bundle) < 2 {
			return ErrShort
		}
		n := int(bundle[0])<<8 | int(bundle[1])
		if len(bundle) < 2+n {
			return ErrShort
		}
		if err := f(bundle[2 : 2+n]); err != nil {
			return err
		}
		bundle = bundle[2+n:]
	}
	return nil
}

// FirstOfBundle returns the first n entries of a bundle, as a bundle.
func FirstOfBundle(bundle []byte, n int) ([]byte, error) {
	end := 0
	for range n {
		if len(bundle) < end+2 {
			return nil, ErrShort
		}
		end += 2 + (int(bundle[end])<<8 | int(bundle[end+1]))
		if len(bundle) < end {
			return nil, ErrShort
		}
	}
	return bundle[:end], nil
}

// FirstOfTile returns the first n hashes of a tile.
func FirstOfTile(tile []byte, n int) ([]byte, error) {
	if len(tile) < n*tlog.HashSize {
		return nil, ErrShort
	}
	return tile[:n*tlog.HashSize], nil
}
