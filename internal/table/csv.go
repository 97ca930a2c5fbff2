package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// csvRows writes CSV as RFC 4180 defines it: a header, commas, lines that end with CR and LF.
type csvRows struct {
	schema *Schema
	cells  *cells
}

func newCSV(s *Schema) *csvRows { return &csvRows{schema: s, cells: newCells(s)} }

func (w *csvRows) begin(dst []byte) ([]byte, error) {
	for i, c := range w.schema.Columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, c.Name...)
	}
	return append(dst, "\r\n"...), nil
}

func (w *csvRows) row(dst, text []byte) ([]byte, error) {
	if err := w.cells.read(text); err != nil {
		return dst, err
	}
	for i, value := range w.cells.found {
		if i > 0 {
			dst = append(dst, ',')
		}
		if isNull(value) {
			continue
		}
		switch column := &w.schema.Columns[i]; {
		case value[0] == '"' && column.Kind != Text: // an instant or a day, which needs no quotes
			dst = append(dst, value[1:len(value)-1]...)
		case value[0] == '"':
			var err error
			if dst, err = appendText(dst, value); err != nil {
				return dst, fmt.Errorf("column %s: %w", column.Name, err)
			}
		case value[0] == '[' || value[0] == '{':
			dst = appendQuoted(dst, string(value))
		default:
			dst = append(dst, value...)
		}
	}
	return append(dst, "\r\n"...), nil
}

func (w *csvRows) end(dst []byte, _ []Fact) ([]byte, error) { return dst, nil }

// appendText appends a text, in quotes if it needs them.
//
// A spreadsheet takes a cell that begins with one of a few characters for a formula, and runs it. The sources of data
// choose its texts, so such a text gets an apostrophe in front, which spreadsheets show as text and do not run. Numbers
// come from columns of numbers and stay as they are.
func appendText(dst, value []byte) ([]byte, error) {
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return appendSafe(dst, string(inner)), nil
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return dst, err
	}
	return appendSafe(dst, text), nil
}

func appendSafe(dst []byte, text string) []byte {
	if text != "" && strings.IndexByte("=+-@\t\r\n", text[0]) >= 0 || strings.HasPrefix(text, "＝") ||
		strings.HasPrefix(text, "＋") || strings.HasPrefix(text, "－") || strings.HasPrefix(text, "＠") {
		text = "'" + text
	}
	if !strings.ContainsAny(text, "\",\r\n") && strings.TrimSpace(text) == text {
		return append(dst, text...)
	}
	return appendQuoted(dst, text)
}

func appendQuoted(dst []byte, text string) []byte {
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(text, `"`, `""`)...)
	return append(dst, '"')
}

// ndjson writes one JSON object a line.
type ndjson struct{}

func (ndjson) begin(dst []byte) ([]byte, error) { return dst, nil }

// row appends the row as it is: the API writes JSON without line ends.
func (ndjson) row(dst, text []byte) ([]byte, error) {
	if bytes.IndexByte(text, '\n') >= 0 {
		return dst, fmt.Errorf("a row has a line end: %.100s", text)
	}
	return append(append(dst, text...), '\n'), nil
}

func (ndjson) end(dst []byte, _ []Fact) ([]byte, error) { return dst, nil }
