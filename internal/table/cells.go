package table

import (
	"bytes"
	"fmt"
)

// cells finds the values of a row's columns.
type cells struct {
	columns []Column
	found   [][]byte // the JSON of each column's value; nil if the row lacks it
	next    int      // the column that probably comes next: rows have their members in the order of the columns
	name    []byte   // of a member inside of another
}

func newCells(s *Schema) *cells {
	return &cells{columns: s.Columns, found: make([][]byte, len(s.Columns))}
}

// read finds the values in a row.
func (c *cells) read(row []byte) error {
	clear(c.found)
	c.next = 0
	return c.object(row, nil)
}

// object reads the members of an object, whose names begin with a prefix.
func (c *cells) object(text, prefix []byte) error {
	if len(text) < 2 || text[0] != '{' {
		return fmt.Errorf("a row is no object: %.100s", text)
	}
	for i := skipSpace(text, 1); i < len(text) && text[i] != '}'; {
		if text[i] != '"' {
			return fmt.Errorf("a row has no name at byte %d: %.100s", i, text)
		}
		end := bytes.IndexByte(text[i+1:], '"')
		if end < 0 {
			return fmt.Errorf("a row ends in a name: %.100s", text)
		}
		name := text[i+1 : i+1+end]
		i = skipSpace(text, i+end+2)
		if i >= len(text) || text[i] != ':' {
			return fmt.Errorf("a row has a name without a value: %.100s", text)
		}
		i = skipSpace(text, i+1)
		length := valueLength(text[i:])
		if length == 0 {
			return fmt.Errorf("a row has a name without a value: %.100s", text)
		}
		if err := c.member(prefix, name, text[i:i+length]); err != nil {
			return err
		}
		if i = skipSpace(text, i+length); i < len(text) && text[i] == ',' {
			i = skipSpace(text, i+1)
		}
	}
	return nil
}

// member finds the column of a member.
func (c *cells) member(prefix, name, value []byte) error {
	if len(prefix) > 0 {
		c.name = append(append(append(c.name[:0], prefix...), '_'), name...)
		name = c.name
	}
	if c.next < len(c.columns) && c.columns[c.next].Name == string(name) {
		c.found[c.next] = value
		c.next++
		return nil
	}
	for i := range c.columns {
		if c.columns[i].Name == string(name) {
			c.found[i], c.next = value, i+1
			return nil
		}
	}
	if value[0] == '{' {
		return c.object(value, bytes.Clone(name))
	}
	return fmt.Errorf("no column is named %q", name)
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// valueLength is the length of the JSON value that a text begins with; 0 if it ends before the value does.
func valueLength(text []byte) int {
	if len(text) > 0 && text[0] == '"' { // nearly every text has no backslash
		if end := bytes.IndexByte(text[1:], '"') + 1; end > 0 && bytes.IndexByte(text[:end], '\\') < 0 {
			return end + 1
		}
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if i < len(text) && depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + depth + 1 // behind the value, or before the end of what it is in
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return 0
}

func isNull(value []byte) bool { return value == nil || string(value) == "null" }
