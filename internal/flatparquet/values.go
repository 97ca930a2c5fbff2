package flatparquet

import (
	"encoding/binary"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// decoder decodes the values of a page. A value may share its memory with the page, the dictionary or the decoder, and
// is valid until the next call.
type decoder interface {
	next() (parquet.Value, error)
}

// newDecoder returns the decoder of a page whose values, at most n, are encoded in data.
func (c *column) newDecoder(encoding format.Encoding, data []byte, n int) (decoder, error) {
	switch {
	case encoding == format.Plain && c.kind == parquet.Boolean:
		return &plainBits{data: data}, nil
	case encoding == format.Plain:
		return &plain{c, data}, nil
	case encoding == format.RLEDictionary, encoding == format.PlainDictionary: //nolint:staticcheck // pyarrow's old name
		return c.newIndexed(data)
	case encoding == format.RLE && c.kind == parquet.Boolean:
		runs, _, err := cutRuns(data)
		return &booleanRuns{hybrid{data: runs, width: 1}}, err
	case encoding == format.DeltaBinaryPacked && (c.kind == parquet.Int32 || c.kind == parquet.Int64):
		numbers, err := newDelta(data, n)
		return &deltaNumbers{numbers, c.kind}, err
	case encoding == format.DeltaLengthByteArray && c.kind == parquet.ByteArray:
		return newDeltaLengths(data, n)
	case encoding == format.DeltaByteArray && (c.kind == parquet.ByteArray || c.kind == parquet.FixedLenByteArray):
		return newDeltaTexts(c, data, n)
	case encoding == format.ByteStreamSplit && c.length > 0:
		return &split{c, data, len(data) / c.length, 0, make([]byte, min(c.length, len(data)))}, nil
	}
	return nil, broken("%s values cannot have the encoding %s", c.kind, encoding)
}

// cutRuns splits data after its first section, whose length it begins with.
func cutRuns(data []byte) (runs, rest []byte, err error) {
	if len(data) < 4 {
		return nil, nil, errTruncated
	}
	n := binary.LittleEndian.Uint32(data)
	if data = data[4:]; uint64(n) > uint64(len(data)) {
		return nil, nil, errTruncated
	}
	return data[:n], data[n:], nil
}

// value returns a value from its bytes.
func (c *column) value(raw []byte) parquet.Value {
	switch c.kind { //nolint:exhaustive // booleans are not made of bytes
	case parquet.Int32:
		return parquet.Int32Value(int32(binary.LittleEndian.Uint32(raw)))
	case parquet.Int64:
		return parquet.Int64Value(int64(binary.LittleEndian.Uint64(raw)))
	case parquet.Float:
		return parquet.FloatValue(math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	case parquet.Double:
		return parquet.DoubleValue(math.Float64frombits(binary.LittleEndian.Uint64(raw)))
	case parquet.ByteArray:
		return parquet.ByteArrayValue(raw)
	}
	return parquet.FixedLenByteArrayValue(raw)
}

// cutValue splits plain data after its first value.
func (c *column) cutValue(data []byte) (value, rest []byte, err error) {
	if c.kind == parquet.ByteArray {
		return cutRuns(data) // a text begins with its length, too
	}
	if c.length > len(data) {
		return nil, nil, errTruncated
	}
	return data[:c.length], data[c.length:], nil
}

// plain decodes values that stand one after another.
type plain struct {
	*column
	data []byte
}

func (p *plain) next() (parquet.Value, error) {
	value, rest, err := p.cutValue(p.data)
	if err != nil {
		return parquet.Value{}, err
	}
	p.data = rest
	return p.value(value), nil
}

// plainBits decodes booleans, a bit each.
type plainBits struct {
	data []byte
	bit  int
}

func (p *plainBits) next() (parquet.Value, error) {
	if p.bit/8 >= len(p.data) {
		return parquet.Value{}, errTruncated
	}
	p.bit++
	return parquet.BooleanValue(unpack(p.data, p.bit-1, 1) == 1), nil
}

// booleanRuns decodes booleans in runs.
type booleanRuns struct{ hybrid }

func (b *booleanRuns) next() (parquet.Value, error) {
	bit, err := b.hybrid.next()
	return parquet.BooleanValue(bit == 1), err
}

// dictionary has the values that pages refer to.
type dictionary struct {
	data    []byte
	offsets []byte // where each text begins in data, four bytes each; other values have the same length
	count   uint32

	complete bool // the chunk has had its dictionary
}

// indexed decodes references to the dictionary.
type indexed struct {
	*column
	indexes hybrid
}

func (c *column) newIndexed(data []byte) (decoder, error) {
	if len(data) == 0 { // a page without values
		return &indexed{column: c}, nil
	}
	width := uint(data[0])
	if width > 32 {
		return nil, broken("a reference to the dictionary has %d bits", width)
	}
	return &indexed{c, hybrid{data: data[1:], width: width}}, nil
}

func (x *indexed) next() (parquet.Value, error) {
	i, err := x.indexes.next()
	if err != nil {
		return parquet.Value{}, err
	}
	if i >= x.dictionary.count {
		return parquet.Value{}, broken("it refers to value %d of a dictionary of %d", i, x.dictionary.count)
	}
	start := int(i) * x.length
	if x.kind == parquet.ByteArray {
		start = int(binary.LittleEndian.Uint32(x.dictionary.offsets[4*i:]))
	}
	raw, _, err := x.cutValue(x.dictionary.data[start:])
	if err != nil {
		return parquet.Value{}, err
	}
	return x.value(raw), nil
}

// deltaNumbers decodes integers as differences.
type deltaNumbers struct {
	delta
	kind parquet.Kind
}

func (d *deltaNumbers) next() (parquet.Value, error) {
	n, err := d.delta.next()
	if d.kind == parquet.Int32 {
		return parquet.Int32Value(int32(n)), err
	}
	return parquet.Int64Value(n), err
}

// deltaLengths decodes texts: the lengths as differences, then the characters of all.
type deltaLengths struct {
	lengths delta
	data    []byte
}

func newDeltaLengths(data []byte, n int) (*deltaLengths, error) {
	lengths, err := newDelta(data, n)
	if err != nil {
		return nil, err
	}
	rest, err := lengths.rest()
	return &deltaLengths{lengths, rest}, err
}

func (d *deltaLengths) cut() ([]byte, error) {
	n, err := d.lengths.next()
	if err != nil {
		return nil, err
	}
	if n < 0 || n > int64(len(d.data)) {
		return nil, errTruncated
	}
	text := d.data[:n]
	d.data = d.data[n:]
	return text, nil
}

func (d *deltaLengths) next() (parquet.Value, error) {
	text, err := d.cut()
	return parquet.ByteArrayValue(text), err
}

// deltaTexts decodes texts that begin like the text before them: the lengths of the common beginnings, then what
// follows them.
type deltaTexts struct {
	*column
	common delta
	ends   *deltaLengths
	text   []byte
}

func newDeltaTexts(c *column, data []byte, n int) (*deltaTexts, error) {
	common, err := newDelta(data, n)
	if err != nil {
		return nil, err
	}
	rest, err := common.rest()
	if err != nil {
		return nil, err
	}
	ends, err := newDeltaLengths(rest, n)
	return &deltaTexts{column: c, common: common, ends: ends}, err
}

// maxText bounds a text that is put together. Longer ones fill a page, so nothing is gained by the encoding.
const maxText = 1 << 20

func (d *deltaTexts) next() (parquet.Value, error) {
	n, err := d.common.next()
	if err != nil {
		return parquet.Value{}, err
	}
	end, err := d.ends.cut()
	if err != nil {
		return parquet.Value{}, err
	}
	if n < 0 || n > int64(len(d.text)) || int(n)+len(end) > maxText {
		return parquet.Value{}, broken("a text begins with %d bytes of one that has %d", n, len(d.text))
	}
	d.text = append(d.text[:n], end...)
	if d.kind == parquet.FixedLenByteArray && len(d.text) != d.length {
		return parquet.Value{}, broken("a value has %d bytes, not %d", len(d.text), d.length)
	}
	return d.value(d.text), nil
}

// split decodes values whose first bytes stand together, then their second ones, and so on.
type split struct {
	*column
	data     []byte
	count, i int
	raw      []byte
}

func (s *split) next() (parquet.Value, error) {
	if s.i >= s.count {
		return parquet.Value{}, errTruncated
	}
	for b := range s.raw {
		s.raw[b] = s.data[b*s.count+s.i]
	}
	s.i++
	return s.value(s.raw), nil
}
