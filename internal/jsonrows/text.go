// Package jsonrows writes the points of a series as JSON rows, and as a gzip stream that is put together from pieces.
//
// A row is {"timestamp":"2026-02-03T21:00:00.000Z","index_value":2.3019}. Rows differ from the one before in a few
// characters, and where those are is known. That makes two things cheap:
//
//   - The text of a row is a copy of a template, with other digits (Encoder).
//   - Its compressed form needs no search: it repeats the row before, except for those characters (Deflate). It depends
//     on nothing but the two rows, and it refers to nothing further back.
//
// So the compressed form of some rows is the same in every response that has the row before them, too. A series keeps
// it, and a response for any range is the concatenation of such pieces, with only the rows at its two ends compressed
// for the request (Gzip). It is one member of gzip and, for the same rows, always has the same bytes.
package jsonrows

import (
	"slices"

	"github.com/assaydata/assay"
)

// The parts of a row that never change. A comma stands before every row but the first.
const (
	beforeTime  = `{"timestamp":"`
	beforeValue = `","index_value":`
)

// Positions in a row, without the comma before it.
const (
	timeAt  = len(beforeTime)
	valueAt = timeAt + len(assay.InstantLayout) + len(beforeValue)
)

// LongestRow is how many bytes a row has at most, with its comma.
const LongestRow = 1 + valueAt + len("-9223372036.854775808") + len("}")

// fixedSize is what a row has without its value: the comma, all before the value, and the bracket.
const fixedSize = 1 + valueAt + 1

// Encoder writes rows. It remembers the day of the last one, because the calendar costs more than all the rest. The
// zero value is ready for use.
type Encoder struct {
	day      int64 // midnight UTC
	template template
}

// template is a row up to its value. It is a little longer, because whole words are copied faster.
type template [64]byte

// room is what Append needs for a row: more than a template.
const room = LongestRow

// Append appends the row of a point, without a comma.
func (e *Encoder) Append(dst []byte, p assay.Point) []byte {
	inDay := p.At - e.day
	if uint64(inDay) >= uint64(assay.Day) || e.template[0] == 0 {
		e.begin(p.At)
		inDay = p.At - e.day
	}
	n := len(dst)
	if cap(dst)-n < room {
		dst = slices.Grow(dst, room)
	}
	row := (*[room]byte)(dst[n : n+room])
	*(*template)(row[:]) = e.template
	if hour := uint64(inDay) / uint64(assay.Hour); uint64(inDay) == hour*uint64(assay.Hour) {
		row[timeAt+11], row[timeAt+12] = byte('0'+hour/10), byte('0'+hour%10)
	} else {
		assay.AppendInstant(row[:timeAt], p.At)
	}
	end := valueAt + putValue((*[room - valueAt]byte)(row[valueAt:]), p.Value)
	row[end] = '}'
	return dst[:n+end+1]
}

// begin makes the template of a day, with the time of midnight.
func (e *Encoder) begin(at int64) {
	e.day = assay.StartOfDay(at)
	row := append(e.template[:0], beforeTime...)
	row = assay.AppendInstant(row, e.day)
	_ = append(row, beforeValue...) // into the template
}

// commonUnit is the smallest step of values with four decimals, the usual ones.
const commonUnit = 1e5

// isCommon reports whether a value has at most four decimals and one digit before them, and how many units it has.
func isCommon(value assay.Nanos) (units uint64, ok bool) {
	units = uint64(value) / commonUnit
	return units, uint64(value) < uint64(10*assay.One) && units*commonUnit == uint64(value)
}

// putValue writes the shortest exact decimal form of a value, as its AppendJSON does, and returns its size. Common
// values take a shorter way.
func putValue(dst *[room - valueAt]byte, value assay.Nanos) (size int) {
	units, ok := isCommon(value)
	if !ok {
		return len(value.AppendJSON(dst[:0]))
	}
	whole, decimals := units/10_000, units%10_000
	high, low := decimals/100, decimals%100
	dst[0], dst[1] = byte('0'+whole), '.'
	dst[2], dst[3] = byte('0'+high/10), byte('0'+high%10)
	dst[4], dst[5] = byte('0'+low/10), byte('0'+low%10)
	return shownDigits(decimals)
}

// shownDigits is how much of a common value is shown if these are its four decimals: no zeros at the end, and no point
// alone.
func shownDigits(decimals uint64) int {
	switch {
	case decimals%10 != 0:
		return 6
	case decimals%100 != 0:
		return 5
	case decimals%1000 != 0:
		return 4
	case decimals != 0:
		return 3
	}
	return 1
}

// Size is how many bytes the row of a value has, with its comma.
func Size(value assay.Nanos) int {
	if units, ok := isCommon(value); ok {
		return fixedSize + shownDigits(units%10_000)
	}
	var text [LongestRow]byte
	return fixedSize + len(value.AppendJSON(text[:0]))
}
