package jsonrows

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
)

// Piece is the compressed form of rows, with what a stream needs to know of their text. It is immutable.
//
// Each row is compressed by itself, so a part of the rows has a part of the bits. Marks say where every 32nd row
// begins: of a part that does not begin or end there, only the rows up to the next mark are compressed again.
type Piece struct {
	deflated []byte
	marks    []mark // of the rows 0, 32, 64 and so on, and of the end
	count    int    // of the rows
	shift    shift  // of the text
}

// mark is where a row begins: in the bits, and in the text before it.
type mark struct {
	bit  uint32 // of the first row, 0: with the head of the block
	size uint32 // of the text
	sum  uint32 // its CRC-32
}

// markRows is how many rows there are from a mark to the next.
const markRows = 32

// NewPiece compresses rows; see Deflate.
func NewPiece(previous, text []byte, ends []uint16) *Piece {
	p := &Piece{count: len(ends), shift: shiftOf(len(text)), marks: make([]mark, 1, len(ends)/markRows+2)}
	w := newBlock(nil, len(text))
	var last mark
	group := make([]uint16, markRows)
	for from := 0; from < len(ends); from += markRows {
		to := min(from+markRows, len(ends))
		rows := text[last.size:ends[to-1]]
		for k := range to - from {
			group[k] = ends[from+k] - uint16(last.size)
		}
		w.rows(previous, rows, group[:to-from], from == 0)
		last = mark{uint32(w.position(0)), uint32(ends[to-1]), crc32.Update(last.sum, crc32.IEEETable, rows)}
		p.marks = append(p.marks, last)
		previous = text[rowStart(ends, to-1):last.size]
	}
	p.deflated = slices.Clip(slices.Clone(w.finish()))
	return p
}

// rowStart is where row k begins.
func rowStart(ends []uint16, k int) int {
	if k == 0 {
		return 0
	}
	return int(ends[k-1])
}

// end is the mark of the end.
func (p *Piece) end() mark { return p.marks[len(p.marks)-1] }

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
	g.sum = combine(g.sum, p.end().sum, p.shift)
	g.size += p.end().size
}

// PartText returns some rows of a piece and the row before them, as Deflate takes them.
type PartText func(from, to int) (previous, text []byte, ends []uint16)

// AddPart adds the rows [from, to) of a piece. Like Rows, it comes before all pieces or after all of them. The text is
// requested of the rows before the first mark and after the last.
func (g *Gzip) AddPart(p *Piece, from, to int, part PartText) {
	g.close()
	// The marks between which the bits are those of the piece. A row that is the first of a block has other bits.
	first, last := 0, to/markRows
	if from > 0 {
		first = from/markRows + 1
	}
	if to == p.count {
		last = len(p.marks) - 1
	}
	if first >= last {
		g.Rows(part(from, to))
		return
	}
	a, b := p.marks[first], p.marks[last]
	w := &bitWriter{out: slices.Grow(g.buffer, len(p.deflated)+2*markRows*LongestRow)}
	if from > 0 {
		w = newBlock(g.buffer, len(p.deflated)+2*markRows*LongestRow)
	}
	if middle := first * markRows; from < middle {
		previous, text, ends := part(from, middle)
		g.count(text)
		w.rows(previous, text, ends, true)
	}
	w.copy(p.deflated, uint(a.bit), uint(b.bit))
	between := shiftOf(int(b.size - a.size))
	g.sum = combine(g.sum, combine(a.sum, b.sum, between), between)
	g.size += b.size - a.size
	if middle := last * markRows; middle < to {
		previous, text, ends := part(middle, to)
		g.count(text)
		w.rows(previous, text, ends, false)
	}
	g.buffer = w.finish()
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
