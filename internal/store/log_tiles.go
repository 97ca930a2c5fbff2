package store

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay/internal/cache"
	"github.com/assaydata/assay/internal/merkle"
	"github.com/assaydata/assay/internal/proof"
	"golang.org/x/mod/sumdb/tlog"
)

// tileMemory keeps tiles, hashes over parts of them, and entries for proofs. Full tiles never change, and the last one
// of level 0 only grows. Only proofs are made from it, which their readers compare with a signed checkpoint. What
// checks the log itself reads the database.
type tileMemory struct {
	full    *cache.Cache[merkle.Tile, []byte]
	inner   *cache.Cache[merkle.InnerOf, *merkle.Inner]
	entries *cache.Cache[int64, []byte] // by leaf

	recent atomic.Pointer[recentTree]

	mu     sync.Mutex
	first  int64  // leaf of the last tile of level 0; guarded by mu
	hashes []byte // of that tile, as far as they were read; guarded by mu
}

// How much is kept: 2 MB of full tiles, 2 MB of hashes over parts of more of them, and 1 MB of entries.
const (
	keptTiles   = 256
	keptInner   = 2048
	keptEntries = 4096
)

func newTileMemory() *tileMemory {
	return &tileMemory{
		full:    cache.New[merkle.Tile](cache.Limits[[]byte]{Entries: keptTiles}),
		inner:   cache.New[merkle.InnerOf](cache.Limits[*merkle.Inner]{Entries: keptInner}),
		entries: cache.New[int64](cache.Limits[[]byte]{Entries: keptEntries}),
	}
}

// tryTwice gets a value of a cache, and makes it once more if that fails: it may have been another request that was
// given up.
func tryTwice[K comparable, V any](c *cache.Cache[K, V], key K, read func() (V, error)) (V, error) {
	value, err := c.Try(key, read)
	if err != nil {
		return read()
	}
	return value, nil
}

// entry reads an entry of a log of a size.
func (m *tileMemory) entry(tx *tx, leaf, size int64) (entry []byte, err error) {
	index := leaf / merkle.TileWidth
	if index == size/merkle.TileWidth {
		err := tx.QueryRowContext(tx.ctx, `SELECT entry FROM log_tail WHERE leaf = $1`, leaf).Scan(&entry)
		return entry, err
	}
	return tryTwice(m.entries, leaf, func() ([]byte, error) {
		packed, err := readPacked(tx, index)
		if err != nil {
			return nil, err
		}
		return unpackEntry(packed, int(leaf%merkle.TileWidth))
	})
}

// read reads a tile of a log of a size.
func (m *tileMemory) read(tx *tx, t merkle.Tile, size int64) ([]byte, error) {
	if t.Level == 0 && t.Index == size/merkle.TileWidth {
		return m.readLast(tx, size)
	}
	if all := (merkle.Resource{Tile: t, Width: merkle.TileWidth}); !all.Within(size) {
		return readTile(tx, t, size)
	}
	return tryTwice(m.full, t, func() ([]byte, error) { return readTile(tx, t, size) })
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

// prover reads hashes of a log of a size.
func (m *tileMemory) prover(tx *tx, size int64) merkle.Prover {
	return merkle.Prover{
		Read: func(t merkle.Tile) ([]byte, error) { return m.read(tx, t, size) }, Size: size,
		Keep: func(of merkle.InnerOf, compute func() (*merkle.Inner, error)) (*merkle.Inner, error) {
			return tryTwice(m.inner, of, compute)
		},
	}
}

// recentTree is a checkpoint that was the last one a moment ago. Any tree that includes a record proves it as well.
type recentTree struct {
	checkpoint proof.SignedCheckpoint
	read       time.Time
}

// recentFor is how long proofs are made by the same checkpoint.
const recentFor = time.Second

// recentTree returns the last checkpoint, if it was read a moment ago; else nil.
func (m *tileMemory) recentTree() *recentTree {
	recent := m.recent.Load()
	if recent == nil || time.Since(recent.read) > recentFor {
		return nil
	}
	return recent
}

func (m *tileMemory) remember(c proof.SignedCheckpoint) { m.recent.Store(&recentTree{c, time.Now()}) }

// withKeptTiles is withTree for a proof.
func (db *DB) withKeptTiles(ctx context.Context, f func(tx *tx, r tlog.HashReader, size int64) error) error {
	return db.withTree(ctx, func(tx *tx, _ merkle.Reader, size int64) error {
		return f(tx, db.tiles.prover(tx, size), size)
	})
}
