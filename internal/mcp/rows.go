package mcp

import (
	"errors"
	"slices"
	"strconv"
)

// rows reads a response while it arrives, and keeps of its list of rows only as many as the result may have. Its memory
// does not grow with the number of rows.
//
// The list is the field data or sites of the response. What is before it and after it is kept as it is.
type rows struct {
	most   int  // rows to keep; 0 for all
	newest bool // the response has the newest row first, and the result has it last

	head, tail []byte
	kept       [][]byte
	total      int
	hasList    bool
	synthetic  bool
	err        error // why the response cannot be used

	row              []byte // the one that is arriving
	name             []byte // of the last field, or its text so far
	size             int    // of what is kept
	depth            int
	inString, escape bool
	stage            stage
}

// stage is where in a response the next byte is.
type stage uint8

const (
	beforeList stage = iota
	inList
	afterList
)

func newRows(most int, newest bool) *rows { return &rows{most: most, newest: newest} }

var errTooLong = errors.New("it is too long, or no JSON object with rows")

// Write reads the next part. It never fails: what is wrong is in err.
func (r *rows) Write(part []byte) (int, error) {
	for _, c := range part {
		if r.err != nil {
			break
		}
		r.read(c)
	}
	return len(part), nil //nolint:nilerr // see above
}

// read reads the next byte.
func (r *rows) read(c byte) {
	wasString, depth := r.inString, r.depth
	r.track(c)
	switch {
	case r.stage == beforeList:
		r.keep(&r.head, c)
		if !wasString && c == '[' && depth == 1 && (string(r.name) == "data" || string(r.name) == "sites") {
			r.stage, r.hasList = inList, true
		}
	case r.stage == afterList:
		r.keep(&r.tail, c)
	case !wasString && depth == 2 && (c == ',' || c == ']'):
		r.endRow()
		if c == ']' {
			r.stage = afterList
			r.keep(&r.tail, c)
		}
	default:
		r.keep(&r.row, c)
	}
}

// track follows strings, how deep the byte is, and the name of the field that it belongs to.
func (r *rows) track(c byte) {
	switch {
	case r.escape:
		r.escape = false
	case r.inString && c == '\\':
		r.escape = true
	case c == '"':
		if r.inString = !r.inString; r.inString && r.depth == 1 {
			r.name = r.name[:0]
		}
		return
	case r.inString:
	case c == '{' || c == '[':
		r.depth++
	case c == '}' || c == ']':
		r.depth--
	}
	if r.inString && r.depth == 1 && len(r.name) < len("sites")+1 {
		r.name = append(r.name, c)
	}
}

// keep keeps a byte.
func (r *rows) keep(text *[]byte, c byte) {
	if r.size++; r.size > maxText {
		r.err = errTooLong
		return
	}
	*text = append(*text, c)
}

// endRow ends a row, which is kept or not.
func (r *rows) endRow() {
	if len(r.row) == 0 {
		return
	}
	r.total++
	if r.most == 0 || len(r.kept) < r.most {
		r.kept = append(r.kept, r.row)
		r.row = nil
		return
	}
	r.size -= len(r.row)
	r.row = r.row[:0]
}

// whole is the response without the rows that were left out.
func (r *rows) whole() []byte {
	text := slices.Clone(r.head)
	rows := r.kept
	if r.newest {
		rows = slices.Clone(rows)
		slices.Reverse(rows)
	}
	for i, row := range rows {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, row...)
	}
	return append(text, r.tail...)
}

// truncated reports whether rows were left out.
func (r *rows) truncated() bool { return r.total > len(r.kept) }

// add adds fields to an object, whose text ends with a brace. The fields begin with a comma, unless there are none.
func add(object []byte, fields string) ([]byte, error) {
	end := len(object) - 1
	for end >= 0 && (object[end] == '\n' || object[end] == ' ') {
		end--
	}
	if end < 1 || object[end] != '}' {
		return nil, unreachable(errTooLong)
	}
	return append(append(slices.Clone(object[:end]), fields...), '}'), nil
}

// countField is the text of the field that says how many rows there are.
func countField(n int) string { return `"count":` + strconv.Itoa(n) + "," }
