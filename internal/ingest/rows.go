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

	decoded bool // from another encoding; the decoder replaces what it cannot read
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
	switch {
	case l.decoded && bytes.ContainsRune(line, utf8.RuneError):
		return line, badRow{"the line is not valid in the encoding of --encoding"}
	case !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0:
		return line, badRow{"the line is not valid UTF-8 text; --encoding names another encoding"}
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
	header []int // the family's column of each column of the file, or noColumn

	delimiter byte
}

func (c *csvReader) next(cells []string) (location, error) {
	_, at, err := c.lines.row()
	if err != nil {
		return at, err
	}
	found, err := c.fill(at.text, cells)
	if err != nil {
		return at, badRow{err.Error()}
	}
	if found != len(c.header) {
		return at, badRow{fmt.Sprintf("%d columns where the header has %d", found, len(c.header))}
	}
	return at, nil
}

func (c *csvReader) split(text string, cells []string) {
	_, _ = c.fill(text, cells) // it was split before
}

// fill splits a line and returns the number of its cells.
func (c *csvReader) fill(text string, cells []string) (found int, err error) {
	if strings.IndexByte(text, '"') < 0 { // nearly all lines
		return c.splitPlain(text, cells), nil
	}
	quoted, err := splitCSV(text, c.delimiter)
	for i, cell := range quoted {
		c.set(cells, i, cell)
	}
	return len(quoted), err
}

// splitPlain splits a line without quotes and returns the number of cells.
func (c *csvReader) splitPlain(text string, cells []string) (found int) {
	for more := true; more; found++ {
		var cell string
		if end := strings.IndexByte(text, c.delimiter); end >= 0 {
			cell, text = text[:end], text[end+1:]
		} else {
			cell, more = text, false
		}
		c.set(cells, found, cell)
	}
	return found
}

func (c *csvReader) set(cells []string, i int, cell string) {
	if i < len(c.header) && c.header[i] != noColumn {
		cells[c.header[i]] = strings.TrimSpace(cell)
	}
}

func splitCSV(line string, delimiter byte) ([]string, error) {
	if strings.IndexByte(line, '"') < 0 {
		return strings.Split(line, string(delimiter)), nil // an empty line has one cell
	}
	r := csv.NewReader(strings.NewReader(line))
	r.Comma = rune(delimiter)
	cells, err := r.Read()
	if parseError, ok := errors.AsType[*csv.ParseError](err); ok {
		return nil, fmt.Errorf("column %d: %w", parseError.Column, parseError.Err)
	}
	return cells, err
}
