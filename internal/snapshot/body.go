package snapshot

import (
	"bytes"
	"strconv"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/assaydata/assay"
)

// Body is a whole answer, ready in every content coding. Codings that would not make it smaller are nil.
type Body struct {
	Raw, Gzip, Zstd []byte
	ETag            string // without quotes and coding
	Modified        int64
}

// CompressFrom is the size at which compression begins to pay.
const CompressFrom = 1024

// NewBody makes a body of its JSON text.
func NewBody(raw []byte, modified int64) *Body {
	b := &Body{Raw: raw, ETag: Hash(raw), Modified: modified}
	if len(raw) >= CompressFrom {
		b.Gzip, b.Zstd = compressGzip(raw), zstdEncoder.EncodeAll(raw, nil)
	}
	return b
}

// Hash is a short digest of what makes an answer what it is, the same on every node.
func Hash(parts ...[]byte) string {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for _, part := range parts {
		for _, c := range part {
			h = (h ^ uint64(c)) * prime
		}
		h = (h ^ 0xff) * prime // so that parts do not run together; no UTF-8 text has this byte
	}
	return strconv.FormatUint(h, 36)
}

func compressGzip(raw []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.DefaultCompression)
	if err != nil {
		panic(err) // the level is a constant
	}
	_, _ = w.Write(raw) // a bytes.Buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

var zstdEncoder = func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
}()

// BodyKey names an answer that is kept with a series: the kind of answer, who it is for, and where its range begins. It
// always runs to the end of the series.
type BodyKey struct {
	Kind   string
	Access assay.Access
	From   int
}

// Body gives the answer of that name, making it on first demand. It lives as long as the series: the next publication
// that touches the series starts without.
func (s *Series) Body(key BodyKey, encode func() []byte) *Body {
	s.bodiesMu.Lock()
	defer s.bodiesMu.Unlock()
	if b, ok := s.bodies[key]; ok {
		return b
	}
	b := NewBody(encode(), s.modified)
	if s.bodies == nil {
		s.bodies = map[BodyKey]*Body{}
	}
	s.bodies[key] = b
	return b
}
