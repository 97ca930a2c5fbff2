package merkle

import "golang.org/x/mod/sumdb/tlog"

// A proof needs, of each tile on its way, the hashes over a half, a quarter and so on down to a single hash. To compute
// them takes nearly as long as to hash the whole tile, for every proof. The larger ones are few, and never change.

// innerLevel is the first level within a tile whose hashes are kept: each is over 16 hashes of the tile.
const innerLevel = 4

// Inner has the hashes over 16, 32, 64 and 128 neighbors of a tile, as far as there are as many. The one over N of them
// is behind the 256/N others that are over more.
type Inner [TileWidth >> (innerLevel - 1)]tlog.Hash

// InnerOf names the inner hashes of a tile, which may not be full: of its first groups of 16 hashes.
type InnerOf struct {
	Tile
	Groups int
}

// newInner computes the inner hashes of a tile.
func newInner(tile []byte) *Inner {
	inner := &Inner{}
	hashes := splitTile(tile)
	for level := 1; level < tileHeight; level++ {
		if hashes = overPairs(hashes); level >= innerLevel {
			copy(inner[TileWidth>>level:], hashes)
		}
	}
	return inner
}

// Prover reads the hashes of a tree for proofs. It is a tlog.HashReader.
type Prover struct {
	Read Reader
	Size int64 // of the tree
	// Keep returns what it has kept under a name, or computes and keeps it.
	Keep func(of InnerOf, compute func() (*Inner, error)) (*Inner, error)
}

// ReadHashes is of tlog.HashReader.
func (p Prover) ReadHashes(indexes []int64) (hashes []tlog.Hash, err error) {
	read := p.Read.Once()
	hashes = make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		if hashes[i], err = p.hash(read, index); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

func (p Prover) hash(read Reader, index int64) (tlog.Hash, error) {
	level, n := tlog.SplitStoredHashIndex(index)
	within := level % tileHeight
	if within < innerLevel {
		return read.hash(index)
	}
	first := n << within // of the hashes of the tile's level that it is over
	of := InnerOf{Tile: Tile{level / tileHeight, first / TileWidth}}
	width := min(TileWidth, p.Size>>(tileHeight*of.Level)-of.Index*TileWidth)
	of.Groups = int(width >> innerLevel)
	inner, err := p.Keep(of, func() (*Inner, error) {
		data, err := read(of.Tile)
		if err != nil {
			return nil, err
		}
		data, err = FirstOfTile(data, of.Groups<<innerLevel)
		if err != nil {
			return nil, shortTile(of.Tile, data, of.Groups<<innerLevel)
		}
		return newInner(data), nil
	})
	if err != nil {
		return tlog.Hash{}, err
	}
	return inner[TileWidth>>within+first%TileWidth>>within], nil
}
