package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/store/storetest"
)

// Every family has an example, in both forms the same, that says something in each of its columns. That it can be
// imported is seen by a test of the program.
func TestSchemas_Examples(t *testing.T) {
	t.Parallel()
	for _, s := range Families {
		if found, _ := FindFamily(s.Name); found.Schema != s.Schema || s.About == "" || len(s.Example) < 2 {
			t.Errorf("%s: the family is named twice, or its one line or two rows of example are missing", s.Name)
		}
		filled := make([]bool, len(s.Columns))
		for _, row := range s.Example {
			if len(row) != len(s.Columns) {
				t.Fatalf("%s: %d cells where the file has %d columns: %q", s.Name, len(row), len(s.Columns), row)
			}
			for i, cell := range row {
				filled[i] = filled[i] || cell != ""
			}
		}
		if i := slices.Index(filled, false); i >= 0 {
			t.Errorf("%s: no row shows a %s", s.Name, s.Columns[i].Name)
		}
		if got := readExample(t, s.Schema, "example.csv", s.WriteCSV, s.Names()); !equalRows(got, s.Example) {
			t.Errorf("%s: CSV is read as %q", s.Name, got)
		}
		if got := readExample(t, s.Schema, "example.ndjson", s.WriteNDJSON); !equalRows(got, s.Example) {
			t.Errorf("%s: NDJSON is read as %q", s.Name, got)
		}
	}
	if _, ok := FindFamily("prices"); ok {
		t.Error("there is a family that nobody knows")
	}
}

// readExample reads an example as an import would.
func readExample(
	t *testing.T, s *family.Schema, name string, write func(io.Writer, ...[]string) error, header ...[]string,
) (rows [][]string) {
	t.Helper()
	var text bytes.Buffer
	if err := write(&text, append(header, s.Example...)...); err != nil {
		t.Fatal(err)
	}
	reader, closer, err := openRows(name, &text, &columns{names: s.Names(), optional: s.Optional()})
	if err != nil {
		t.Fatal(err)
	}
	defer closer()
	for {
		cells := make([]string, len(s.Columns))
		if _, err := reader.next(cells); errors.Is(err, io.EOF) {
			return rows
		} else if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, cells)
	}
}

func equalRows(a, b [][]string) bool {
	return slices.EqualFunc(a, b, func(a, b []string) bool { return slices.Equal(a, b) })
}

// A bidirectional control in any cell of any family has its row rejected, with a reason that names the column and the
// character, also in a cell that must match the catalog.
func TestImport_RejectsInvisibleCharacters(t *testing.T) {
	t.Parallel()
	for _, f := range Families {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			db := storetest.Open(t)
			for i, column := range f.Columns {
				row := slices.Clone(f.Example[slices.IndexFunc(f.Example, func(row []string) bool { return row[i] != "" })])
				row[i] = row[i][:1] + "\u202e" + row[i][1:]
				var text bytes.Buffer
				if err := f.WriteNDJSON(&text, row); err != nil {
					t.Fatal(err)
				}
				var out outcome
				im := f.New(testOptions(db, &out))
				out.err = im.File(t.Context(), "a.ndjson", &text)
				out.Counts = im.Counts()
				out.want(t, 0, 0, 1)
				reason := out.rejects[0].Reason
				named := reason == column.Name+" contains U+202E: must be visible characters and plain spaces"
				quoted := strings.HasPrefix(reason, fmt.Sprintf("%s %+q", column.Name, row[i])) // a number or an instant
				if !named && !quoted {
					t.Errorf("%s is rejected as %s", column.Name, reason)
				}
			}
		})
	}
}

// Cells that need quoting come through, and an empty optional one is no member.
func TestSchema_WriteQuotes(t *testing.T) {
	t.Parallel()
	s := &family.Schema{Columns: []family.Column{{Name: "a"}, {Name: "b", Optional: true}}}
	rows := [][]string{{`say "x", y`, ""}, {"", "z"}}
	var csv, ndjson strings.Builder
	if err := s.WriteCSV(&csv, rows...); err != nil || csv.String() != "\"say \"\"x\"\", y\",\n,z\n" {
		t.Errorf("CSV is %q (%v)", csv.String(), err)
	}
	if err := s.WriteNDJSON(&ndjson, rows...); err != nil || ndjson.String() != "{\"a\":\"say \\\"x\\\", y\"}\n{\"a\":\"\",\"b\":\"z\"}\n" {
		t.Errorf("NDJSON is %q (%v)", ndjson.String(), err)
	}
	for line := range strings.Lines(ndjson.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("%s is no JSON", line)
		}
	}
}
