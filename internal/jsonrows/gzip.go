package jsonrows

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// Piece is the compressed form of rows, with what a stream needs to know of their text. It is immutable.
type Piece struct {
	deflated []byte
	sum      uint32 // the CRC-32 of the text
	size     uint32 // of the text
	shift    shift  // of the text
}

// NewPiece compresses rows; see Deflate.
func NewPiece(previous, text []byte, ends []uint16) *Piece {
	deflated := Deflate(make([]byte, 0, len(text)/8), previous, text, ends)
	return &Piece{
		deflated: append(make([]byte, 0, len(deflated)), deflated...), // without spare capacity
		sum:      crc32.ChecksumIEEE(text), size: uint32(len(text)), shift: shiftOf(len(text)),
	}
}

// Size is how many bytes the compressed form has.
func (p *Piece) Size() int { return len(p.deflated) }

// Gzip puts a stream together. Most of it are pieces, which it does not copy; the rest is made in a buffer of its own.
// A Gzip can be used again after Begin.
type Gzip struct {
	buffer []byte
	pieces []*Piece
	middle int    // the pieces come after this position in the buffer
	sum    uint32 // of the text so far
	size   uint32 // likewise, modulo 2 to the power of 32
}

// gzipHead says: deflate, no name, no time, unknown system.
var gzipHead = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}

// Begin begins a stream.
func (g *Gzip) Begin() {
	g.pieces, g.middle, g.sum, g.size = g.pieces[:0], 0, 0, 0
	g.buffer = append(g.buffer[:0], gzipHead...)
}

// Text adds text that is not compressed. The rows after it refer to the row that it ends with.
func (g *Gzip) Text(text []byte) {
	g.close()
	for rest := text; len(rest) > 0; {
		part := rest[:min(len(rest), math.MaxUint16)]
		g.buffer = appendStored(g.buffer, 0, part)
		rest = rest[len(part):]
	}
	g.count(text)
}

// appendStored appends a block of text as it is, up to 65,535 bytes; last is 1 for the last block of a stream.
func appendStored(dst []byte, last byte, text []byte) []byte {
	dst = append(dst, last)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(text)))
	dst = binary.LittleEndian.AppendUint16(dst, ^uint16(len(text)))
	return append(dst, text...)
}

func (g *Gzip) count(text []byte) {
	g.sum = crc32.Update(g.sum, crc32.IEEETable, text)
	g.size += uint32(len(text))
}

// Rows compresses and adds rows; see Deflate. What is not in pieces comes before all of them or after all of them.
func (g *Gzip) Rows(previous, text []byte, ends []uint16) {
	g.close()
	g.count(text)
	g.buffer = Deflate(g.buffer, previous, text, ends)
}

// close notes where the pieces are once something comes after them.
func (g *Gzip) close() {
	if len(g.pieces) == 0 {
		g.middle = len(g.buffer)
	}
}

// Add adds a piece, whose rows follow on those before.
func (g *Gzip) Add(p *Piece) {
	g.close()
	g.pieces = append(g.pieces, p)
	g.sum = combine(g.sum, p.sum, p.shift)
	g.size += p.size
}

// End ends the stream, and appends its parts to a list. They are valid until the next Begin.
func (g *Gzip) End(parts [][]byte) [][]byte {
	g.close()
	g.buffer = appendStored(g.buffer, 1, nil)
	g.buffer = binary.LittleEndian.AppendUint32(g.buffer, g.sum)
	g.buffer = binary.LittleEndian.AppendUint32(g.buffer, g.size)
	parts = append(parts, g.buffer[:g.middle])
	for _, p := range g.pieces {
		parts = append(parts, p.deflated)
	}
	return append(parts, g.buffer[g.middle:])
}
