package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// FileOptions say how files differ from those that assay template prints.
type FileOptions struct {
	Delimiter     byte              // between the cells of CSV; 0 is a comma
	Encoding      encoding.Encoding // of CSV and NDJSON; nil is UTF-8
	IgnoreColumns bool              // columns that the family does not have are ignored, not refused
	Rename        map[string]string // from columns of the files, in lower case, to columns of the family
}

// ReasonColumn is a column that every import ignores: rejected rows say in it why, and return without it being removed.
const ReasonColumn = "reason"

// Encodings are the encodings of text files that can be named, apart from UTF-8.
var Encodings = map[string]encoding.Encoding{
	"utf-16":       unicode.UTF16(unicode.LittleEndian, unicode.UseBOM),
	"utf-16le":     unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM),
	"utf-16be":     unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
	"iso-8859-1":   charmap.ISO8859_1,
	"iso-8859-2":   charmap.ISO8859_2,
	"iso-8859-15":  charmap.ISO8859_15,
	"windows-1250": charmap.Windows1250,
	"windows-1251": charmap.Windows1251,
	"windows-1252": charmap.Windows1252,
	"macintosh":    charmap.Macintosh,
}

// lines reads the lines of a text file. A file in UTF-16 is refused here, because each of its lines would be.
func (o *FileOptions) lines(r io.Reader) (*lineReader, error) {
	if o.Encoding != nil {
		l := newLineReader(o.Encoding.NewDecoder().Reader(r))
		l.decoded = true
		return l, nil
	}
	l := newLineReader(r)
	start, _ := l.r.Peek(4) // an error comes again with the first line
	if name := utf16Name(start); name != "" {
		return nil, fmt.Errorf("the file is encoded in UTF-16: use --encoding %s", name)
	}
	return l, nil
}

// utf16Name recognizes UTF-16 by its byte order mark, or by the zeros in the first two characters.
func utf16Name(start []byte) string {
	switch {
	case bytes.HasPrefix(start, []byte{0xff, 0xfe}), bytes.HasPrefix(start, []byte{0xfe, 0xff}):
		return "utf-16"
	case len(start) < 4:
		return ""
	case start[0] != 0 && start[1] == 0 && start[2] != 0 && start[3] == 0:
		return "utf-16le"
	case start[0] == 0 && start[1] != 0 && start[2] == 0 && start[3] != 0:
		return "utf-16be"
	}
	return ""
}

// columns are the columns of a family, and how files name them.
type columns struct {
	names, optional []string
	FileOptions
}

// noColumn is the position of a column that is ignored.
const noColumn = -1

// find returns the position of a column of a file. It ignores letter case.
func (c *columns) find(name string) (position int, err error) {
	if len(c.Rename) > 0 {
		if ours, ok := c.Rename[strings.ToLower(strings.TrimSpace(name))]; ok {
			name = ours
		}
	}
	if i := slices.Index(c.names, name); i >= 0 {
		return i, nil
	}
	lower := strings.ToLower(strings.TrimSpace(name))
	i := slices.Index(c.names, lower)
	if i < 0 && lower != ReasonColumn && !c.IgnoreColumns {
		return noColumn, fmt.Errorf(
			"unknown column %q: must be one of %s; --map renames a column, --ignore-columns ignores it",
			shortName(name), strings.Join(c.names, ", "))
	}
	return i, nil
}

// shortName keeps errors about names readable: a whole line may be taken for a name.
func shortName(name string) string {
	const most = 60
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return name
}

// match returns the family's column of each column of a file, or noColumn.
func (c *columns) match(names []string) ([]int, error) {
	matched := make([]int, len(names))
	var unknown error
	for i, name := range names {
		var err error
		matched[i], err = c.find(name)
		unknown = cmp.Or(unknown, err)
		if matched[i] != noColumn && slices.Contains(matched[:i], matched[i]) {
			return nil, fmt.Errorf("column %q occurs twice", c.names[matched[i]])
		}
	}
	for i, name := range c.names {
		if !slices.Contains(matched, i) && !slices.Contains(c.optional, name) {
			return nil, fmt.Errorf("column %q is missing: the header must name %s", name, strings.Join(c.names, ", "))
		}
	}
	return matched, unknown
}

// delimiters are what may separate the cells of CSV, and how --delimiter calls them.
var delimiters = []struct {
	char byte
	name string
}{{',', "comma"}, {';', "semicolon"}, {'\t', "tab"}, {'|', "pipe"}}

// ParseDelimiter returns the delimiter that a text names or is.
func ParseDelimiter(text string) (byte, error) {
	for _, d := range delimiters {
		if text == d.name || text == string(d.char) {
			return d.char, nil
		}
	}
	return 0, errors.New("must be comma, semicolon, tab or pipe")
}

func (o *FileOptions) delimiter() byte {
	if o.Delimiter == 0 {
		return ','
	}
	return o.Delimiter
}

// header reads the first line of a CSV file.
func (c *columns) header(lines *lineReader) ([]int, error) {
	line, err := lines.next()
	if errors.Is(err, io.EOF) {
		return nil, nil // an empty file has no rows
	}
	if err != nil {
		return nil, err
	}
	matched, err := c.matchLine(string(line), c.delimiter())
	if err == nil {
		return matched, nil
	}
	for _, other := range delimiters {
		if _, wrong := c.matchLine(string(line), other.char); wrong == nil {
			return nil, fmt.Errorf("line 1: the cells are separated by %ss: use --delimiter %s", other.name, other.name)
		}
	}
	return nil, fmt.Errorf("line 1: %w", err)
}

func (c *columns) matchLine(line string, delimiter byte) ([]int, error) {
	names, err := splitCSV(line, delimiter)
	if err != nil {
		return nil, err
	}
	return c.match(names)
}
