package ingest

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/tools/testenv"
)

// stringColumns is a schema in which every column is text that may be null.
func stringColumns(columns []string) parquet.Group {
	group := parquet.Group{}
	for _, column := range columns {
		group[column] = parquet.Optional(parquet.String())
	}
	return group
}

// parquetFile writes rows of Go values by column; what a row lacks is null. Each part is a row group.
func parquetFile(t testing.TB, columns parquet.Group, parts ...[]map[string]any) string {
	t.Helper()
	var file bytes.Buffer
	schema := parquet.NewSchema("rows", columns)
	w := parquet.NewWriter(&file, schema)
	for _, rows := range parts {
		for _, row := range rows {
			if _, err := w.WriteRows([]parquet.Row{parquetRow(schema, row)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

func parquetRow(schema *parquet.Schema, row map[string]any) (values parquet.Row) {
	for i, path := range schema.Columns() {
		value, ok := row[path[0]]
		switch {
		case !ok:
			values = append(values, parquet.NullValue().Level(0, 0, i))
		case schema.Fields()[i].Optional():
			values = append(values, parquet.ValueOf(value).Level(0, 1, i))
		default:
			values = append(values, parquet.ValueOf(value).Level(0, 0, i))
		}
	}
	return values
}

// textRow makes the values of a row of text.
func textRow(row map[string]string) map[string]any {
	values := map[string]any{}
	for column, text := range row {
		if text != "" {
			values[column] = text
		}
	}
	return values
}

// Every way in which a column can be written comes to the same transaction.
func TestParquet_ColumnTypes(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	f := func(column string, node parquet.Node, value any, change func(*assay.Transaction)) {
		t.Helper()
		db, columns, row, want := storetest.Open(t), stringColumns(TransactionColumns), textRow(good()), goodTransaction()
		columns[column], row[column] = node, value
		change(&want)
		importFile(t, db, "a.parquet", parquetFile(t, columns, []map[string]any{row})).want(t, 1, 0, 0)
		if got := stored(t, db); !slices.Equal(got, []assay.Transaction{want}) {
			t.Errorf("%s of %s became %+v, want %+v", column, node, got, want)
		}
	}
	same := func(*assay.Transaction) {}
	at := time.UnixMilli(goodTransaction().ExecutedAt)
	f("id", parquet.String(), " t-1\t", same)
	f("id", parquet.Leaf(parquet.ByteArrayType), "t-1", same)
	f("id", parquet.Int(64), int64(-7), func(x *assay.Transaction) { x.ID = "-7" })
	f("id", parquet.UUID(), [16]byte{0: 0xc4, 15: 0x6c}, func(x *assay.Transaction) { x.ID = "c4000000-0000-0000-0000-00000000006c" })
	f("executed_at", parquet.Timestamp(parquet.Millisecond), at.UnixMilli(), same)
	f("executed_at", parquet.Timestamp(parquet.Microsecond), at.UnixMicro(), same)
	f("executed_at", parquet.Optional(parquet.Timestamp(parquet.Nanosecond)), at.UnixNano(), same)
	f("executed_at", parquet.TimestampAdjusted(parquet.Millisecond, false), at.UnixMilli(), same)
	f("provider", parquet.Enum(), "Acme", same)
	f("price", parquet.Decimal(2, 9, parquet.Int32Type), int32(235), same)
	f("price", parquet.Decimal(9, 18, parquet.Int64Type), int64(2_350_000_000), same)
	f("price", parquet.Decimal(9, 38, parquet.FixedLenByteArrayType(16)), [16]byte(big.NewInt(2_350_000_000).FillBytes(make([]byte, 16))), same)
	f("price", parquet.Decimal(12, 38, parquet.ByteArrayType), big.NewInt(2_350_000_000_000).Bytes(), same)
	f("price", parquet.Leaf(parquet.DoubleType), 2.35, same)
	f("price", parquet.Leaf(parquet.FloatType), float32(2.35), same)
	f("price", parquet.Leaf(parquet.Int32Type), int32(2), func(x *assay.Transaction) { x.Price = 2 * assay.One })
	f("hours", parquet.Decimal(1, 4, parquet.Int32Type), int32(245), same)
	f("hours", parquet.Leaf(parquet.DoubleType), 24.5, same)
	f("gpus", parquet.Int(8), int32(8), same)
	f("gpus", parquet.Uint(32), uint32(8), same)
	f("gpus", parquet.Uint(64), uint64(8), same)
	f("gpus", parquet.Leaf(parquet.Int64Type), int64(8), same)
	f("gpus", parquet.Leaf(parquet.DoubleType), 8.0, same)
	f("gpus", parquet.Decimal(0, 9, parquet.Int32Type), int32(8), same)
	f("gpus", parquet.Decimal(2, 9, parquet.Int32Type), int32(800), same)
	f("verified", parquet.Leaf(parquet.BooleanType), true, same)
	f("verified", parquet.Int(32), int32(1), same)
	// Every import ignores this column, whatever it contains.
	f("reason", parquet.Date(), int32(1), same)
}

func TestParquet_Rejects(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	f := func(column string, node parquet.Node, value any, reason string) {
		t.Helper()
		columns, row := stringColumns(TransactionColumns), textRow(with("id", "bad"))
		columns[column], row[column] = node, value
		out := importFile(t, db, "in/a.parquet", parquetFile(t, columns, []map[string]any{row}))
		out.want(t, 0, 0, 1)
		if r := out.rejects[0]; r.File != "in/a.parquet" || r.Line != 1 || !strings.HasPrefix(r.Reason, reason) || len(r.Cells) == 0 {
			t.Errorf("%s of %s is rejected as %+v, want %s", column, node, r, reason)
		}
	}
	at := time.UnixMilli(goodTransaction().ExecutedAt)
	const finer = ` is finer than a millisecond`
	double := parquet.Leaf(parquet.DoubleType)
	f("executed_at", parquet.Timestamp(parquet.Microsecond), at.UnixMicro()+1, `executed_at "2026-01-02T03:04:05.678001Z"`+finer)
	f("executed_at", parquet.Timestamp(parquet.Nanosecond), at.UnixNano()-1, `executed_at "2026-01-02T03:04:05.677999999Z"`+finer)
	f("executed_at", parquet.Timestamp(parquet.Millisecond), int64(math.MaxInt64), `executed_at "292278994-08-17T07:12:55.807Z" is not an ISO 8601`)
	f("executed_at", parquet.Timestamp(parquet.Millisecond), int64(-1), `executed_at 1969-12-31T23:59:59.999Z is before the year 2000`)
	f("executed_at", parquet.Int(64), at.UnixMilli(), `executed_at "1767323045678" is not an ISO 8601 date-time`)
	f("price", double, math.NaN(), `price "NaN" is not a plain decimal number: must be from 0.0001 to 1000`)
	f("price", double, math.Inf(1), `price "+Inf" is not a plain decimal number`)
	f("price", double, math.Inf(-1), `price "-Inf" is not a plain decimal number`)
	f("price", double, 0.30000000000000004, `price "0.30000000000000004" has more than 9 decimals`)
	f("price", double, math.MaxFloat64, `price "1797693134862315700000000000000000000000000000000000000000000000…" is too large`)
	f("price", parquet.Decimal(2, 9, parquet.Int32Type), int32(-1), `price -0.01 is out of bounds`)
	f("price", parquet.Decimal(2, 38, parquet.ByteArrayType), []byte{0xff}, `price -0.01 is out of bounds`)
	f("price", parquet.Decimal(2, 38, parquet.ByteArrayType), bytes.Repeat([]byte{1}, 33), `price "" has more than 32 bytes`)
	f("gpus", double, 1.5, `gpus "1.5" has more than 0 decimals`)
	f("gpus", parquet.Uint(64), uint64(math.MaxUint64), `gpus "18446744073709551615" is too large`)
	f("gpus", parquet.Uint(32), uint32(math.MaxUint32), `gpus 4294967295 is out of bounds`)
	f("gpus", parquet.Leaf(parquet.BooleanType), true, `gpus "true" is not a plain decimal number`)
	f("verified", parquet.Int(32), int32(2), `verified "2": must be true or false`)
	f("id", parquet.Leaf(parquet.ByteArrayType), []byte{0xff, 0xfe}, `id "\xff\xfe" is not valid UTF-8 text`)
	f("id", parquet.Leaf(parquet.ByteArrayType), []byte("a\x00"), `id contains U+0000: must be visible characters and plain spaces`)
	f("id", parquet.String(), strings.Repeat("x", 129), `id is longer than 128 bytes`)
	f("provider", parquet.String(), strings.Repeat("é", 40_000), `the row is longer than 65536 bytes`)
}

// Row groups are read in order; rows are reported by number; a null is an empty cell.
func TestParquet_ManyRows(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	const each, groups = 266, 3
	var parts [][]map[string]any
	for g := range groups {
		var rows []map[string]any
		for i := range each {
			rows = append(rows, textRow(with("id", fmt.Sprint(g*each+i))))
		}
		parts = append(parts, rows)
	}
	delete(parts[1][5], "price")
	delete(parts[2][6], "region")
	delete(parts[2][6], "source")
	parts[2][7]["id"] = "0"
	parts[2][7]["hours"] = "1"
	content := parquetFile(t, stringColumns(TransactionColumns), parts...)
	out := importFile(t, db, "a.parquet", content)
	out.want(t, each*groups-2, 0, 2)
	missing, changed := trimmedCells(with("id", fmt.Sprint(each+5))), trimmedCells(with("id", "0"))
	missing[slices.Index(TransactionColumns, "price")], changed[slices.Index(TransactionColumns, "hours")] = "", "1"
	want := []Reject{
		{
			File: "a.parquet", Line: each + 6, Reason: "price is missing",
			Cells: missing,
		},
		{
			File: "a.parquet", Line: each*2 + 8,
			Reason: `id "0" of source "exchange" is known with different content; the first version stays`,
			Cells:  changed, Conflict: true,
		},
	}
	if !reflect.DeepEqual(out.rejects, want) {
		t.Errorf("rejected are\n%+v, want\n%+v", out.rejects, want)
	}
	if x := findStored(t, db, fmt.Sprint(each*2+6)); x.Region != "" || x.Source != "desk" {
		t.Errorf("a row with nulls became %+v", x)
	}
	importFile(t, db, "b.parquet", content).want(t, 0, each*groups-2, 2)
}

func findStored(t *testing.T, db *store.DB, id string) assay.Transaction {
	t.Helper()
	all := stored(t, db)
	i := slices.IndexFunc(all, func(x assay.Transaction) bool { return x.ID == id })
	if i < 0 {
		t.Fatalf("%s is not stored", id)
	}
	return all[i]
}

func TestParquet_HeaderTrouble(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	f := func(change func(parquet.Group), want string) {
		t.Helper()
		columns := stringColumns(TransactionColumns)
		change(columns)
		out := importFile(t, db, "a.parquet", parquetFile(t, columns))
		if out.err == nil || !strings.HasPrefix(out.err.Error(), "a.parquet: "+want) {
			t.Errorf("the error is %v, want %s", out.err, want)
		}
	}
	set := func(column string, node parquet.Node) func(parquet.Group) {
		return func(g parquet.Group) { g[column] = node }
	}
	for _, column := range []string{"id", "executed_at", "gpu_name", "price", "gpus", "hours", "provider", "verified"} {
		f(func(g parquet.Group) { delete(g, column) }, fmt.Sprintf("column %q is missing: the header must name id, source, ", column))
	}
	f(set("ID", parquet.String()), `column "id" occurs twice`)
	f(set("price", parquet.Repeated(parquet.String())), `column "price" is a list or a group: allowed are single values`)
	f(set("price", parquet.Group{"usd": parquet.String()}), `column "price" is a list or a group: allowed are single values`)
	f(set("executed_at", parquet.Time(parquet.Millisecond)), `column "executed_at" has the type TIME(isAdjustedToUTC=true,unit=MILLIS): allowed are STRING, `)
	f(set("executed_at", parquet.Leaf(parquet.Int96Type)), `column "executed_at" has the type INT96: allowed are STRING, `)
	f(set("id", parquet.Leaf(parquet.FixedLenByteArrayType(4))), `column "id" has the type FIXED_LEN_BYTE_ARRAY(4): allowed are STRING, `)
	importFile(t, db, "a.parquet", parquetFile(t, stringColumns(TransactionColumns))).want(t, 0, 0, 0)
}

func TestParquet_Unreadable(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	whole := parquetFile(t, stringColumns(TransactionColumns), []map[string]any{textRow(good())})
	f := func(name string, r io.Reader, want string) {
		t.Helper()
		var out outcome
		err := Transactions(testOptions(db, &out)).File(t.Context(), name, r)
		if err == nil || !strings.HasPrefix(err.Error(), name+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives the error %v, want its name and %q", name, err, want)
		}
	}
	f("a.parquet", io.MultiReader(strings.NewReader(whole)), "standard input or a pipe: name a file")
	f("a.parquet.gz", strings.NewReader(whole), "decompress it first")
	f("a.Parquet.zst", strings.NewReader(whole), "decompress it first")
	f("a.parquet", strings.NewReader(""), "")
	f("a.parquet", strings.NewReader(csvHeaderLine), "")
	f("a.parquet", strings.NewReader(whole[:len(whole)-1]), "")
}

// A file with a wrong byte is an error, a reject or a row that can be believed; it never ends the program.
func TestParquet_WrongBytes(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	db := storetest.Open(t)
	whole := []byte(parquetFile(t, stringColumns(TransactionColumns), []map[string]any{textRow(good())}))
	for i := 0; i < len(whole); i += 11 {
		broken := bytes.Clone(whole)
		broken[i] ^= []byte{0x01, 0x80, 0xff}[i%3]
		var out outcome
		im := Transactions(testOptions(db, &out))
		if err := im.File(t.Context(), "a.parquet", bytes.NewReader(broken)); err != nil && !strings.HasPrefix(err.Error(), "a.parquet: ") {
			t.Errorf("with a wrong byte %d the error %v does not name the file", i, err)
		}
	}
	for _, x := range stored(t, db) {
		if why := implausible(&x); why != "" {
			t.Errorf("took %+v: %s", x, why)
		}
	}
}
