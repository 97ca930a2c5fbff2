package snapshot

import (
	"bytes"
	"slices"
	"sync"

	"github.com/assaydata/assay/internal/jsonrows"
	"github.com/assaydata/assay/internal/memfile"
)

// The rows of a series are the JSON of its points, joined by commas.
//
// Of the text, a series keeps what KeepText says; the rest is written for each response. The compressed form of a whole
// block is made when it is first requested, and kept with the block: some five bytes a point, and no more whatever
// ranges are requested. Of the blocks that a range cuts, it takes a part, and only a few rows are compressed for it.
// The response with all rows of a long series is also kept in a file, until the series changes.

// span is a part of a block.
type span struct {
	*block
	number   int // of the block
	from, to int // positions in the block
}

// spans lists the parts of the blocks with the points [i, j).
func (s *Series) spans(i, j int) func(yield func(span) bool) {
	return func(yield func(span) bool) {
		for n := i / blockRows; i < j; n++ {
			first := n * blockRows
			to := min(j-first, blockRows)
			if !yield(span{s.blocks[n], n, i - first, to}) {
				return
			}
			i = first + to
		}
	}
}

// TextSize is how many bytes the rows of the points [i, j) have.
func (s *Series) TextSize(i, j int) (bytes int) {
	for p := range s.spans(i, j) {
		if p.to-p.from == int(p.count) {
			bytes += int(p.size)
		} else {
			bytes += p.partSize()
		}
	}
	return max(0, bytes-1) // the first row has no comma
}

func (p *span) partSize() (bytes int) {
	if t := p.text.Load(); t != nil {
		rows, _ := t.part(p.from, p.to)
		return len(rows)
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for _, v := range s.pointsOf(p.block).values[p.from:p.to] {
		bytes += jsonrows.Size(v)
	}
	return bytes
}

// part returns the text of some rows, and where it begins in that of the block.
func (t *blockText) part(from, to int) (rows []byte, start int) {
	if from > 0 {
		start = int(t.ends[from-1])
	}
	return t.rows[start:t.ends[to-1]], start
}

// scratch is what it takes to write the rows of a block and to put a response together.
type scratch struct {
	points   points
	decoded  *block // whose points those are
	text     blockText
	of       *block // whose text that is
	rows     []byte // some rows of a block
	ends     [blockRows]uint16
	previous []byte
	gzip     jsonrows.Gzip
	parts    [][]byte
}

var scratches = sync.Pool{New: func() any { return &scratch{} }}

// textOf returns the text of a block, and whether it is kept. One that is not is valid until the next call.
func (s *scratch) textOf(b *block) (t *blockText, kept bool) {
	if t := b.text.Load(); t != nil {
		return t, true
	}
	if s.of != b {
		s.text.rows = s.pointsOf(b).appendRows(s.text.rows[:0], 0, int(b.count), s.text.ends[:])
		s.of = b
	}
	return &s.text, false
}

// pointsOf returns the points of a block. They are valid until the next call.
func (s *scratch) pointsOf(b *block) *points {
	if s.decoded != b {
		b.decode(&s.points)
		s.decoded = b
	}
	return &s.points
}

// Text calls yield with the rows of the points [i, j), part by part. A part that is not kept is valid until yield
// returns.
func (s *Series) Text(i, j int, yield func(part []byte, kept bool)) {
	memory := scratches.Get().(*scratch)
	defer scratches.Put(memory)
	comma := 1 // the first row has none
	for p := range s.spans(i, j) {
		text, kept := memory.textOf(p.block)
		rows, _ := text.part(p.from, p.to)
		yield(rows[comma:], kept)
		comma = 0
	}
}

// AppendText appends the rows of the points [i, j).
func (s *Series) AppendText(dst []byte, i, j int) []byte {
	memory := scratches.Get().(*scratch)
	defer scratches.Put(memory)
	comma := 1
	for p := range s.spans(i, j) {
		text, _ := memory.textOf(p.block)
		rows, _ := text.part(p.from, p.to)
		dst = append(dst, rows[comma:]...)
		comma = 0
	}
	return dst
}

// StreamWriter writes a stream: a file that has it, or its parts, which are valid until WriteParts returns.
type StreamWriter = interface {
	// WritesFiles reports whether WriteFile can be called, and costs less than WriteParts.
	WritesFiles() bool
	WriteFile(f *memfile.File)
	WriteParts(parts [][]byte)
}

// Gzip writes a gzip stream of a head, the rows of the points [i, j) and a tail.
func (s *Series) Gzip(head []byte, i, j int, tail []byte, to StreamWriter) {
	if i == 0 && j == s.length && j >= wholeRows && to.WritesFiles() {
		if f := s.wholeFile(head, tail); f != nil {
			to.WriteFile(f)
			return
		}
	}
	s.withParts(head, i, j, tail, to.WriteParts)
}

// withParts calls use with the parts of the stream.
func (s *Series) withParts(head []byte, i, j int, tail []byte, use func(parts [][]byte)) {
	memory := scratches.Get().(*scratch)
	defer scratches.Put(memory)
	memory.gzip.Begin()
	memory.gzip.Text(head)
	if i < j {
		memory.firstRow(s, i)
		memory.otherRows(s, i+1, j)
	}
	memory.gzip.Text(tail)
	memory.parts = memory.gzip.End(memory.parts[:0])
	use(memory.parts)
}

// wholeRows is how many rows a series has whose whole stream is kept in a file, some 50 kilobytes: a shorter one is
// copied as fast.
const wholeRows = 8192

// wholeStream is the stream of all rows with one head and tail.
type wholeStream struct {
	head, tail []byte
	file       *memfile.File // nil if it could not be made
}

// wholeFile returns the stream of all rows as a file, or nil. Only one is kept: that of the first head and tail with
// which it was requested.
func (s *Series) wholeFile(head, tail []byte) *memfile.File {
	w := s.whole.Load()
	if w == nil {
		w = &wholeStream{head: bytes.Clone(head), tail: bytes.Clone(tail)}
		s.withParts(head, 0, s.length, tail, func(parts [][]byte) { w.file = memfile.New(parts) })
		s.whole.Store(w)
	}
	if !bytes.Equal(w.head, head) || !bytes.Equal(w.tail, tail) {
		return nil
	}
	return w.file
}

// firstRow adds the first row of a response as it is: the others are compressed by what they have in common with the
// one before.
func (s *scratch) firstRow(series *Series, i int) {
	s.previous = series.appendRow(s.previous[:0], i)
	s.gzip.Text(s.previous)
}

// otherRows adds the rows after the first.
func (s *scratch) otherRows(series *Series, i, j int) {
	for p := range series.spans(i, j) {
		piece := series.piece(p.number)
		if p.isWhole() {
			s.gzip.Add(piece)
			continue
		}
		skipped := p.skipped()
		s.gzip.AddPart(piece, p.from-skipped, p.to-skipped, func(from, to int) (previous, rows []byte, ends []uint16) {
			return s.rowsOf(series, p, from+skipped, to+skipped)
		})
	}
}

// rowsOf returns some rows of a block, and the row before them. They are valid until the next call.
func (s *scratch) rowsOf(series *Series, p span, from, to int) (previous, rows []byte, ends []uint16) {
	s.previous = series.appendRow(s.previous[:0], p.number*blockRows+from-1)
	ends = s.ends[:to-from]
	text := p.text.Load()
	if text == nil {
		s.rows = s.pointsOf(p.block).appendRows(s.rows[:0], from, to, ends)
		return s.previous, s.rows, ends
	}
	rows, start := text.part(from, to)
	for k := range ends {
		ends[k] = text.ends[from+k] - uint16(start)
	}
	return s.previous, rows, ends
}

// isWhole reports whether a part is all that the compressed form of its block has. That of the first block lacks the
// first row of the series, which is always the first of a response.
func (p *span) isWhole() bool { return p.from == p.skipped() && p.to == int(p.count) }

// skipped is how many rows of the block its compressed form lacks.
func (p *span) skipped() int {
	if p.number == 0 {
		return 1
	}
	return 0
}

// appendRow appends the row of point i.
func (s *Series) appendRow(dst []byte, i int) []byte {
	var e jsonrows.Encoder
	return e.Append(dst, s.At(i))
}

// piece returns the compressed form of a block: of all its rows or, of the first block, all but the first row. It
// follows on the row before, which every response has that contains the block.
func (s *Series) piece(number int) *jsonrows.Piece {
	b := s.blocks[number]
	if p := b.piece.Load(); p != nil {
		return p
	}
	scratch := scratches.Get().(*scratch)
	defer scratches.Put(scratch)
	p := span{block: b, number: number}
	piece := jsonrows.NewPiece(scratch.rowsOf(s, p, p.skipped(), int(b.count)))
	b.piece.Store(piece)
	return piece
}

// KeepText keeps the text of the newest blocks ready, as far as it fits into so many bytes, and drops that of the
// others. It returns how many bytes are kept.
func (s *Series) KeepText(most int) (bytes int) {
	for _, b := range slices.Backward(s.blocks) {
		if bytes+b.textSize() > most {
			most = 0 // no gaps
			b.text.Store(nil)
			continue
		}
		bytes += b.textSize()
		b.keepText()
	}
	return bytes
}
