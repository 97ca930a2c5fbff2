package store

import (
	"bytes"
	"compress/flate"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/merkle"
	"github.com/assaydata/assay/internal/proof"
	"golang.org/x/mod/sumdb/tlog"
)

func readLogSalt(tx *tx) (proof.Salt, error) {
	var text string
	err := tx.QueryRowContext(tx.ctx, `SELECT value FROM settings WHERE name = $1`, logSalt).Scan(&text)
	if err != nil {
		return nil, fmt.Errorf("read the salt of the log: %w", err)
	}
	return hex.DecodeString(text)
}

// LogSalt returns the secret behind the log's commitments.
func (db *DB) LogSalt(ctx context.Context) (s proof.Salt, err error) {
	err = db.read(ctx, func(tx *tx) error {
		s, err = readLogSalt(tx)
		return err
	})
	return s, err
}

// readTail reads the entries after the last bundle of a log of a size.
func readTail(tx *tx, size int64) ([][]byte, error) {
	return readEntries(tx, size-size%merkle.TileWidth, size)
}

// readEntries reads entries after the last bundle, in [first, size).
func readEntries(tx *tx, first, size int64) (tail [][]byte, err error) {
	err = tx.each(`SELECT leaf, entry FROM log_tail WHERE leaf >= $1 AND leaf < $2 ORDER BY leaf`, []any{first, size},
		func(scan scanFunc) error {
			var leaf int64
			var entry []byte
			if err := scan(&leaf, &entry); err != nil {
				return err
			}
			if leaf != first+int64(len(tail)) {
				return fmt.Errorf("%w: entry %d of the log is missing", ErrDamaged, first+int64(len(tail)))
			}
			tail = append(tail, entry)
			return nil
		})
	if err == nil && first+int64(len(tail)) != size {
		err = fmt.Errorf("%w: entry %d of the log is missing", ErrDamaged, first+int64(len(tail)))
	}
	return tail, err
}

// readTile reads a tile of a log of a size, with all its hashes. The last tile of level 0 follows from the tail.
func readTile(tx *tx, t merkle.Tile, size int64) (hashes []byte, err error) {
	if t.Level == 0 && t.Index == size/merkle.TileWidth {
		tail, err := readTail(tx, size)
		for _, entry := range tail {
			hash := tlog.RecordHash(entry)
			hashes = append(hashes, hash[:]...)
		}
		return hashes, err
	}
	query := `SELECT hashes FROM log_tiles WHERE level = $1 AND tile = $2`
	err = tx.QueryRowContext(tx.ctx, query, t.Level, t.Index).Scan(&hashes)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNoTile
	}
	return hashes, err
}

// ErrNoTile is the error for a part of the log that does not exist.
var ErrNoTile = errors.New("the log has no such tile")

// packer compresses bundles. It is reused: one takes most of a megabyte.
type packer struct{ flate *flate.Writer }

func (p *packer) pack(bundle []byte) ([]byte, error) {
	var packed bytes.Buffer
	if p.flate == nil {
		var err error
		if p.flate, err = flate.NewWriter(&packed, flate.BestSpeed); err != nil {
			return nil, err
		}
	}
	p.flate.Reset(&packed)
	_, err := p.flate.Write(bundle)
	if err == nil {
		err = p.flate.Close()
	}
	return packed.Bytes(), err
}

// maxBundle is the size of the largest bundle.
const maxBundle = merkle.TileWidth * (2 + merkle.MaxEntry)

// unpackers decompress bundles.
var unpackers = sync.Pool{New: func() any { return flate.NewReader(nil) }}

func unpack(packed []byte) ([]byte, error) {
	r := unpackers.Get().(io.ReadCloser)
	defer unpackers.Put(r)
	bundle := bytes.NewBuffer(make([]byte, 0, 64<<10)) // more than most have
	from := bytes.NewReader(packed)
	err := r.(flate.Resetter).Reset(from, nil)
	if err == nil {
		_, err = bundle.ReadFrom(io.LimitReader(r, maxBundle))
	}
	if err == nil && from.Len() > 0 {
		err = errors.New("there is more after its end")
	}
	if err != nil {
		return nil, damagedBundle(err)
	}
	return bundle.Bytes(), nil
}

func damagedBundle(err error) error {
	return fmt.Errorf("%w: a bundle of the log: %w", ErrDamaged, err)
}

// unpackEntry decompresses the entry at a position of a bundle, and nothing behind it.
func unpackEntry(packed []byte, position int) (entry []byte, err error) {
	r := unpackers.Get().(io.ReadCloser)
	defer unpackers.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(packed), nil); err != nil {
		return nil, damagedBundle(err)
	}
	var length [2]byte
	for range position + 1 {
		if _, err = io.ReadFull(r, length[:]); err != nil {
			return nil, damagedBundle(err)
		}
		n := int(length[0])<<8 | int(length[1])
		entry = slices.Grow(entry[:0], n)[:n]
		if _, err = io.ReadFull(r, entry); err != nil {
			return nil, damagedBundle(err)
		}
	}
	return slices.Clip(entry), nil
}

// LogTile reads a tile of the log's tree, with all hashes that it has.
func (db *DB) LogTile(ctx context.Context, t merkle.Tile) (hashes []byte, err error) {
	err = db.withTree(ctx, func(_ *tx, r merkle.Reader, _ int64) error {
		hashes, err = r(t)
		return err
	})
	return hashes, err
}

// LogBundle reads the entries below a tile of level 0, all that there are.
func (db *DB) LogBundle(ctx context.Context, index int64) (bundle []byte, err error) {
	err = db.withTree(ctx, func(tx *tx, _ merkle.Reader, size int64) error {
		bundle, err = readBundle(tx, index, size)
		return err
	})
	return bundle, err
}

func readBundle(tx *tx, index, size int64) (bundle []byte, err error) {
	if index != size/merkle.TileWidth {
		packed, err := readPacked(tx, index)
		if err != nil {
			return nil, err
		}
		return unpack(packed)
	}
	tail, err := readTail(tx, size)
	for _, entry := range tail {
		if err == nil {
			bundle, err = merkle.AppendBundled(bundle, entry)
		}
	}
	return bundle, err
}

// readPacked reads a bundle as it is stored.
func readPacked(tx *tx, index int64) (packed []byte, err error) {
	err = tx.QueryRowContext(tx.ctx, `SELECT entries FROM log_bundles WHERE bundle = $1`, index).Scan(&packed)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNoTile
	}
	return packed, err
}

// LogResource reads a tile or a bundle in the given width; it is nil if the last checkpoint does not include as much.
func (db *DB) LogResource(ctx context.Context, r merkle.Resource) (data []byte, err error) {
	err = db.withTree(ctx, func(tx *tx, read merkle.Reader, size int64) error {
		signed, err := lastCheckpoint(tx)
		if err != nil || !r.Within(signed.Size) {
			return err
		}
		if r.Entries {
			if data, err = readBundle(tx, r.Index, size); err == nil {
				data, err = merkle.FirstOfBundle(data, r.Width)
			}
			return err
		}
		if data, err = read(r.Tile); err == nil {
			data, err = merkle.FirstOfTile(data, r.Width)
		}
		return err
	})
	return data, err
}

// ProveRecord proves that the entry of a record is in the log, by the newest checkpoint that was signed by an instant;
// ok is false if that does not include it.
func (db *DB) ProveRecord(ctx context.Context, hash assay.Hash, by int64) (p proof.Inclusion, ok bool, err error) {
	err = db.withTree(ctx, func(tx *tx, _ merkle.Reader, size int64) error {
		if p.Checkpoint, err = checkpointAt(tx, by); err != nil {
			return err
		}
		if err := addCosignatures(tx, &p.Checkpoint, by); err != nil {
			return err
		}
		ok, err = db.tiles.prove(tx, hash, size, &p)
		return err
	})
	return p, ok, err
}

// ProveRecordSoon is ProveRecord by the last checkpoint, or by one that was the last a moment ago.
func (db *DB) ProveRecordSoon(ctx context.Context, hash assay.Hash) (p proof.Inclusion, ok bool, err error) {
	if recent := db.tiles.recentTree(); recent != nil {
		p.Checkpoint = recent.checkpoint
		err = db.read(ctx, func(tx *tx) error {
			ok, err = db.tiles.prove(tx, hash, recent.checkpoint.Size, &p)
			return err
		})
		if ok && err == nil { // else the log may have grown
			return p, ok, nil
		}
	}
	if p, ok, err = db.ProveRecord(ctx, hash, assay.Latest); ok {
		db.tiles.remember(p.Checkpoint)
	}
	return p, ok, err
}

// prove adds the proof that the checkpoint includes a record to it; ok is false if it does not. The log is of a size.
func (m *tileMemory) prove(tx *tx, hash assay.Hash, size int64, p *proof.Inclusion) (ok bool, err error) {
	if p.Leaf, p.Entry, err = findRecord(tx, hash, size, m); err != nil {
		return false, err
	}
	if p.Entry == nil || p.Leaf >= p.Checkpoint.Size {
		return false, nil
	}
	hashes, err := tlog.ProveRecord(p.Checkpoint.Size, p.Leaf, m.prover(tx, size))
	p.Hashes = plainHashes(hashes)
	return err == nil, err
}

func plainHashes(hashes []tlog.Hash) []assay.Hash {
	plain := make([]assay.Hash, len(hashes))
	for i := range hashes {
		plain[i] = assay.Hash(hashes[i])
	}
	return plain
}

// findRecord finds the entry of a record; it is nil if the log has none.
func findRecord(tx *tx, hash assay.Hash, size int64, m *tileMemory) (leaf int64, entry []byte, err error) {
	var leaves []int64
	err = tx.each(`SELECT leaf FROM log_records WHERE prefix = $1 ORDER BY leaf`, []any{recordPrefix(hash)},
		func(scan scanFunc) error {
			var leaf int64
			err := scan(&leaf)
			leaves = append(leaves, leaf)
			return err
		})
	// Others may share the first bytes, so the entry decides.
	want := fmt.Appendf(nil, `,"hash":"%x"}`, hash)
	for _, leaf := range leaves {
		if err != nil {
			break
		}
		if entry, err = m.entry(tx, leaf, size); err == nil && bytes.HasSuffix(entry, want) {
			return leaf, entry, nil
		}
	}
	return 0, nil, err
}

// ProveConsistency proves that the log of the given size begins with that of a smaller one. It also returns how many
// entries the last checkpoint signs: there is no proof for more.
func (db *DB) ProveConsistency(ctx context.Context, from, to int64) (hashes []assay.Hash, signed int64, err error) {
	err = db.withKeptTiles(ctx, func(tx *tx, r tlog.HashReader, _ int64) error {
		last, err := lastCheckpoint(tx)
		if signed = last.Size; err != nil || from < 1 || from > to || to > signed {
			return err
		}
		p, err := tlog.ProveTree(to, from, r)
		hashes = plainHashes(p)
		return err
	})
	return hashes, signed, err
}

// withTree calls f with the log's tree and its size.
func (db *DB) withTree(ctx context.Context, f func(tx *tx, r merkle.Reader, size int64) error) error {
	return db.read(ctx, func(tx *tx) error {
		size, err := tx.counter("log")
		if err != nil {
			return err
		}
		return f(tx, func(t merkle.Tile) ([]byte, error) { return readTile(tx, t, size) }, size)
	})
}

// EachLogEntry calls f for the first entries of the log, in order.
func (db *DB) EachLogEntry(ctx context.Context, size int64, f func(leaf int64, entry []byte) error) error {
	for first := int64(0); first < size; first += merkle.TileWidth {
		bundle, err := db.LogBundle(ctx, first/merkle.TileWidth)
		if errors.Is(err, ErrNoTile) {
			return fmt.Errorf("%w: entry %d of the log is missing", ErrDamaged, first)
		}
		if err != nil {
			return err
		}
		leaf := first
		err = merkle.SplitBundle(bundle, func(entry []byte) error {
			if leaf++; leaf > size {
				return nil // it was appended meanwhile
			}
			return f(leaf-1, entry)
		})
		if errors.Is(err, merkle.ErrShort) {
			return fmt.Errorf("%w: entry %d of the log: %w", ErrDamaged, leaf, err)
		}
		if err != nil {
			return err
		}
		if end := min(first+merkle.TileWidth, size); leaf < end {
			return fmt.Errorf("%w: entry %d of the log is missing", ErrDamaged, leaf)
		}
	}
	return nil
}

// LogRecordSum is a checksum over the table that says where the entries of records are. It does not depend on the order
// of rows, and detects damage, not malice: no proof depends on the table.
type LogRecordSum int64

// Add adds the entry of a record.
func (s *LogRecordSum) Add(hash assay.Hash, leaf int64) {
	*s += LogRecordSum(recordPrefix(hash)%idSumPrime + leaf)
}

// LogRecordSum computes the sum for the first entries of the log.
func (db *DB) LogRecordSum(ctx context.Context, size int64) (s LogRecordSum, err error) {
	err = db.read(ctx, func(tx *tx) error {
		var sum any
		query := fmt.Sprintf(`SELECT coalesce(sum(prefix %% %d + leaf), 0) FROM log_records WHERE leaf < $1`, idSumPrime)
		if err := tx.QueryRowContext(ctx, query, size).Scan(&sum); err != nil {
			return err
		}
		n, ok := wholeNumber(sum)
		if !ok {
			return fmt.Errorf("%w: log_records has something else than numbers", ErrDamaged)
		}
		s = LogRecordSum(n)
		return nil
	})
	return s, err
}
