package web

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// encoding is a content encoding.
type encoding uint8

const (
	identity encoding = iota
	gzipEncoding
	zstdEncoding
)

var encodings = [...]struct {
	name   string
	suffix string // of the ETag: the bytes of each encoding are a representation of their own
}{
	identity:     {"identity", ""},
	gzipEncoding: {"gzip", "-g"},
	zstdEncoding: {"zstd", "-z"},
}

// negotiate picks the encoding that the caller prefers; among equals, the given one. A caller that takes anything gets
// gzip, unless the header says more about gzip.
func negotiate(header []string, among encoding) encoding {
	var asked preferences
	for _, line := range header {
		for part := range strings.SplitSeq(line, ",") {
			asked.read(part)
		}
	}
	if !asked.named[gzipEncoding] {
		asked.quality[gzipEncoding] = asked.others
	}
	best, bestQ := identity, asked.quality[identity]
	for _, this := range [...]encoding{gzipEncoding, zstdEncoding} {
		if q := asked.quality[this]; q > bestQ || q == bestQ && q > 0 && (this == among || best == identity) {
			best, bestQ = this, q
		}
	}
	return best
}

// preferences are the qualities that an Accept-Encoding header gives.
type preferences struct {
	quality [len(encodings)]float64
	named   [len(encodings)]bool
	others  float64 // of what is not named
}

// read reads one part of the header, such as "gzip;q=0.8".
func (p *preferences) read(part string) {
	name, parameters, _ := strings.Cut(part, ";")
	name, q := strings.TrimSpace(name), parameterQuality(parameters)
	switch {
	case name == "*":
		p.others = q
	case strings.EqualFold(name, "gzip"), strings.EqualFold(name, "x-gzip"):
		p.name(gzipEncoding, q)
	case strings.EqualFold(name, "zstd"):
		p.name(zstdEncoding, q)
	case strings.EqualFold(name, "identity"):
		p.name(identity, q)
	}
}

func (p *preferences) name(e encoding, q float64) { p.named[e], p.quality[e] = true, q }

// quality reads the value of a parameter q; what is unreadable counts as 0.
func quality(value string) float64 {
	q, err := strconv.ParseFloat(value, 64)
	if err != nil || q < 0 || q > 1 {
		return 0
	}
	return q
}

// AcceptQuality is the quality that an Accept header gives a media type; 0 when it does not name it.
func AcceptQuality(header []string, mediaType string) (q float64) {
	for _, line := range header {
		for part := range strings.SplitSeq(line, ",") {
			name, parameters, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(name), mediaType) {
				q = parameterQuality(parameters)
			}
		}
	}
	return q
}

// parameterQuality finds the quality among the parameters of a media type or an encoding; without one it is 1.
func parameterQuality(parameters string) float64 {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if strings.EqualFold(name, "q") {
			return quality(value)
		}
	}
	return 1
}

var gzipWriters = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// streamWindow keeps the pooled encoders small; rows repeat within far less.
const streamWindow = 128 << 10

var zstdWriters = sync.Pool{New: func() any {
	w, err := zstd.NewWriter(io.Discard, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(streamWindow), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return w
}}

// encoder returns a writer that compresses on the way to w, and a function that finishes it.
func encoder(e encoding, w io.Writer) (io.Writer, func()) {
	switch e {
	case gzipEncoding:
		z := gzipWriters.Get().(*gzip.Writer)
		z.Reset(w)
		return z, func() { _ = z.Close(); gzipWriters.Put(z) }
	case zstdEncoding:
		z := zstdWriters.Get().(*zstd.Encoder)
		z.Reset(w)
		return z, func() { _ = z.Close(); zstdWriters.Put(z) }
	case identity:
	}
	return w, func() {}
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
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
}()
