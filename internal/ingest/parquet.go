package ingest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/flatparquet"
)

// parquetReader reads the rows of a Parquet file. Values become text and are then parsed like those of the other
// formats, so the same rules apply to every format.
type parquetReader struct {
	rows    *flatparquet.Reader
	columns []parquetColumn // those that are known, in the order of the file
	number  int
	line    []byte // the row as text: its cells, each followed by cellEnd
	ends    []int  // of the cells in line
	texts   lineArena
}

// cellEnd separates the cells of a row. No cell of a row that is imported contains it.
const cellEnd = '\x00'

// parquetColumn says how a column of the file becomes cells.
type parquetColumn struct {
	column int
	name   string
	append cellText
}

// cellText appends a value as text. It appends something even if it returns an error, for the report.
type cellText func(dst []byte, v parquet.Value) ([]byte, error)

func openParquet(r io.Reader, columns *columns) (rowReader, error) {
	file, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return nil, errNoRandomAccess
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoRandomAccess, err)
	}
	opened, err := flatparquet.Open(file, size)
	if err != nil {
		return nil, err
	}
	p := &parquetReader{}
	known, err := p.match(opened.Columns(), columns)
	if err != nil {
		return nil, err
	}
	p.rows, err = opened.Reader(known)
	return p, err
}

var errNoRandomAccess = errors.New(
	"a Parquet file is read from its end, so it cannot come from standard input or a pipe: name a file")

// match maps the file's columns to the family's and returns those that are known.
func (p *parquetReader) match(found []*parquet.Column, columns *columns) ([]*parquet.Column, error) {
	names := make([]string, len(found))
	for i, c := range found {
		names[i] = c.Name()
	}
	matched, err := columns.match(names)
	if err != nil {
		return nil, err
	}
	var known []*parquet.Column
	for i, c := range found {
		if matched[i] == noColumn {
			continue
		}
		text, err := textOf(c)
		if err != nil {
			return nil, fmt.Errorf("column %q %w", c.Name(), err)
		}
		known = append(known, c)
		p.columns = append(p.columns, parquetColumn{matched[i], columns.names[matched[i]], text})
	}
	return known, nil
}

func (p *parquetReader) next(cells []string) (location, error) {
	row, err := p.rows.Next()
	at := location{line: p.number + 1}
	if err != nil {
		return at, err
	}
	p.number++
	p.line, p.ends = p.line[:0], p.ends[:0]
	var bad error
	for i, v := range row {
		if err := p.columns[i].appendTo(&p.line, v); err != nil && bad == nil {
			bad = badRow{err.Error()}
		}
		p.ends = append(p.ends, len(p.line))
		p.line = append(p.line, cellEnd)
		if len(p.line) > maxLine {
			at.text = strings.ReplaceAll(string(p.line[:80]), string(cellEnd), ",")
			return at, badRow{fmt.Sprintf("the row is longer than %d bytes", maxLine)}
		}
	}
	text := p.texts.add(p.line)
	p.cut(text, cells)
	if bad == nil {
		at.text = text
	}
	return at, bad
}

// cut slices the cells from the row's text.
func (p *parquetReader) cut(text string, cells []string) {
	start := 0
	for i, end := range p.ends {
		cells[p.columns[i].column] = strings.TrimSpace(text[start:end])
		start = end + 1
	}
}

func (p *parquetReader) split(text string, cells []string) {
	for _, c := range p.columns {
		var cell string
		cell, text, _ = strings.Cut(text, string(cellEnd))
		cells[c.column] = strings.TrimSpace(cell)
	}
}

// appendTo appends a value's text; null is an empty cell. Of a text that is too long for a row it appends enough to
// show that.
func (c *parquetColumn) appendTo(line *[]byte, v parquet.Value) (err error) {
	if v.IsNull() {
		return nil
	}
	if k := v.Kind(); k == parquet.ByteArray && len(v.ByteArray()) > maxLine {
		v = parquet.ByteArrayValue(v.ByteArray()[:maxLine])
	}
	start := len(*line)
	if *line, err = c.append(*line, v); err != nil {
		return fmt.Errorf("%s %q %w", c.name, family.Shorten(string((*line)[start:])), err)
	}
	return nil
}

// textOf returns the function that turns a column's values into text.
func textOf(c *parquet.Column) (cellText, error) {
	if !c.Leaf() || c.Repeated() {
		return nil, errors.New("is a list or a group: allowed are single values")
	}
	if logical := c.Type().LogicalType(); logical != nil {
		switch t := logical.Value.(type) {
		case *format.DecimalType:
			return decimalText(c.Type().Kind(), int(t.Scale))
		case *format.TimestampType:
			return timestampText(t.Unit.Value.Duration()), nil
		case *format.DateType:
			return dateText, nil
		case *format.UUIDType:
			return uuidText, nil
		case *format.NullType: // a column in which no row has a value
			return func(dst []byte, _ parquet.Value) ([]byte, error) { return dst, nil }, nil
		case *format.IntType:
			if !t.IsSigned {
				return unsignedText(c.Type().Kind()), nil
			}
		case *format.StringType, *format.EnumType, *format.JsonType:
		default:
			return nil, fmt.Errorf("has the type %s: %s", logical, allowedTypes)
		}
	}
	if text, ok := plainTexts[c.Type().Kind()]; ok {
		return text, nil
	}
	return nil, fmt.Errorf("has the type %s: %s", c.Type(), allowedTypes)
}

const allowedTypes = "allowed are STRING, UUID, integers, DECIMAL, FLOAT, DOUBLE, BOOLEAN, DATE and TIMESTAMP"

// plainTexts are the text functions of physical types without a logical type. A floating-point number becomes the
// shortest decimal that parses to it; NaN and the infinities become texts that no number column accepts.
var plainTexts = map[parquet.Kind]cellText{
	parquet.Boolean: func(dst []byte, v parquet.Value) ([]byte, error) {
		return strconv.AppendBool(dst, v.Boolean()), nil
	},
	parquet.Int32: func(dst []byte, v parquet.Value) ([]byte, error) {
		return strconv.AppendInt(dst, int64(v.Int32()), 10), nil
	},
	parquet.Int64: func(dst []byte, v parquet.Value) ([]byte, error) { return strconv.AppendInt(dst, v.Int64(), 10), nil },
	parquet.Float: func(dst []byte, v parquet.Value) ([]byte, error) {
		return strconv.AppendFloat(dst, float64(v.Float()), 'f', -1, 32), nil
	},
	parquet.Double: func(dst []byte, v parquet.Value) ([]byte, error) {
		return strconv.AppendFloat(dst, v.Double(), 'f', -1, 64), nil
	},
	parquet.ByteArray: func(dst []byte, v parquet.Value) ([]byte, error) {
		if dst = append(dst, v.ByteArray()...); !utf8.Valid(v.ByteArray()) {
			return dst, errors.New("is not valid UTF-8 text")
		}
		return dst, nil
	},
}

func unsignedText(kind parquet.Kind) cellText {
	if kind == parquet.Int32 {
		return func(dst []byte, v parquet.Value) ([]byte, error) {
			return strconv.AppendUint(dst, uint64(uint32(v.Int32())), 10), nil
		}
	}
	return func(dst []byte, v parquet.Value) ([]byte, error) {
		return strconv.AppendUint(dst, uint64(v.Int64()), 10), nil
	}
}

func decimalText(kind parquet.Kind, scale int) (cellText, error) {
	const maxScale = 38 // the largest that databases write
	if scale < 0 || scale > maxScale {
		return nil, fmt.Errorf("has %d decimals: allowed are 0 to %d", scale, maxScale)
	}
	if kind == parquet.Int32 || kind == parquet.Int64 {
		return func(dst []byte, v parquet.Value) ([]byte, error) {
			whole, err := plainTexts[kind](nil, v)
			return family.AppendDecimal(dst, string(whole), scale), err
		}, nil
	}
	return func(dst []byte, v parquet.Value) ([]byte, error) { // only byte arrays get here
		if len(v.ByteArray()) > 32 {
			return dst, errors.New("has more than 32 bytes")
		}
		return family.AppendDecimal(dst, bigFromBytes(v.ByteArray()).String(), scale), nil
	}, nil
}

// timestampText converts instants in units of the given length. Those without a zone are UTC, as in the other formats.
func timestampText(unit time.Duration) cellText {
	const year10000 = 253_402_300_800 // in seconds
	perSecond := int64(time.Second / unit)
	return func(dst []byte, v parquet.Value) ([]byte, error) {
		seconds, rest := v.Int64()/perSecond, v.Int64()%perSecond
		at := time.Unix(seconds, rest*int64(unit)).UTC()
		if at.Nanosecond()%int(time.Millisecond) != 0 {
			return at.AppendFormat(dst, time.RFC3339Nano), errors.New("is finer than a millisecond")
		}
		if seconds < 0 || seconds >= year10000 { // AppendInstant takes years of four digits
			return at.AppendFormat(dst, "2006-01-02T15:04:05.000Z"), nil
		}
		return assay.AppendInstant(dst, at.UnixMilli()), nil
	}
}

// dateText converts days since 1970.
func dateText(dst []byte, v parquet.Value) ([]byte, error) {
	return time.Unix(int64(v.Int32())*86_400, 0).UTC().AppendFormat(dst, assay.DayLayout), nil
}

func uuidText(dst []byte, v parquet.Value) ([]byte, error) {
	b := v.ByteArray()
	if len(b) != 16 {
		return dst, errors.New("is not a UUID")
	}
	for i, part := range [][]byte{b[:4], b[4:6], b[6:8], b[8:10], b[10:]} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, part)
	}
	return dst, nil
}

// bigFromBytes reads a big-endian integer in two's complement.
func bigFromBytes(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(len(b))*8))
	}
	return n
}
