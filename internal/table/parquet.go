package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/assaydata/assay"
)

// parquetRows writes a Parquet file, compressed with Zstandard: instants as timestamps in milliseconds UTC, numbers as
// decimals with all of their digits. Row groups are small, so that a file of any length is written in little memory.
type parquetRows struct {
	schema *Schema
	cells  *cells
	writer *parquet.GenericWriter[any]
	out    sink
	batch  [][]parquet.Value // of each column
	rows   int               // of the row group
}

const (
	batchRows    = 512
	rowGroupRows = 256 * batchRows
	pageBytes    = 256 << 10
)

// sink is what the writer has written and take has not returned yet.
type sink struct{ text []byte }

func (s *sink) Write(b []byte) (int, error) { s.text = append(s.text, b...); return len(b), nil }

// take appends what was written.
func (s *sink) take(dst []byte) []byte {
	dst = append(dst, s.text...)
	s.text = s.text[:0]
	return dst
}

// tags are the types of columns, as tags of parquet-go.
var tags = map[Kind]struct {
	of  reflect.Type
	tag string
}{
	Text:    {reflect.TypeFor[string](), ""},
	Instant: {reflect.TypeFor[int64](), ",timestamp(millisecond),delta"},
	Day:     {reflect.TypeFor[int32](), ",date,delta"},
	Decimal: {reflect.TypeFor[int64](), ",decimal(9:18),delta"},
	Double:  {reflect.TypeFor[float64](), ""},
	Integer: {reflect.TypeFor[int64](), ",delta"},
	Boolean: {reflect.TypeFor[bool](), ""},
	JSON:    {reflect.TypeFor[string](), ""},
}

// parquetSchema is the schema of a file. Columns are in the order of a struct's fields; a parquet.Group would sort
// them.
func parquetSchema(s *Schema) *parquet.Schema {
	fields := make([]reflect.StructField, len(s.Columns))
	for i, c := range s.Columns {
		tag := tags[c.Kind].tag
		if c.Repeats {
			tag += ",dict"
		}
		if c.Optional {
			tag += ",optional"
		}
		fields[i] = reflect.StructField{
			Name: "Column" + strconv.Itoa(i), Type: tags[c.Kind].of,
			Tag: reflect.StructTag(`parquet:"` + c.Name + tag + `"`),
		}
	}
	return parquet.NewSchema("assay", parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface()))
}

func newParquet(s *Schema) *parquetRows {
	w := &parquetRows{schema: s, cells: newCells(s), batch: make([][]parquet.Value, len(s.Columns))}
	w.writer = parquet.NewGenericWriter[any](&w.out, parquetSchema(s),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), parquet.PageBufferSize(pageBytes),
		parquet.CreatedBy("assay", "1", ""), parquet.WriteBufferSize(0))
	return w
}

func (w *parquetRows) begin(dst []byte) ([]byte, error) { return dst, nil }

func (w *parquetRows) row(dst, text []byte) ([]byte, error) {
	err := w.add(text)
	return w.out.take(dst), err
}

// add adds a row, which is a JSON object.
func (w *parquetRows) add(text []byte) error {
	if err := w.cells.read(text); err != nil {
		return err
	}
	for i, cell := range w.cells.found {
		column := &w.schema.Columns[i]
		value, err := parquetValue(column, cell)
		if err != nil {
			return fmt.Errorf("column %s: %w", column.Name, err)
		}
		w.put(i, value)
	}
	return w.endRow()
}

// put sets the value of a column in the current row.
func (w *parquetRows) put(i int, value parquet.Value) {
	level := 0
	if w.schema.Columns[i].Optional && !value.IsNull() {
		level = 1
	}
	w.batch[i] = append(w.batch[i], value.Level(0, level, i))
}

// endRow ends a row. Rows are written in batches.
func (w *parquetRows) endRow() error {
	w.rows++
	if w.rows%batchRows != 0 {
		return nil
	}
	err := w.writeBatch()
	if err == nil && w.rows == rowGroupRows {
		w.rows = 0
		err = w.writer.Flush()
	}
	return err
}

func (w *parquetRows) writeBatch() error {
	if len(w.batch[0]) == 0 {
		return nil
	}
	for i, column := range w.writer.ColumnWriters() {
		if _, err := column.WriteRowValues(w.batch[i]); err != nil {
			return err
		}
		w.batch[i] = w.batch[i][:0]
	}
	return nil
}

func (w *parquetRows) end(dst []byte, facts []Fact) ([]byte, error) {
	err := w.close(facts)
	return w.out.take(dst), err
}

// close ends the file.
func (w *parquetRows) close(facts []Fact) error {
	if err := w.writeBatch(); err != nil {
		return err
	}
	for _, f := range facts {
		w.writer.SetKeyValueMetadata("assay."+f.Name, f.Value)
	}
	return w.writer.Close()
}

var (
	errMissing = errors.New("a row has no value, and must have one")
	errNoText  = errors.New("the value is no text")
)

// parquetValue is a value of a column.
func parquetValue(c *Column, cell []byte) (v parquet.Value, err error) {
	if isNull(cell) {
		if !c.Optional {
			return v, errMissing
		}
		return parquet.NullValue(), nil
	}
	switch c.Kind {
	case Text:
		var text string
		if cell[0] != '"' {
			return v, errNoText
		}
		err = json.Unmarshal(cell, &text)
		return parquet.ByteArrayValue([]byte(text)), err
	case JSON:
		return parquet.ByteArrayValue(append([]byte(nil), cell...)), nil
	case Instant:
		at, err := parseInstant(cell)
		return parquet.Int64Value(at), err
	case Day:
		at, err := parseInstant(cell)
		return parquet.Int32Value(int32(at / assay.Day)), err //nolint:gosec // G115: days of years with four digits
	case Decimal:
		units, err := assay.ParseDecimal(borrow(cell), 9)
		return parquet.Int64Value(units), err
	case Integer:
		n, err := strconv.ParseInt(borrow(cell), 10, 64)
		return parquet.Int64Value(n), err
	case Double:
		f, err := strconv.ParseFloat(borrow(cell), 64)
		return parquet.DoubleValue(f), err
	case Boolean:
		b, err := strconv.ParseBool(borrow(cell))
		return parquet.BooleanValue(b), err
	}
	return v, fmt.Errorf("a column of the kind %d", c.Kind)
}

// parseInstant parses an instant or a day, in quotes.
func parseInstant(cell []byte) (ms int64, err error) {
	if len(cell) < 2 || cell[0] != '"' {
		return 0, errNoText
	}
	ms, _, err = assay.ParseInstant(borrow(cell[1 : len(cell)-1]))
	return ms, err
}

// borrow is the text of bytes, for functions that do not keep it.
func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) } //nolint:gosec // G103: see above
