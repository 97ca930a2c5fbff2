package bulk

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/assaydata/assay/internal/cache"
)

// Shelf keeps the bytes of files that readers have requested lately, in files without a name in the folder for
// temporary files: readers take them at their own pace, and in any ranges, while a file is made once. What a crash
// leaves behind is nothing. A file leaves when others need its place, and its bytes when its last reader is done.
type Shelf struct {
	files *cache.Cache[string, *os.File]
}

// What a shelf has at most.
const (
	shelfFiles = 128
	shelfBytes = 512 << 20
)

// NewShelf makes an empty shelf.
func NewShelf() *Shelf {
	return &Shelf{cache.New[string](cache.Limits[*os.File]{Entries: shelfFiles, Bytes: shelfBytes, Size: sizeOf})}
}

func sizeOf(f *os.File) int {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return int(info.Size())
}

// Has reports whether a file is there, or is being made.
func (s *Shelf) Has(r *Revision) bool { return s.files.Has(r.Name()) }

// Open returns the bytes of a file. Unless the shelf has them, write makes them. Bytes that are not those of the
// revision are an error. The file must not be closed: the garbage collector does that.
func (s *Shelf) Open(r *Revision, write func(io.Writer) error) (io.ReaderAt, error) {
	f, err := s.files.Try(r.Name(), func() (*os.File, error) { return newFile(r, write) })
	if err != nil {
		return nil, err
	}
	return f, nil
}

var errOther = errors.New("it has other bytes than before")

// newFile makes a file without a name.
func newFile(r *Revision, write func(io.Writer) error) (f *os.File, err error) {
	f, err = os.CreateTemp("", "assay-bulk-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file for %s: %w", r.Name(), err)
	}
	if err = os.Remove(f.Name()); err == nil {
		var m Meter
		if err = write(io.MultiWriter(f, &m)); err == nil && (m.Size != r.Size || m.Hash() != r.Hash) {
			err = errOther
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make %s: %w", r.Name(), err), f.Close())
	}
	return f, nil
}

// Meter is a writer that measures what is written.
type Meter struct {
	Size int64
	sum  hash.Hash
}

// Write takes a part.
func (m *Meter) Write(p []byte) (int, error) {
	if m.sum == nil {
		m.sum = sha256.New()
	}
	m.Size += int64(len(p))
	return m.sum.Write(p)
}

// Hash is the SHA-256 of what was written, which must be something.
func (m *Meter) Hash() [32]byte { return [32]byte(m.sum.Sum(nil)) }
