package verify

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/assaydata/assay/internal/files"
)

// Size limits of the files of a bundle, in bytes. They are far above those of any market.
const (
	maxHead        = 1 << 20
	maxMethodology = 64 << 10
	maxList        = 256 << 20 // a file that is read into memory
	maxStream      = 256 << 30 // a file that is read a day at a time
	maxRecord      = 64 << 10  // a record of a CSV file
)

// maxSize is the size limit of a file of a bundle.
func maxSize(name string) int64 {
	switch {
	case name == bundleFile || name == CheckpointFile || name == keysFile:
		return maxHead
	case name == transactionsFile || name == recordsFile:
		return maxStream
	case strings.HasPrefix(name, methodologyFolder+"/"):
		return maxMethodology
	}
	return maxList
}

// bundleFolder is the folder of a bundle. A bundle comes from someone else: only regular files inside the folder are
// read, and no longer than the context lasts.
type bundleFolder struct {
	root *os.Root
	ctx  context.Context // in the struct because readers take no context
	open []*os.File
}

func openFolder(ctx context.Context, dir string) (*bundleFolder, error) {
	root, err := os.OpenRoot(dir)
	return &bundleFolder{root: root, ctx: ctx}, err
}

func (f *bundleFolder) close() {
	for _, file := range f.open {
		_ = file.Close() // only read
	}
	_ = f.root.Close()
}

// reader opens a file, which stays open until close.
func (f *bundleFolder) reader(name string) (io.Reader, error) {
	file, err := files.OpenRegular(f.root, filepath.FromSlash(name), maxSize(name))
	if err != nil {
		return nil, err
	}
	f.open = append(f.open, file)
	limited := io.LimitReader(files.Reader(f.ctx, file), maxSize(name))
	return bufio.NewReaderSize(limited, 1<<16), nil
}

// content reads a whole file.
func (f *bundleFolder) content(name string) ([]byte, error) {
	r, err := f.reader(name)
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	_, err = content.ReadFrom(r)
	return content.Bytes(), err
}

// sum is the SHA-256 of a file.
func (f *bundleFolder) sum(name string) (string, error) {
	r, err := f.reader(name)
	if err != nil {
		return "", err
	}
	return sumOf(r)
}

func sumOf(r io.Reader) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil)), err
}

// csvFile reads a CSV file. Its records are bounded: a quote that never ends would be collected in memory.
type csvFile struct {
	*csv.Reader
	input recordInput
}

func newCSVFile(r io.Reader) *csvFile {
	f := &csvFile{input: recordInput{r: r}}
	f.Reader = csv.NewReader(&f.input)
	return f
}

// Read reads the next record.
func (f *csvFile) Read() ([]string, error) {
	f.input.left = maxRecord
	return f.Reader.Read()
}

// recordInput is the input of a CSV reader, which takes at most maxRecord bytes for a record.
type recordInput struct {
	r    io.Reader
	left int
}

var errLongRecord = errors.New("a record is longer than 65536 bytes")

func (i *recordInput) Read(p []byte) (int, error) {
	if i.left <= 0 {
		return 0, errLongRecord
	}
	n, err := i.r.Read(p[:min(len(p), i.left)])
	i.left -= n
	return n, err
}
