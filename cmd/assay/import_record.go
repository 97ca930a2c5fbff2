package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/verifier"
)

// fileSum is the SHA-256 of a file that is imported.
type fileSum struct {
	hash  hash.Hash
	known bool // of the whole file
}

func newFileSum() *fileSum { return &fileSum{hash: sha256.New()} }

// sumFile sums a file before it is read. What cannot be read twice, such as a pipe, is summed while it is read.
func sumFile(ctx context.Context, f *os.File) (*fileSum, error) {
	s := newFileSum()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return s, err
	}
	if _, err := io.Copy(s.hash, files.Reader(ctx, f)); err != nil {
		return nil, err
	}
	s.known = true
	_, err = f.Seek(0, io.SeekStart)
	return s, err
}

// tee sums what is read, unless the sum is known.
func (s *fileSum) tee(r io.Reader) io.Reader {
	if s.known {
		return r
	}
	return io.TeeReader(r, s.hash)
}

// recorded imports a file, and lets the log list that.
func (r *importRun) recorded(ctx context.Context, name string, sum *fileSum, read func() error) error {
	before := r.importer.Counts()
	if r.receipts != nil {
		r.receipts.rejected = nil
	}
	if err := read(); err != nil || r.check {
		return err
	}
	counts, receipts := r.importer.Counts(), r.importer.FileReceipts()
	i := proof.Import{
		Family: r.family.Name, File: filepath.Base(name), SHA256: assay.Hash(sum.hash.Sum(nil)),
		FirstReceipt: receipts.First, LastReceipt: receipts.Last, Rows: int64(counts.Inserted - before.Inserted),
		Known: int64(counts.Duplicates - before.Duplicates), Rejected: int64(counts.Rejected - before.Rejected),
	}
	i, err := r.db.AddImport(ctx, i)
	if err != nil {
		return fmt.Errorf("record the import of %s: %w", name, err)
	}
	return r.promise(&i)
}

// checkpointWithin is how soon a checkpoint includes what was received: the publisher signs every ten minutes, and may
// be restarted meanwhile.
const checkpointWithin = time.Hour

// maxRejectedLines is how many rejected rows a receipt can name.
const maxRejectedLines = 10_000

// receiptWriter gives out receipts for imported files.
type receiptWriter struct {
	file     *os.File
	key      ed25519.PrivateKey
	log      string
	rejected []int // lines of the current file
}

// openReceipts opens the file of --receipt.
func openReceipts(ctx context.Context, db *store.DB, config *importConfig) (*receiptWriter, error) {
	key, err := commandSigningKey(ctx, db, config.location.folder())
	if err != nil {
		return nil, err
	}
	if key == nil {
		return nil, errors.New("there is no signing key; create one with 'assay signing-key init'")
	}
	keys, err := db.SigningKeys(ctx)
	if err != nil {
		return nil, err
	}
	file, err := files.Append(config.receipt)
	return &receiptWriter{file: file, key: key, log: keys.Log()}, err
}

// reject notes a row that is not promised.
func (w *receiptWriter) reject(line int) error {
	if len(w.rejected) == maxRejectedLines {
		return fmt.Errorf("--receipt: more than %s rows of a file are rejected", thousands(maxRejectedLines))
	}
	w.rejected = append(w.rejected, line)
	return nil
}

// promise writes the receipt for a file, if one is asked for.
func (r *importRun) promise(i *proof.Import) error {
	w := r.receipts
	if w == nil {
		return nil
	}
	receipt := verifier.Receipt{
		Log: w.log, Import: i.Number, File: i.File, FileSHA256: hex.EncodeToString(i.SHA256[:]),
		Accepted: i.Rows + i.Known, RejectedLines: slices.Sorted(slices.Values(w.rejected)),
		ReceivedAt:     assay.FormatInstant(i.At),
		InCheckpointBy: assay.FormatInstant(i.At + checkpointWithin.Milliseconds()),
	}
	if receipt.RejectedLines == nil {
		receipt.RejectedLines = []int{}
	}
	text, err := receipt.Sign(w.key)
	if err == nil {
		_, err = fmt.Fprintln(w.file, text)
	}
	if err != nil {
		return fmt.Errorf("--receipt: %w", err)
	}
	return w.file.Sync()
}
