package jsonrows

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Deflate appends the compressed form of rows (RFC 1951), which the stream must have right after the row before them.
// Each row begins with its comma, and ends[k] is where row k ends; previous is the row before, with its comma or
// without. The result ends on a byte, and is not the end of the stream.
//
// A row repeats the one before up to where the time differs, and again from there to where the value differs. The
// bracket at its end is repeated together with the row after it.
func Deflate(dst, previous, text []byte, ends []uint16) []byte {
	w := newBlock(dst, len(text))
	w.rows(previous, text, ends, true)
	return w.finish()
}

// newBlock begins a block for rows whose text has so many bytes, which is more than they take.
func newBlock(dst []byte, size int) *bitWriter {
	w := &bitWriter{slices.Grow(dst, len(codeHead)+size+64), codeHeadRest, codeHeadBits}
	w.out = append(w.out, codeHead...)
	return w
}

// rows adds rows, the last without its bracket; first says that they are the first of their block.
func (w *bitWriter) rows(previous, text []byte, ends []uint16, first bool) {
	if len(ends) > 0 && previous[0] == ',' {
		previous = previous[1:]
	}
	start := 0
	for _, end := range ends {
		row := text[start+1 : end]
		again := len("},") // of the row before, which the match begins with
		if first {
			w.add(literals[','])
			again, first = 0, false
		}
		*w = w.row(previous, row, again)
		previous, start = row, int(end)
	}
}

// copy adds bits of another stream.
func (w *bitWriter) copy(src []byte, from, to uint) {
	w.flush() // fewer than 8 bits are held, and so many stay
	const step = 48
	for ; to-from >= step && int(from/8)+8 <= len(src); from += step {
		n := len(w.out)
		w.held |= binary.LittleEndian.Uint64(src[from/8:]) >> (from % 8) & (1<<step - 1) << w.count
		binary.LittleEndian.PutUint64(w.out[n:n+8], w.held)
		w.out, w.held = w.out[:n+step/8], w.held>>step
	}
	for from < to {
		var next [8]byte
		copy(next[:], src[from/8:])
		size := min(to-from, 32)
		w.add(code{uint32(binary.LittleEndian.Uint64(next[:]) >> (from % 8) & (1<<size - 1)), uint8(size)})
		from += size
	}
}

// position is how many bits were added after the first so many bytes.
func (w *bitWriter) position(start int) uint { return uint(len(w.out)-start)*8 + w.count }

// row adds a row without its bracket. It takes and returns the writer by value, so that its fields stay in registers.
func (w bitWriter) row(previous, row []byte, again int) bitWriter {
	held, count, out := w.held, w.count, w.out
	distance := len(previous) + 1 - nearest
	from, to := differentTime((*[24]byte)(previous[timeAt:]), (*[24]byte)(row[timeAt:]))
	c := matches[again+timeAt+from-shortest][distance]
	held, count = held|uint64(c.bits)<<(count&63), count+uint(c.size)
	for _, char := range row[timeAt+from : timeAt+to] {
		c := literals[char]
		held, count = held|uint64(c.bits)<<(count&63), count+uint(c.size)
		if count >= 24 { // which leaves room for a match and four digits: at most 20 and 16 bits
			n := len(out)
			binary.LittleEndian.PutUint64(out[n:n+8], held)
			out, held, count = out[:n+3], held>>24, count-24
		}
	}
	value := row[valueAt:]
	same := commonPrefix(previous[valueAt:], value)
	c = matches[valueAt+same-timeAt-to-shortest][distance]
	held, count = held|uint64(c.bits)<<(count&63), count+uint(c.size)
	if digits := len(value) - 1 - same; digits <= 4 && same >= 2 && value[1] == '.' {
		// The last digits of a common value: each has a code of four bits.
		var all uint64
		for i := range 4 {
			all |= uint64(digitCodes[value[min(same+i, len(value)-1)]&15]) << (4 * i)
		}
		held |= all & (1<<(4*digits) - 1) << (count & 63)
		count += uint(4 * digits)
	} else {
		for _, char := range value[same : len(value)-1] {
			c := literals[char]
			held, count = held|uint64(c.bits)<<(count&63), count+uint(c.size)
			if count >= 24 {
				n := len(out)
				binary.LittleEndian.PutUint64(out[n:n+8], held)
				out, held, count = out[:n+3], held>>24, count-24
			}
		}
	}
	w = bitWriter{out, held, count}
	w.flush()
	return w
}

// differentTime is where two times begin to differ, and where they are the same again. Of equal ones, it is the last
// character.
func differentTime(a, b *[24]byte) (from, to int) {
	first := binary.LittleEndian.Uint64(a[:]) ^ binary.LittleEndian.Uint64(b[:])
	second := binary.LittleEndian.Uint64(a[8:]) ^ binary.LittleEndian.Uint64(b[8:])
	third := binary.LittleEndian.Uint64(a[16:]) ^ binary.LittleEndian.Uint64(b[16:])
	if first|third == 0 && second != 0 { // the same day and the same minute, as with nearly all hours
		return 8 + bits.TrailingZeros64(second)/8, 16 - bits.LeadingZeros64(second)/8
	}
	switch {
	case first != 0:
		from = bits.TrailingZeros64(first) / 8
	case second != 0:
		from = 8 + bits.TrailingZeros64(second)/8
	default:
		from = 16 + min(bits.TrailingZeros64(third)/8, 7)
	}
	switch {
	case third != 0:
		to = 24 - bits.LeadingZeros64(third)/8
	case second != 0:
		to = 16 - bits.LeadingZeros64(second)/8
	default:
		to = 8 - bits.LeadingZeros64(first)/8
	}
	return from, max(from+1, to)
}

// commonPrefix is how many characters the values at the end of two rows have in common. The bracket does not count.
func commonPrefix(a, b []byte) int {
	if min(cap(a), cap(b)) >= 8 { // a common value and its bracket are shorter, and what is behind does not matter
		different := binary.LittleEndian.Uint64(a[:8]) ^ binary.LittleEndian.Uint64(b[:8])
		if same := bits.TrailingZeros64(different) / 8; same < min(len(a), len(b)) {
			return min(same, len(b)-1)
		}
	}
	n := 0
	for n < len(a)-1 && n < len(b)-1 && a[n] == b[n] {
		n++
	}
	return n
}

// bitWriter appends bits, the lowest of a byte first. There must be room for what is appended.
type bitWriter struct {
	out   []byte
	held  uint64
	count uint // of the bits that are held
}

// add adds a code and appends the whole bytes.
func (w *bitWriter) add(c code) {
	w.held |= uint64(c.bits) << w.count
	w.count += uint(c.size)
	w.flush()
}

func (w *bitWriter) flush() {
	n := len(w.out)
	binary.LittleEndian.PutUint64(w.out[n:n+8], w.held)
	whole := w.count / 8
	w.out = w.out[:n+int(whole)]
	w.held >>= whole * 8
	w.count %= 8
}

// finish adds the last bracket, ends the block, and fills up the last byte by an empty block of stored bytes.
func (w *bitWriter) finish() []byte {
	w.add(literals['}'])
	w.add(endOfBlock)
	w.add(code{0, 3}) // not the last block; stored
	if w.count > 0 {
		w.out = append(w.out, byte(w.held))
	}
	return append(w.out, 0, 0, 0xff, 0xff)
}
