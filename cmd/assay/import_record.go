package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/intake"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
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
	i, err := intake.Record(ctx, r.db, r.family.Name, name, assay.Hash(sum.hash.Sum(nil)), r.importer, before)
	if err != nil {
		return fmt.Errorf("record the import of %s: %w", name, err)
	}
	return r.promise(&i)
}

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
	if len(w.rejected) == intake.MostRejected {
		return fmt.Errorf("--receipt: more than %s rows of a file are rejected", thousands(intake.MostRejected))
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
	receipt := intake.NewReceipt(w.log, i, w.rejected)
	text, err := receipt.Sign(w.key)
	if err == nil {
		_, err = fmt.Fprintln(w.file, text)
	}
	if err != nil {
		return fmt.Errorf("--receipt: %w", err)
	}
	return w.file.Sync()
}
