package ingest

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// FindSchema gives the schema of a family; nil when there is none of that name.
func FindSchema(family string) *Schema {
	i := slices.IndexFunc(Schemas, func(s *Schema) bool { return s.Family == family })
	if i < 0 {
		return nil
	}
	return Schemas[i]
}

// WriteCSV writes the example as a CSV file.
func (s *Schema) WriteCSV(w io.Writer) error {
	return csv.NewWriter(w).WriteAll(append([][]string{s.names()}, s.Example...))
}

// WriteNDJSON writes the example as an NDJSON file: an object a line, its members in the order of the columns. Every value
// is a string, which keeps each digit of a number; an empty cell is left out where a file may lack the column.
func (s *Schema) WriteNDJSON(w io.Writer) error {
	var line bytes.Buffer
	for _, row := range s.Example {
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
