package snapshot

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/jsonrows"
)

// blockRows is how many points a block has, except the last of a series. A response encodes the points of up to two
// blocks itself, those that its range cuts, so blocks should be small; the compressed form of each costs some 40 bytes,
// and a gap in the points that are read one by one costs decoding one.
const blockRows = 256

// block is a piece of a series: its points in columns, as differences. It is immutable; what was made of it is kept
// with it.
//
// The columns are, one after the other: the steps between the instants and those between the versions, both as runs,
// because most are equal; the unit of the values, and the differences between them.
type block struct {
	first, last    int64 // instants
	oldest, newest int64 // versions
	columns        []byte
	count          uint16 // of the points
	versionsAt     uint16 // where in the columns
	valuesAt       uint16 // likewise
	size           uint32 // of the text of all rows, with a comma each

	text  atomic.Pointer[blockText]      // nil if it is not kept
	piece atomic.Pointer[jsonrows.Piece] // nil until it was requested
}

// blockText is the text of a block's rows: each with the comma before it, and where it ends.
type blockText struct {
	rows []byte
	ends [blockRows]uint16
}

// points are the points of a block, decoded.
type points struct {
	count    int
	times    [blockRows]int64
	values   [blockRows]assay.Nanos
	versions [blockRows]int64 // only for newBlock and decodeVersions
}

// newBlock encodes points, of which there must be some.
func newBlock(p *points) *block {
	b := &block{
		first: p.times[0], last: p.times[p.count-1], oldest: p.versions[0], newest: p.versions[0], count: uint16(p.count),
	}
	var buffer [blockRows * 16]byte
	out := appendRuns(buffer[:0], p.times[:p.count], p.times[0])
	b.versionsAt = uint16(len(out))
	out = appendRuns(out, p.versions[:p.count], 0)
	b.valuesAt = uint16(len(out))
	out = appendValues(out, p.values[:p.count])
	b.columns = append(make([]byte, 0, len(out)), out...)
	for i := range p.count {
		b.oldest, b.newest = min(b.oldest, p.versions[i]), max(b.newest, p.versions[i])
		b.size += uint32(jsonrows.Size(p.values[i]))
	}
	return b
}

// appendRuns appends the steps from each number to the next, beginning with another one: runs of equal steps.
func appendRuns(dst []byte, numbers []int64, from int64) []byte {
	for i := 0; i < len(numbers); {
		step, run := numbers[i]-from, 1
		for i+run < len(numbers) && numbers[i+run]-numbers[i+run-1] == step {
			run++
		}
		dst = binary.AppendVarint(dst, step)
		dst = binary.AppendUvarint(dst, uint64(run))
		from = numbers[i+run-1]
		i += run
	}
	return dst
}

// appendValues appends the unit of the values, and the difference of each value to the one before.
func appendValues(dst []byte, values []assay.Nanos) []byte {
	unit := unitOf(values)
	dst = append(dst, byte(unit))
	before := assay.Nanos(0)
	for _, v := range values {
		v = unit.divide(v)
		dst = binary.AppendVarint(dst, int64(v-before))
		before = v
	}
	return dst
}

// unit is what the values of a block are multiples of: the smaller the numbers, the fewer bytes.
type unit byte

// The units of values with so many decimals at most.
const (
	decimals9 unit = iota
	decimals6
	decimals4
	decimals2
)

const units6, units4, units2 = 1e3, 1e5, 1e7

var units = [...]assay.Nanos{decimals9: 1, decimals6: units6, decimals4: units4, decimals2: units2}

// unitOf returns the largest unit that all values are multiples of.
func unitOf(values []assay.Nanos) unit {
	u := decimals2
	for _, v := range values {
		for u.divide(v)*units[u] != v {
			u--
		}
	}
	return u
}

// divide divides by the unit. Divisions by constants are fast.
func (u unit) divide(v assay.Nanos) assay.Nanos {
	switch u {
	case decimals2:
		return v / units2
	case decimals4:
		return v / units4
	case decimals6:
		return v / units6
	case decimals9:
	}
	return v
}

// decode reads the instants and values.
func (b *block) decode(p *points) {
	p.count = int(b.count)
	b.decodeTimes(p)
	b.decodeValues(p.values[:b.count])
}

func (b *block) decodeTimes(p *points) {
	decodeRuns(p.times[:b.count], b.columns[:b.versionsAt], b.first)
}

func (b *block) decodeVersions(p *points) {
	decodeRuns(p.versions[:b.count], b.columns[b.versionsAt:b.valuesAt], 0)
}

func decodeRuns(numbers []int64, column []byte, from int64) {
	for i := 0; i < len(numbers); {
		step, run, size := readRun(column)
		column = column[size:]
		for range run {
			from += step
			numbers[i] = from
			i++
		}
	}
}

// readRun reads a step and how often it is made.
func readRun(column []byte) (step int64, run, size int) {
	step, n := binary.Varint(column)
	times, m := binary.Uvarint(column[n:])
	return step, int(times), n + m
}

// decodeValues reads as many values as there is room for, from the first on.
func (b *block) decodeValues(values []assay.Nanos) {
	column := b.columns[b.valuesAt:]
	unit := units[column[0]]
	column = column[1:]
	value, at := int64(0), 0
	for i := range values {
		u := uint64(column[at])
		at++
		if u >= 0x80 {
			if next := uint64(column[at]); next < 0x80 { // the usual case
				u, at = u&0x7f|next<<7, at+1
			} else {
				long, size := binary.Uvarint(column[at-1:])
				u, at = long, at-1+size
			}
		}
		value += int64(u>>1) ^ -int64(u&1)
		values[i] = assay.Nanos(value) * unit
	}
}

// time returns the instant of point i.
func (b *block) time(i int) int64 {
	column, at := b.columns, b.first
	for {
		step, run, size := readRun(column)
		if i < run {
			return at + step*int64(i+1)
		}
		at += step * int64(run)
		i -= run
		column = column[size:]
	}
}

// search returns the position of the first point at or after an instant, which is not after the block's last.
func (b *block) search(instant int64) (i int) {
	column, at := b.columns, b.first
	for {
		step, run, size := readRun(column)
		end := at + step*int64(run)
		switch {
		case instant <= end && step == 0: // the first point
			return i
		case instant <= end:
			return i + int((instant-at-1)/step)
		}
		at = end
		i += run
		column = column[size:]
	}
}

// appendRows appends the rows of the points [from, to), with a comma each, and notes where each ends.
func (p *points) appendRows(dst []byte, from, to int, ends []uint16) []byte {
	var e jsonrows.Encoder
	start := len(dst)
	for i := from; i < to; i++ {
		dst = e.Append(append(dst, ','), assay.Point{At: p.times[i], Value: p.values[i]})
		ends[i-from] = uint16(len(dst) - start)
	}
	return dst
}

// textSize is how much memory the text takes.
func (b *block) textSize() int { return int(b.size) + jsonrows.LongestRow + 2*blockRows }

// keepText makes the text and keeps it.
func (b *block) keepText() {
	if b.text.Load() != nil {
		return
	}
	var p points
	b.decode(&p)
	t := &blockText{rows: make([]byte, 0, int(b.size)+jsonrows.LongestRow)}
	t.rows = p.appendRows(t.rows, 0, p.count, t.ends[:])
	b.text.Store(t)
}
