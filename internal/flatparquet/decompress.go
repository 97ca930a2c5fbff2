package flatparquet

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// decompress fills dst with the content of src. What it takes beyond that does not depend on what the page claims.
func (m *memory) decompress(codec format.CompressionCodec, dst, src []byte) error {
	n, err := 0, error(nil)
	switch codec { //nolint:exhaustive // the others are refused
	case format.Snappy:
		n, err = snappy.DecodedLen(src)
		if err == nil && n == len(dst) { // Decode would allocate what is missing
			_, err = snappy.Decode(dst, src)
		}
	case format.Zstd:
		n, err = m.decompressZstd(dst, src)
	case format.Lz4Raw:
		n, err = lz4.UncompressBlock(src, dst)
	case format.Gzip:
		if err = m.gzip.Reset(bytes.NewReader(src)); err == nil {
			n, err = readAll(&m.gzip, dst)
		}
	case format.Brotli:
		if err = m.brotli.Reset(bytes.NewReader(src)); err == nil {
			n, err = readAll(&m.brotli, dst)
		}
	default:
		return fmt.Errorf("pages are compressed with %s: allowed are SNAPPY, GZIP, ZSTD, LZ4_RAW and BROTLI", codec)
	}
	if err != nil {
		return broken("decompress a page with %s: %w", codec, err)
	}
	if n != len(dst) {
		return broken("a page has %d bytes after decompression with %s, not %d", n, codec, len(dst))
	}
	return nil
}

// readAll reads as many bytes as the buffer has, and returns one more if there are more.
func readAll(r io.Reader, buffer []byte) (int, error) {
	n, err := io.ReadFull(r, buffer)
	if err == io.EOF || err == io.ErrUnexpectedEOF { //nolint:errorlint // ReadFull returns these
		return n, nil
	}
	if err != nil {
		return n, err
	}
	var more [1]byte
	extra, err := io.ReadFull(r, more[:])
	if err == io.EOF { //nolint:errorlint // ReadFull returns it
		err = nil
	}
	return n + extra, err
}

// decompressZstd decompresses into dst and its capacity. That is also where the decoder looks for what is repeated, so
// it does not need the window that the page claims.
func (m *memory) decompressZstd(dst, src []byte) (int, error) {
	if m.zstd == nil {
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(maxPages), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return 0, err
		}
		m.zstd = decoder
	}
	out, err := m.zstd.DecodeAll(src, dst[:0])
	return copy(dst, out) + max(0, len(out)-len(dst)), err // nothing is copied if the decoder used dst
}
