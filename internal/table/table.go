// Package table turns the JSON that the API serves into tables: CSV, newline-delimited JSON and Parquet.
//
// A response is an envelope, an object with a few members and a list of rows. Every route makes that text anyway, so a
// table is made of it: Envelope (envelope.go) is a writer that takes the text in pieces of any size and finds the rows,
// and a format (csv.go, ndjson.go, parquet.go) writes them. A number keeps its digits on the way, and memory does not
// grow with the number of rows.
//
// A table has the same columns whatever rows it has: those of a Schema. A row that lacks a member has an empty cell. A
// member that the schema does not know is an error, because a table without it would be wrong and look right.
package table

import (
	"fmt"
	"strings"
)

// Kind is what a column holds.
type Kind uint8

// The kinds.
const (
	Text    Kind = iota + 1
	Instant      // such as 2026-01-30T21:00:00.000Z
	Day          // such as 2026-01-30
	Decimal      // a number with at most nine decimals
	Double       // any other number, such as a coordinate
	Integer
	Boolean
	JSON // a list or an object
)

var kinds = map[string]Kind{
	"text": Text, "instant": Instant, "day": Day, "decimal": Decimal, "double": Double, "integer": Integer,
	"boolean": Boolean, "json": JSON,
}

// Column is a member of the rows.
type Column struct {
	Name     string // of a member inside of another: stats_mean
	Kind     Kind
	Optional bool // whether it may be null or absent
	Repeats  bool // whether it has few values, so that a file should number them
}

// Schema is the columns of a route's rows, and where in the envelope the rows are.
type Schema struct {
	Member  string // of the envelope: a list of rows, or one row
	Columns []Column
}

// MustSchema makes a schema of the rows in the member data. Each column is its name and its kind; a kind that ends with
// a question mark makes it optional, and one that ends with an asterisk has few values:
//
//	MustSchema("gpu_type text*", "timestamp instant", "index_value decimal", "note text?")
func MustSchema(columns ...string) *Schema {
	s := &Schema{Member: "data"}
	for _, text := range columns {
		name, kind, _ := strings.Cut(text, " ")
		kind, optional := strings.CutSuffix(kind, "?")
		kind, repeats := strings.CutSuffix(kind, "*")
		c := Column{Name: name, Kind: kinds[kind], Optional: optional, Repeats: repeats}
		if name == "" || c.Kind == 0 {
			panic(fmt.Sprintf("column %q is no name and kind", text)) // schemas are constants
		}
		s.Columns = append(s.Columns, c)
	}
	return s
}

// In is the schema for rows in another member.
func (s *Schema) In(member string) *Schema { return &Schema{Member: member, Columns: s.Columns} }

// With is the schema with more columns at its end.
func (s *Schema) With(columns ...string) *Schema {
	more := MustSchema(columns...)
	return &Schema{Member: s.Member, Columns: append(s.Columns[:len(s.Columns):len(s.Columns)], more.Columns...)}
}

// Format is a form of a table.
type Format struct {
	Name      string // as clients request it
	Extension string // of a file
	Type      string // the media type
	Packed    bool   // is compressed already
	Facts     bool   // has the facts in it

	write func(*Schema) rowWriter
}

// rowWriter appends a table to a text, row by row.
type rowWriter interface {
	// begin appends what comes before the rows.
	begin(dst []byte) ([]byte, error)
	// row appends a row, which is a JSON object. Its bytes are valid until row returns.
	row(dst, text []byte) ([]byte, error)
	// end appends what comes after the rows. Facts are what else is to be known of the table.
	end(dst []byte, facts []Fact) ([]byte, error)
}

// Fact is something to be known of a whole table, such as whose access it was made for.
type Fact struct{ Name, Value string }

// The formats.
var (
	CSV = &Format{
		Name: "csv", Extension: ".csv", Type: "text/csv; charset=utf-8; header=present",
		write: func(s *Schema) rowWriter { return newCSV(s) },
	}
	NDJSON = &Format{
		Name: "ndjson", Extension: ".ndjson", Type: "application/x-ndjson",
		write: func(*Schema) rowWriter { return ndjson{} },
	}
	Parquet = &Format{
		Name: "parquet", Extension: ".parquet", Type: "application/vnd.apache.parquet", Packed: true, Facts: true,
		write: func(s *Schema) rowWriter { return newParquet(s) },
	}
)

// Formats are all of them.
var Formats = []*Format{CSV, NDJSON, Parquet}

// MediaType is the type without its parameters, as an Accept header has it.
func (f *Format) MediaType() string {
	name, _, _ := strings.Cut(f.Type, ";")
	return name
}
