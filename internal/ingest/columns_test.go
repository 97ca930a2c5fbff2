package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding"

	"github.com/assaydata/assay/internal/store/storetest"
)

// importWith imports a file with options into a database of its own.
func importWith(t *testing.T, options FileOptions, name, content string) (out outcome) {
	t.Helper()
	o := testOptions(storetest.Open(t), &out)
	o.FileOptions = options
	im := Transactions(o)
	out.err = im.File(t.Context(), name, strings.NewReader(content))
	out.Counts = im.Counts()
	return out
}

func TestColumns_Unknown(t *testing.T) {
	t.Parallel()
	csv := strings.TrimSuffix(csvHeaderLine, "\n") + ",regoin\n" + strings.TrimSuffix(csvLine(good()), "\n") + ",us-east\n"
	out := importWith(t, FileOptions{}, "a.csv", csv)
	if out.err == nil || !strings.Contains(out.err.Error(), `a.csv: line 1: unknown column "regoin": must be one of id, source,`) {
		t.Errorf("the error is %v", out.err)
	}
	if _, ok := errors.AsType[FileError](out.err); !ok {
		t.Errorf("%T is no error of one file", out.err)
	}
	importWith(t, FileOptions{IgnoreColumns: true}, "a.csv", csv).want(t, 1, 0, 0)

	row := good()
	row["regoin"] = "us-east"
	out = importWith(t, FileOptions{}, "a.ndjson", jsonLine(row)+jsonLine(with("id", "t-2")))
	out.want(t, 1, 0, 1)
	if r := out.rejects[0]; !strings.HasPrefix(r.Reason, `unknown column "regoin"`) || !strings.Contains(r.Text, "us-east") {
		t.Errorf("the reject is %+v, want it with its text", r)
	}
	importWith(t, FileOptions{IgnoreColumns: true}, "a.ndjson", jsonLine(row)).want(t, 1, 0, 0)

	long := strings.Repeat("x", 10_000)
	if out := importWith(t, FileOptions{}, "a.csv", strings.Replace(csv, "regoin", long, 1)); len(out.err.Error()) > 400 {
		t.Errorf("the error has %d bytes", len(out.err.Error()))
	}
}

// The column of the reason does not stop corrected rows.
func TestColumns_Reason(t *testing.T) {
	t.Parallel()
	csv := strings.TrimSuffix(csvHeaderLine, "\n") + ",reason\n" + strings.TrimSuffix(csvLine(good()), "\n") + ",because\n"
	importWith(t, FileOptions{}, "a.csv", csv).want(t, 1, 0, 0)
	row := good()
	row["reason"] = "because"
	importWith(t, FileOptions{}, "a.ndjson", jsonLine(row)).want(t, 1, 0, 0)
}

func TestColumns_Rename(t *testing.T) {
	t.Parallel()
	options := FileOptions{Rename: map[string]string{"trade": "id", "rate": "price"}}
	csv := strings.Replace(strings.Replace(csvHeaderLine, "id,", "Trade,", 1), "price", " RATE", 1) + csvLine(good())
	importWith(t, options, "a.csv", csv).want(t, 1, 0, 0)
	row := strings.Replace(strings.Replace(jsonLine(good()), `"id"`, `"trade"`, 1), `"price"`, `"rate"`, 1)
	importWith(t, options, "a.ndjson", row).want(t, 1, 0, 0)

	twice := strings.Replace(csvHeaderLine, "source", "trade", 1)
	if out := importWith(t, options, "a.csv", twice); out.err == nil || !strings.Contains(out.err.Error(), `column "id" occurs twice`) {
		t.Errorf("the error is %v", out.err)
	}
}

func TestFile_Delimiters(t *testing.T) {
	t.Parallel()
	comma := csvHeaderLine + csvLine(with("provider", `A;c"m|e`)) + csvLine(with("id", "t-2"))
	for _, d := range delimiters[1:] {
		cells := strings.NewReplacer(`","`, `"`+string(d.char)+`"`, ",", string(d.char))
		content := cells.Replace(comma)
		char, err := ParseDelimiter(d.name)
		if err != nil {
			t.Fatal(err)
		}
		importWith(t, FileOptions{Delimiter: char}, "a.csv", content).want(t, 2, 0, 0)
		want := fmt.Sprintf("a.csv: line 1: the cells are separated by %ss: use --delimiter %s", d.name, d.name)
		if out := importWith(t, FileOptions{}, "a.csv", content); out.err == nil || out.err.Error() != want {
			t.Errorf("without the delimiter the error is %v, want %s", out.err, want)
		}
	}
	if _, err := ParseDelimiter("x"); err == nil {
		t.Error("x is a delimiter")
	}
}

func TestFile_Encodings(t *testing.T) {
	t.Parallel()
	content := csvHeaderLine + csvLine(with("provider", "Größe")) + csvLine(with("id", "t-2"))
	for _, name := range []string{"utf-16", "utf-16le", "utf-16be", "iso-8859-1", "windows-1252"} {
		e := Encodings[name]
		encoded, err := e.NewEncoder().String(content)
		if err != nil {
			t.Fatal(err)
		}
		out := importWith(t, FileOptions{Encoding: e}, "a.csv", encoded)
		out.want(t, 2, 0, 0)
		out = importWith(t, FileOptions{}, "a.csv", encoded)
		if strings.HasPrefix(name, "utf-16") {
			if want := "a.csv: the file is encoded in UTF-16: use --encoding " + name; out.err == nil || out.err.Error() != want {
				t.Errorf("without the encoding the error is %v, want %s", out.err, want)
			}
			continue
		}
		out.want(t, 1, 0, 1)
		if want := "the line is not valid UTF-8 text; --encoding names another encoding"; out.rejects[0].Reason != want {
			t.Errorf("the reason is %s, want %s", out.rejects[0].Reason, want)
		}
	}
}

// What the decoder of an encoding cannot read is rejected, not replaced.
func TestFile_EncodingErrors(t *testing.T) {
	t.Parallel()
	f := func(e encoding.Encoding, bad string) {
		t.Helper()
		encoded, err := e.NewEncoder().String(csvHeaderLine + csvLine(with("provider", "BAD")) + csvLine(with("id", "t-2")))
		if err != nil {
			t.Fatal(err)
		}
		placeholder, err := e.NewEncoder().String("BAD")
		if err != nil {
			t.Fatal(err)
		}
		out := importWith(t, FileOptions{Encoding: e}, "a.csv", strings.Replace(encoded, placeholder, bad, 1))
		out.want(t, 1, 0, 1)
		if want := "the line is not valid in the encoding of --encoding"; out.rejects[0].Reason != want {
			t.Errorf("the reason is %s, want %s", out.rejects[0].Reason, want)
		}
	}
	f(Encodings["utf-16le"], "\x00\xd8A\x00") // half of a pair
	f(Encodings["windows-1252"], "\x81")      // not assigned
}

// Rows that conflict with stored ones are reported with their cells, although only their text was kept.
func TestRejects_CellsOfConflicts(t *testing.T) {
	t.Parallel()
	changed := with("hours", "1")
	changed["provider"] = `Ac"me, Ltd.`
	texts := map[string]string{
		"a.csv":     csvHeaderLine + csvLine(changed),
		"a.ndjson":  jsonLine(changed),
		"a.parquet": parquetFile(t, stringColumns(TransactionColumns), []map[string]any{textRow(changed)}),
	}
	for name, content := range texts {
		db := storetest.Open(t)
		importFile(t, db, "first.ndjson", jsonLine(good())).want(t, 1, 0, 0)
		out := importFile(t, db, name, content)
		out.want(t, 0, 0, 1)
		if got, want := out.rejects[0].Cells, trimmedCells(changed); !slices.Equal(got, want) {
			t.Errorf("%s: the cells are %q, want %q", name, got, want)
		}
	}
}

// If a reject cannot be kept, the import fails: its row would be lost.
func TestRejects_NotKept(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	options := testOptions(storetest.Open(t), &outcome{})
	options.Rejected = func(Reject) error { return broken }
	err := Transactions(options).File(t.Context(), "a.ndjson", strings.NewReader("bad\n"+jsonLine(good())))
	if !errors.Is(err, broken) {
		t.Errorf("the import ended with %v", err)
	}
}

func TestCheckOnly_WritesNothing(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	var out outcome
	options := testOptions(db, &out)
	options.CheckOnly = true
	im := Transactions(options)
	out.err = im.File(t.Context(), "a.ndjson", strings.NewReader(jsonLine(good())+"bad\n"))
	out.Counts = im.Counts()
	out.want(t, 1, 0, 1)
	if n, err := db.CountTransactions(t.Context()); n != 0 || err != nil {
		t.Errorf("%d rows are stored (%v)", n, err)
	}
}
