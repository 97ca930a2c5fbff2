package ingest

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/assaydata/assay"
)

// Fields are a transaction's columns as they stand in a file.
type Fields struct {
	ID, Source, ExecutedAt, GPUName, Region, Price, GPUs, Hours, Provider, Verified string
}

// Columns are the names of the fields: the header of a CSV file, the members of an NDJSON object.
var Columns = []string{"id", "source", "executed_at", "gpu_name", "region", "price", "gpus", "hours", "provider", "verified"}

// optional columns may be missing from the header: the source can be given for the whole file.
var optional = []string{"source", "region"}

// column points to the field of a column.
func (f *Fields) column(i int) *string {
	return [...]*string{&f.ID, &f.Source, &f.ExecutedAt, &f.GPUName, &f.Region, &f.Price, &f.GPUs, &f.Hours, &f.Provider, &f.Verified}[i]
}

func (f *Fields) executedAt() (int64, error) {
	if f.ExecutedAt == "" {
		return 0, errors.New("executed_at is missing")
	}
	ms, dateOnly, err := assay.ParseInstant(f.ExecutedAt)
	if err != nil {
		return 0, fmt.Errorf("executed_at %w", err)
	}
	if dateOnly {
		return 0, fmt.Errorf("executed_at %q has no time of day", f.ExecutedAt)
	}
	return ms, nil
}

func number(name, text string, decimals int) (int64, error) {
	if text == "" {
		return 0, fmt.Errorf("%s is missing", name)
	}
	n, err := assay.ParseDecimal(text, decimals)
	if err != nil {
		return 0, fmt.Errorf("%s %q %w", name, text, err)
	}
	return n, nil
}

// maxLine is the longest line that is read; a longer one is rejected and skipped.
const maxLine = 64 << 10

// lineReader gives the lines of a file, numbered from 1. A row never spans lines, so one broken quote cannot swallow the
// rows behind it.
type lineReader struct {
	r      *bufio.Reader
	number int
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, maxLine)}
}

// next gives the next line without its end. An error with a line is about that line only; io.EOF and an error without a
// line end the file.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if len(line) == 0 && err != nil {
		return nil, err
	}
	l.number++
	if errors.Is(err, bufio.ErrBufferFull) {
		head := bytes.Clone(line[:80])
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = l.r.ReadSlice('\n')
		}
		return head, fmt.Errorf("the line is longer than %d bytes", maxLine)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if l.number == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	line = bytes.TrimRight(line, "\r\n")
	if !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
		return line, errors.New("the line is not valid UTF-8 text")
	}
	return line, nil
}

// csvHeader tells which column of the file is which field; -1 is a column we do not know and ignore.
type csvHeader []int

func readHeader(lines *lineReader) (csvHeader, error) {
	line, err := lines.next()
	if errors.Is(err, io.EOF) {
		return nil, nil // an empty file has no rows
	}
	if err != nil {
		return nil, err
	}
	cells, err := splitCSV(line)
	if err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	header := make(csvHeader, len(cells))
	for i, cell := range cells {
		header[i] = slices.Index(Columns, strings.ToLower(strings.TrimSpace(cell)))
		if header[i] >= 0 && slices.Contains(header[:i], header[i]) {
			return nil, fmt.Errorf("line 1: column %q stands twice", cell)
		}
	}
	for i, name := range Columns {
		if !slices.Contains(header, i) && !slices.Contains(optional, name) {
			return nil, fmt.Errorf("line 1: column %q is missing: the header must name %s", name, strings.Join(Columns, ", "))
		}
	}
	return header, nil
}

func (h csvHeader) parse(line []byte, fields *Fields) error {
	cells, err := splitCSV(line)
	if err != nil {
		return err
	}
	if len(cells) != len(h) {
		return fmt.Errorf("%d columns where the header has %d", len(cells), len(h))
	}
	for i, column := range h {
		if column >= 0 {
			*fields.column(column) = strings.TrimSpace(cells[i])
		}
	}
	return nil
}

// splitCSV splits one line. Lines without quotes, nearly all, need no CSV reader.
func splitCSV(line []byte) ([]string, error) {
	text := string(line)
	if strings.IndexByte(text, '"') < 0 {
		return strings.Split(text, ","), nil
	}
	cells, err := csv.NewReader(strings.NewReader(text)).Read()
	if parseError, ok := errors.AsType[*csv.ParseError](err); ok {
		return nil, fmt.Errorf("column %d: %w", parseError.Column, parseError.Err)
	}
	return cells, err
}

// parseNDJSON reads one JSON object. Numbers keep their text, so nothing is lost to floating point.
func parseNDJSON(line []byte, fields *Fields) error {
	var row struct {
		ID         text `json:"id"`
		Source     text `json:"source"`
		ExecutedAt text `json:"executed_at"`
		GPUName    text `json:"gpu_name"`
		Region     text `json:"region"`
		Price      text `json:"price"`
		GPUs       text `json:"gpus"`
		Hours      text `json:"hours"`
		Provider   text `json:"provider"`
		Verified   text `json:"verified"`
	}
	if err := json.Unmarshal(line, &row); err != nil {
		return fmt.Errorf("not a JSON object of a transaction: %w", err)
	}
	*fields = Fields{
		string(row.ID), string(row.Source), string(row.ExecutedAt), string(row.GPUName), string(row.Region),
		string(row.Price), string(row.GPUs), string(row.Hours), string(row.Provider), string(row.Verified),
	}
	return nil
}

// text is a JSON string, number, boolean or null, as text.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return json.Unmarshal(b, (*string)(t))
	case '{', '[':
		return errors.New("a field is an object or an array")
	}
	if string(b) != "null" {
		*t = text(b)
	}
	return nil
}
