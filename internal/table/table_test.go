package table_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/assaydata/assay/internal/table"
)

var points = table.MustSchema("timestamp instant", "index_value decimal")

// convert writes a response as a table, in pieces of a size.
func convert(t *testing.T, f *table.Format, s *table.Schema, text string, size int) (string, []table.Fact, error) {
	t.Helper()
	var out bytes.Buffer
	var facts []table.Fact
	e := table.NewEnvelope(f, s, &out)
	e.Begin = func(known []table.Fact) error { facts = known; return nil }
	for rest := text; rest != ""; {
		n := min(size, len(rest))
		if _, err := io.WriteString(e, rest[:n]); err != nil {
			break
		}
		rest = rest[n:]
	}
	err := e.Close()
	return out.String(), facts, err
}

func TestEnvelope_PiecesOfAnySize(t *testing.T) {
	t.Parallel()
	const text = `{"success":true,"gpu_type":"H100 \"SXM\"","query":{"a":[1,{"b":"}"}]},"count":2,"reason":null,"data":[` +
		`{"timestamp":"2026-01-30T21:00:00.000Z","index_value":2.5},{"timestamp":"2026-01-31T21:00:00.000Z","index_value":-1e0}` +
		`],"after":"x"}`
	for size := 1; size <= len(text); size++ {
		got, facts, err := convert(t, table.NDJSON, points, text, size)
		if err != nil {
			t.Fatalf("pieces of %d: %v", size, err)
		}
		const want = `{"timestamp":"2026-01-30T21:00:00.000Z","index_value":2.5}` + "\n" +
			`{"timestamp":"2026-01-31T21:00:00.000Z","index_value":-1e0}` + "\n"
		if got != want {
			t.Fatalf("pieces of %d: %s", size, got)
		}
		if diff := cmp.Diff([]table.Fact{{"success", "true"}, {"gpu_type", `H100 "SXM"`}, {"count", "2"}}, facts); diff != "" {
			t.Fatalf("pieces of %d: %s", size, diff)
		}
	}
}

func TestEnvelope_Rows(t *testing.T) {
	t.Parallel()
	f := func(name, text, want string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := convert(t, table.CSV, points, text, 7)
			if err != nil || got != "timestamp,index_value\r\n"+want {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		})
	}
	const row = `{"timestamp":"2026-01-30T21:00:00.000Z","index_value":2.5}`
	f("none", `{"data":[]}`, "")
	f("one object", `{"data":`+row+`}`, "2026-01-30T21:00:00.000Z,2.5\r\n")
	f("spaces", "{ \"data\" : [ { \"timestamp\" : \"2026-01-30T21:00:00.000Z\" ,\n\"index_value\" : 2.5 } ] }\n",
		"2026-01-30T21:00:00.000Z,2.5\r\n")
	f("another order", `{"data":[{"index_value":2.5,"timestamp":"2026-01-30T21:00:00.000Z"}]}`, "2026-01-30T21:00:00.000Z,2.5\r\n")
	f("null and missing", `{"data":[{"timestamp":null,"index_value":2.5},{"timestamp":"2026-01-30T21:00:00.000Z"}]}`,
		",2.5\r\n2026-01-30T21:00:00.000Z,\r\n")
}

func TestEnvelope_Broken(t *testing.T) {
	t.Parallel()
	f := func(text, want string, formats ...*table.Format) {
		t.Helper()
		for _, format := range formats {
			if _, _, err := convert(t, format, points, text, len(text)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %.80s: %v, want %q", format.Name, text, err, want)
			}
		}
	}
	all := table.Formats
	f(`{"data":[{"timestamp":"2026`, "ended inside", all...)
	f(`{"data":[]`, "ended inside", all...)
	f(``, "ended inside", all...)
	f(`{"data":[7]}`, "a row begins with '7'", all...)
	f(`{"data":[]}{`, "after the envelope", all...)
	long := `{"data":[{"timestamp":"2026-01-30T21:00:00.000Z","index_value":` + strings.Repeat("1", 5<<20)
	f(long, "longer than", all...)
	f(`{"data":[{"timestamp":"2026-01-30T21:00:00.000Z","index_value":2.5,"more":1}]}`, `no column is named "more"`,
		table.CSV, table.Parquet)
	f(`{"data":[{"timestamp"}]}`, "without a value", table.CSV, table.Parquet)
}

// A reader of CSV gets the texts back, but none that a spreadsheet would run.
func TestCSV_Texts(t *testing.T) {
	t.Parallel()
	schema := table.MustSchema("city text?", "lat double?", "tags json?")
	f := func(text, want string) {
		t.Helper()
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := convert(t, table.CSV, schema, `{"data":[{"city":`+string(raw)+`,"lat":-7,"tags":["a","b"]}]}`, 5)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(got)).ReadAll()
		if err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		if diff := cmp.Diff([][]string{{"city", "lat", "tags"}, {want, "-7", `["a","b"]`}}, rows); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	f("Paris", "Paris")
	f("", "")
	f(`a "quoted", comma`, `a "quoted", comma`)
	f(" spaces ", " spaces ")
	f("two\nlines", "two\nlines")
	f("Zürich 東京 🙂 \u2028", "Zürich 東京 🙂 \u2028")
	f(`back\slash </script>`, `back\slash </script>`)
	f("=HYPERLINK(\"x\")", "'=HYPERLINK(\"x\")")
	f("+1", "'+1")
	f("-1", "'-1")
	f("@SUM(A1)", "'@SUM(A1)")
	f("\t=1", "'\t=1")
	f("＝1", "'＝1")
	f("a=1", "a=1")
}

func TestParquet_Kinds(t *testing.T) {
	t.Parallel()
	schema := table.MustSchema("name text", "at instant", "day day", "value decimal?", "lat double", "n integer", "on boolean?",
		"stats_mean decimal?", "tags json?")
	got, _, err := convert(t, table.Parquet, schema, `{"access":"full","rows":2,"data":[`+
		`{"name":"a\u00fc\"","at":"2026-01-30T21:00:00.001Z","day":"2026-01-30","value":-12345678.123456789,"lat":48.8566,"n":-9,"on":true,`+
		`"stats":{"mean":0.000000001},"tags":["x"]},`+
		`{"name":"","at":"1969-12-31T23:59:59.999Z","day":"1970-01-01","value":null,"lat":1e-7,"n":9007199254740993}]}`, 11)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(strings.NewReader(got), int64(len(got)))
	if err != nil {
		t.Fatal(err)
	}
	const want = `message assay {
	required binary name (STRING);
	required int64 at (TIMESTAMP(isAdjustedToUTC=true,unit=MILLIS));
	required int32 day (DATE);
	optional int64 value (DECIMAL(18,9));
	required double lat;
	required int64 n (INT(64,true));
	optional boolean on;
	optional int64 stats_mean (DECIMAL(18,9));
	optional binary tags (STRING);
}`
	if diff := cmp.Diff(want, file.Schema().String()); diff != "" {
		t.Error(diff)
	}
	if access, ok := file.Lookup("assay.access"); !ok || access != "full" {
		t.Errorf("access %q, %t", access, ok)
	}
	var rows []string
	for _, group := range file.RowGroups() {
		reader := group.Rows()
		buffer := make([]parquet.Row, 10)
		n, err := reader.ReadRows(buffer)
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		for _, row := range buffer[:n] {
			rows = append(rows, fmt.Sprint(row))
		}
		reader.Close()
	}
	if diff := cmp.Diff([]string{
		`[aü" 1769806800001 20483 -12345678123456789 48.8566 -9 true 1 ["x"]]`,
		`[ -1 0 <null> 1e-07 9007199254740993 <null> <null> <null>]`,
	}, rows); diff != "" {
		t.Error(diff)
	}
}

func TestParquet_WrongValues(t *testing.T) {
	t.Parallel()
	f := func(column, value, want string) {
		t.Helper()
		_, _, err := convert(t, table.Parquet, table.MustSchema("x "+column), `{"data":[{"x":`+value+`}]}`, 100)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s of %s: %v, want %q", value, column, err, want)
		}
	}
	f("decimal", "1.0000000001", "x: ")
	f("decimal", "1e3", "x: ")
	f("decimal", "99999999999", "x: ")
	f("instant", `"yesterday"`, "x: ")
	f("instant", `7`, "no text")
	f("text", `7`, "no text")
	f("integer", "1.5", "x: ")
	f("decimal", "null", "must have one")
}

// manyPoints is the text of a response of n points.
func manyPoints(n int) []byte {
	text := []byte(`{"success":true,"data":[`)
	random := rand.New(rand.NewPCG(1, 2))
	value := 24000
	for i := range n {
		if i > 0 {
			text = append(text, ',')
		}
		value += random.IntN(101) - 50
		text = fmt.Appendf(text, `{"timestamp":"20%02d-%02d-%02dT%02d:00:00.000Z","index_value":%d.%04d}`,
			10+i/8064%90, 1+i/672%12, 1+i/24%28, i%24, value/10000, value%10000)
	}
	return append(text, "]}"...)
}

// Every row is written, also with several row groups, and memory does not grow with them.
func TestParquet_ManyRows(t *testing.T) {
	t.Parallel()
	const rows = 400_000
	text := manyPoints(rows)
	var out bytes.Buffer
	e := table.NewEnvelope(table.Parquet, points, &out)
	if _, err := e.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil || file.NumRows() != rows || len(file.RowGroups()) < 3 {
		t.Fatalf("%v: %d rows in %d groups", err, file.NumRows(), len(file.RowGroups()))
	}
}

func BenchmarkEnvelope(b *testing.B) {
	const rows = 100_000
	text := manyPoints(rows)
	for _, f := range table.Formats {
		b.Run(f.Name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				e := table.NewEnvelope(f, points, io.Discard)
				for piece := range bytes.SplitAfterSeq(text, []byte("}")) {
					e.Write(piece)
				}
				if err := e.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
