package store

import (
	"context"
	"sync"

	"github.com/assaydata/assay/internal/cache"
	"github.com/assaydata/assay/internal/merkle"
	"golang.org/x/mod/sumdb/tlog"
)

// tileMemory keeps tiles and bundles of entries for proofs. Full ones never change, and the last tile of level 0 only
// grows. Only proofs are made from it, which their readers compare with a signed checkpoint. What checks the log itself
// reads the database.
type tileMemory struct {
	full    *cache.Cache[merkle.Tile, []byte]
	bundles *cache.Cache[int64, []byte]

	mu     sync.Mutex
	first  int64  // leaf of the last tile of level 0; guarded by mu
	hashes []byte // of that tile, as far as they were read; guarded by mu
}

// How much is kept: 2 MB of full tiles, and about as much of bundles.
const (
	keptTiles   = 256
	keptBundles = 64
)

func newTileMemory() *tileMemory {
	return &tileMemory{
		full:    cache.New[merkle.Tile](cache.Limits[[]byte]{Entries: keptTiles}),
		bundles: cache.New[int64](cache.Limits[[]byte]{Entries: keptBundles}),
	}
}

// entry reads an entry of a log of a size.
func (m *tileMemory) entry(tx *tx, leaf, size int64) (entry []byte, err error) {
	index := leaf / merkle.TileWidth
	if index == size/merkle.TileWidth {
		err := tx.QueryRowContext(tx.ctx, `SELECT entry FROM log_tail WHERE leaf = $1`, leaf).Scan(&entry)
		return entry, err
	}
	read := func() ([]byte, error) { return readBundle(tx, index, size) }
	bundle, err := m.bundles.Try(index, read)
	if err != nil {
		bundle, err = read() // it may have been another request that was given up
	}
	if err != nil {
		return nil, err
	}
	at := index * merkle.TileWidth
	err = merkle.SplitBundle(bundle, func(e []byte) error {
		if at == leaf {
			entry = e
		}
		at++
		return nil
	})
	return entry, err
}

// read reads a tile of a log of a size.
func (m *tileMemory) read(tx *tx, t merkle.Tile, size int64) ([]byte, error) {
	if t.Level == 0 && t.Index == size/merkle.TileWidth {
		return m.readLast(tx, size)
	}
	if all := (merkle.Resource{Tile: t, Width: merkle.TileWidth}); !all.Within(size) {
		return readTile(tx, t, size)
	}
	hashes, err := m.full.Try(t, func() ([]byte, error) { return readTile(tx, t, size) })
	if err != nil {
		return readTile(tx, t, size) // it may have been another request that was given up
	}
	return hashes, nil
}

// readLast reads the last tile of level 0, of which only new entries have to be read and hashed.
func (m *tileMemory) readLast(tx *tx, size int64) ([]byte, error) {
	first := size - size%merkle.TileWidth
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.first != first {
		m.first, m.hashes = first, nil
	}
	known := int64(len(m.hashes) / tlog.HashSize)
	if first+known < size {
		entries, err := readEntries(tx, first+known, size)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			hash := tlog.RecordHash(entry)
			m.hashes = append(m.hashes, hash[:]...)
		}
	}
	return m.hashes[:(size-first)*tlog.HashSize], nil
}

// withKeptTiles is withTree for a proof.
func (db *DB) withKeptTiles(ctx context.Context, f func(tx *tx, r merkle.Reader, size int64) error) error {
	return db.withTree(ctx, func(tx *tx, _ merkle.Reader, size int64) error {
		return f(tx, func(t merkle.Tile) ([]byte, error) { return db.tiles.read(tx, t, size) }, size)
	})
}
