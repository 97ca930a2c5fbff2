package ingest

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxLine is the length limit of a line in bytes; a longer one is rejected and skipped.
const maxLine = 64 << 10

// lineReader reads the lines of a file, numbered from 1. A row never spans lines, so a broken quote cannot swallow the
// rows after it.
type lineReader struct {
	r      *bufio.Reader
	number int
	texts  lineArena
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, maxLine)}
}

// row returns the next line that is not blank, valid until the next call, and its location.
func (l *lineReader) row() (line []byte, at location, err error) {
	for len(line) == 0 && err == nil {
		line, err = l.next()
	}
	return line, location{line: l.number, text: l.texts.add(line)}, err
}

// next returns the next line without its line break. A badRow error comes with a line and concerns that line only;
// io.EOF and all other errors end the file.
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
		return head, badRow{fmt.Sprintf("the line is longer than %d bytes", maxLine)}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if l.number == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	line = bytes.TrimRight(line, "\r\n")
	if !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
		return line, badRow{"the line is not valid UTF-8 text"}
	}
	return line, nil
}

// lineArena turns lines into strings. Many lines share one allocation, which is freed with the last of them.
type lineArena struct{ piece strings.Builder }

// pieceSize is some hundred lines: small enough that one line that stays in use does not hold on to much else.
const pieceSize = 64 << 10

func (k *lineArena) add(line []byte) string {
	if k.piece.Cap()-k.piece.Len() < len(line) {
		k.piece = strings.Builder{}
		k.piece.Grow(max(pieceSize, len(line)))
	}
	start := k.piece.Len()
	k.piece.Write(line)
	return k.piece.String()[start:]
}

// csvReader reads CSV whose first line is a header.
type csvReader struct {
	lines  *lineReader
	header []int // the family's column of each column of the file, or -1
}

func readHeader(lines *lineReader, columns, optional []string) ([]int, error) {
	line, err := lines.next()
	if errors.Is(err, io.EOF) {
		return nil, nil // an empty file has no rows
	}
	if err != nil {
		return nil, err
	}
	names, err := splitCSV(string(line))
	if err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	header, err := matchColumns(names, columns, optional)
	if err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	return header, nil
}

func (c *csvReader) next(cells []string) (location, error) {
	_, at, err := c.lines.row()
	if err != nil {
		return at, err
	}
	found := 0
	if strings.IndexByte(at.text, '"') < 0 { // nearly all lines
		found = c.splitPlain(at.text, cells)
	} else {
		quoted, err := splitCSV(at.text)
		if err != nil {
			return at, badRow{err.Error()}
		}
		for i, cell := range quoted {
			c.set(cells, i, cell)
		}
		found = len(quoted)
	}
	if found != len(c.header) {
		return at, badRow{fmt.Sprintf("%d columns where the header has %d", found, len(c.header))}
	}
	return at, nil
}

// splitPlain splits a line without quotes and returns the number of cells.
func (c *csvReader) splitPlain(text string, cells []string) (found int) {
	for more := true; more; found++ {
		var cell string
		cell, text, more = strings.Cut(text, ",")
		c.set(cells, found, cell)
	}
	return found
}

func (c *csvReader) set(cells []string, i int, cell string) {
	if i < len(c.header) && c.header[i] >= 0 {
		cells[c.header[i]] = strings.TrimSpace(cell)
	}
}

func splitCSV(line string) ([]string, error) {
	if strings.IndexByte(line, '"') < 0 {
		return strings.Split(line, ","), nil // an empty line has one cell
	}
	cells, err := csv.NewReader(strings.NewReader(line)).Read()
	if parseError, ok := errors.AsType[*csv.ParseError](err); ok {
		return nil, fmt.Errorf("column %d: %w", parseError.Column, parseError.Err)
	}
	return cells, err
}
