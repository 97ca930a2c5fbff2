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
)

// parquetReader reads the rows of a Parquet file, a few at a time. Values become text and are then parsed like those of
// the other formats, so the same rules apply to every format.
type parquetReader struct {
	groups  []parquet.RowGroup
	rows    parquet.Rows // of the current group; nil before the first and after the last
	buffer  []parquet.Row
	pending []parquet.Row   // the rest of the buffer
	leaves  []parquetColumn // by the column number of a value
	number  int
	line    []byte // the row as text, its cells concatenated
	texts   lineArena
}

// parquetColumn says how a column of the file becomes cells. Unknown columns have no text function.
type parquetColumn struct {
	column int
	name   string
	append cellText
}

// cellText appends a value as text. It appends something even if it returns an error, for the report.
type cellText func(dst []byte, v parquet.Value) ([]byte, error)

// parquetRows is how many rows are read at once.
const parquetRows = 256

func openParquet(r io.Reader, columns, optional []string) (_ rowReader, err error) {
	defer recoverParquet(&err)
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
	opened, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	p := &parquetReader{groups: opened.RowGroups(), buffer: make([]parquet.Row, parquetRows)}
	return p, p.match(opened.Root().Columns(), columns, optional)
}

var errNoRandomAccess = errors.New(
	"a Parquet file is read from its end, so it cannot come from standard input or a pipe: name a file")

// recoverParquet turns a panic into an error: the library does not check everything in a file before it reads it.
func recoverParquet(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("the Parquet file is broken: %v", cause)
	}
}

// match maps the file's columns to the family's.
func (p *parquetReader) match(found []*parquet.Column, columns, optional []string) error {
	names := make([]string, len(found))
	for i, c := range found {
		names[i] = c.Name()
	}
	matched, err := matchColumns(names, columns, optional)
	if err != nil {
		return err
	}
	for i, c := range found {
		if matched[i] < 0 {
			continue
		}
		text, err := textOf(c)
		if err != nil {
			return fmt.Errorf("column %q %w", c.Name(), err)
		}
		for len(p.leaves) <= c.Index() {
			p.leaves = append(p.leaves, parquetColumn{})
		}
		p.leaves[c.Index()] = parquetColumn{matched[i], columns[matched[i]], text}
	}
	return nil
}

func (p *parquetReader) next(cells []string) (location, error) {
	if err := p.fill(); err != nil {
		return location{line: p.number + 1}, err
	}
	row := p.pending[0]
	p.pending = p.pending[1:]
	p.number++
	at := location{line: p.number}
	starts := make([]int, 0, 16)
	p.line = p.line[:0]
	var bad error
	for _, v := range row {
		if c := p.leaf(v); c != nil {
			starts = append(starts, len(p.line))
			if err := c.appendTo(&p.line, v); err != nil && bad == nil {
				bad = badRow{err.Error()}
			}
			p.line = append(p.line, ',')
		}
	}
	if len(p.line) > maxLine {
		at.text = strings.ToValidUTF8(string(p.line[:80]), "")
		return at, badRow{fmt.Sprintf("the row is longer than %d bytes", maxLine)}
	}
	p.cut(row, starts, cells, &at)
	return at, bad
}

// cut stores the row's text and slices the cells from it.
func (p *parquetReader) cut(row parquet.Row, starts []int, cells []string, at *location) {
	text := p.texts.add(p.line)
	at.text = strings.TrimSuffix(text, ",")
	for _, v := range row {
		if c := p.leaf(v); c != nil {
			end := len(text)
			if len(starts) > 1 {
				end = starts[1]
			}
			cells[c.column] = strings.TrimSpace(text[starts[0] : end-1])
			starts = starts[1:]
		}
	}
}

// leaf returns the column of a value, or nil if it is unknown.
func (p *parquetReader) leaf(v parquet.Value) *parquetColumn {
	if i := v.Column(); i < len(p.leaves) && p.leaves[i].append != nil {
		return &p.leaves[i]
	}
	return nil
}

// appendTo appends a value's text; null is an empty cell.
func (c *parquetColumn) appendTo(line *[]byte, v parquet.Value) (err error) {
	if v.IsNull() {
		return nil
	}
	start := len(*line)
	if *line, err = c.append(*line, v); err != nil {
		return fmt.Errorf("%s %q %w", c.name, family.Shorten(string((*line)[start:])), err)
	}
	return nil
}

// fill reads more rows if none is pending.
func (p *parquetReader) fill() (err error) {
	defer recoverParquet(&err)
	for len(p.pending) == 0 {
		if p.rows == nil {
			if len(p.groups) == 0 {
				return io.EOF
			}
			p.rows, p.groups = p.groups[0].Rows(), p.groups[1:]
		}
		n, err := p.rows.ReadRows(p.buffer)
		p.pending = p.buffer[:n]
		if n > 0 {
			return nil // an error will occur again
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err != nil {
			if err := p.rows.Close(); err != nil {
				return err
			}
			p.rows = nil
		}
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
	perSecond := int64(time.Second / unit)
	return func(dst []byte, v parquet.Value) ([]byte, error) {
		seconds, rest := v.Int64()/perSecond, v.Int64()%perSecond
		at := time.Unix(seconds, rest*int64(unit)).UTC()
		if at.Nanosecond()%int(time.Millisecond) != 0 {
			return at.AppendFormat(dst, time.RFC3339Nano), errors.New("is finer than a millisecond")
		}
		return at.AppendFormat(dst, "2006-01-02T15:04:05.000Z"), nil
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
