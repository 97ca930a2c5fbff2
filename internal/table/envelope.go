package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Envelope is a writer that takes the text of a response, piece by piece, and writes its rows as a table.
type Envelope struct {
	// Begin, if not nil, is called once, before the first byte of the table is written, with the facts that come before
	// the rows. Its error ends the table.
	Begin func(facts []Fact) error
	// Facts are the simple members of the envelope, in its order. More can be added before Close.
	Facts []Fact

	schema *Schema
	rows   rowWriter
	to     io.Writer

	state state
	began bool
	err   error
	text  []byte // of the member or row that has begun
	depth int    // inside of it
	quote bool   // inside of a string
	slash bool   // after a backslash in a string
	name  string // of the member
	out   []byte // what is not written yet
}

// state is where in the envelope the next byte is.
type state uint8

const (
	outside state = iota // before the envelope, or behind it
	names                // before the name of a member
	named                // in the name
	colon                // behind it
	values               // before or in the value of a member
	listed               // between two rows
	inRow                // in a row
	done
)

// outSize is how much of a table is written at once.
const outSize = 32 << 10

// maxHeld is the size limit of a member or row. No response of ours comes near it.
const maxHeld = 4 << 20

var errEnded = errors.New("the response ended inside of its envelope")

// NewEnvelope makes a writer of a table.
func NewEnvelope(f *Format, s *Schema, to io.Writer) *Envelope {
	return &Envelope{schema: s, rows: f.write(s), to: to}
}

// Write takes a piece of the text. An error stays: nothing is written after it.
func (e *Envelope) Write(piece []byte) (int, error) {
	for i := 0; i < len(piece) && e.err == nil; {
		i += e.take(piece[i:])
	}
	if e.err != nil {
		return 0, e.err
	}
	return len(piece), nil
}

// Close ends the table. It is an error if the text has not.
func (e *Envelope) Close() error {
	if e.err == nil && e.state != done {
		e.err = errEnded
	}
	e.begin()
	if e.err == nil {
		e.out, e.err = e.rows.end(e.out, e.Facts)
	}
	e.flush()
	return e.err
}

// begin begins the table once.
func (e *Envelope) begin() {
	if e.began || e.err != nil {
		return
	}
	e.began = true
	if e.Begin != nil {
		if e.err = e.Begin(e.Facts); e.err != nil {
			return
		}
	}
	e.out, e.err = e.rows.begin(e.out)
}

func (e *Envelope) flush() {
	if e.err == nil && len(e.out) > 0 {
		_, e.err = e.to.Write(e.out)
		e.out = e.out[:0]
	}
}

// take takes the first bytes of a piece, and returns how many.
func (e *Envelope) take(piece []byte) int {
	c := piece[0]
	switch e.state {
	case inRow, values:
		return e.takeValue(piece)
	case named:
		return e.takeName(piece)
	case outside:
		if c == '{' {
			e.state = names
		}
	case names:
		switch c {
		case '"':
			e.text, e.state = e.text[:0], named
		case '}':
			e.state = done
		}
	case colon:
		if c == ':' {
			e.text, e.state = e.text[:0], values
		}
	case listed:
		switch c {
		case '{':
			e.text, e.depth, e.state = e.text[:0], 0, inRow
			return 0
		case ']':
			e.state = names
		case ',', ' ', '\n', '\r', '\t':
		default:
			e.err = fmt.Errorf("a row begins with %q", c)
		}
	case done:
		if c != '\n' {
			e.err = errors.New("text after the envelope")
		}
	}
	return 1
}

// takeName takes the name of a member up to its end. No name of ours has a backslash.
func (e *Envelope) takeName(piece []byte) int {
	end := bytes.IndexByte(piece, '"')
	if end < 0 {
		e.hold(piece)
		return len(piece)
	}
	e.hold(piece[:end])
	e.name, e.state = string(e.text), colon
	return end + 1
}

// takeValue takes bytes of a member's value, or of a row, up to its end.
func (e *Envelope) takeValue(piece []byte) int {
	if len(e.text) == 0 {
		if n := e.takeStart(piece); n > 0 {
			return n
		}
	}
	for i, c := range piece {
		switch {
		case e.slash:
			e.slash = false
		case e.quote:
			e.slash, e.quote = c == '\\', c != '"'
		case c == '"':
			e.quote = true
		case c == '{' || c == '[':
			e.depth++
		case e.depth == 0 && (c == ',' || c == '}'): // behind a simple member
			e.hold(piece[:i])
			e.member()
			return i
		case c == '}' || c == ']':
			if e.depth--; e.depth == 0 && e.state == inRow {
				e.hold(piece[:i+1])
				e.row(e.text)
				e.state = listed
				return i + 1
			}
		}
	}
	e.hold(piece)
	return len(piece)
}

// takeStart takes spaces, the bracket of the rows, or a whole row that has nothing in which its end could hide. Else it
// takes nothing.
func (e *Envelope) takeStart(piece []byte) int {
	switch {
	case e.state == inRow:
		end := bytes.IndexByte(piece, '}') + 1
		if row := piece[:end]; end == 0 || bytes.IndexByte(row[1:], '{') >= 0 || bytes.IndexByte(row, '\\') >= 0 ||
			bytes.Count(row, quoteMark)%2 != 0 {
			return 0
		}
		e.row(piece[:end])
		e.state = listed
		return end
	case skipSpace(piece, 0) > 0:
		return skipSpace(piece, 0)
	case e.name == e.schema.Member && piece[0] == '[':
		e.begin()
		e.state = listed
		return 1
	}
	return 0
}

var quoteMark = []byte{'"'}

// hold keeps text of the member or row until it ends.
func (e *Envelope) hold(text []byte) {
	if len(e.text)+len(text) > maxHeld {
		e.err = fmt.Errorf("a row or member is longer than %d bytes", maxHeld)
		return
	}
	e.text = append(e.text, text...)
}

// member ends a member that is no list of rows: one row, or a fact.
func (e *Envelope) member() {
	e.state = names
	text := bytes.TrimSpace(e.text)
	switch {
	case len(text) == 0:
		e.err = fmt.Errorf("the member %q has no value", e.name)
	case e.name == e.schema.Member:
		e.begin()
		e.row(text)
	case text[0] == '"':
		var value string
		if e.err = json.Unmarshal(text, &value); e.err == nil {
			e.Facts = append(e.Facts, Fact{e.name, value})
		}
	case text[0] != '{' && text[0] != '[' && string(text) != "null":
		e.Facts = append(e.Facts, Fact{e.name, string(text)})
	}
}

// row writes a row.
func (e *Envelope) row(text []byte) {
	if e.err != nil {
		return
	}
	if e.out, e.err = e.rows.row(e.out, text); len(e.out) >= outSize {
		e.flush()
	}
}
