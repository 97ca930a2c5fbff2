package family

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
)

// Schema describes the files of a family to the people who write them.
type Schema struct {
	Name    string // of the family
	About   string // one line: what a row is
	Columns []Column
	Example [][]string // rows that import cleanly into a new database
	Revises bool       // --revise turns other content under a known key into a new revision
}

// Column is one column of a file.
type Column struct {
	Name     string
	About    string
	Optional bool // a file may lack it
}

// Names returns the columns of the family's files in the order in which Parse takes them.
func (s *Schema) Names() (names []string) {
	for _, c := range s.Columns {
		names = append(names, c.Name)
	}
	return names
}

// Optional returns the columns that a file may lack.
func (s *Schema) Optional() (names []string) {
	for _, c := range s.Columns {
		if c.Optional {
			names = append(names, c.Name)
		}
	}
	return names
}

// WriteCSV writes rows as lines of CSV; Names is the first line of a file.
func (s *Schema) WriteCSV(w io.Writer, rows ...[]string) error {
	var lines bytes.Buffer // so that w gets whole lines
	if err := csv.NewWriter(&lines).WriteAll(rows); err != nil {
		return err
	}
	_, err := w.Write(lines.Bytes())
	return err
}

// WriteNDJSON writes rows as lines of NDJSON: one object per line, its members in the order of the columns. Every value
// is a string, which keeps each digit of a number. An empty cell of an optional column is left out.
func (s *Schema) WriteNDJSON(w io.Writer, rows ...[]string) error {
	var line bytes.Buffer
	for _, row := range rows {
		separator := byte('{')
		for i, column := range s.Columns {
			if row[i] == "" && column.Optional {
				continue
			}
			line.WriteByte(separator)
			separator = ','
			for j, text := range []string{column.Name, row[i]} {
				quoted, err := json.Marshal(text)
				if err != nil {
					return fmt.Errorf("column %s: %w", column.Name, err)
				}
				line.Write(quoted)
				if j == 0 {
					line.WriteByte(':')
				}
			}
		}
		line.WriteString("}\n")
	}
	_, err := w.Write(line.Bytes())
	return err
}
