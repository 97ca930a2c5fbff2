package ingest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ndjsonReader reads one JSON object per line. Numbers keep their text, so nothing is lost to floating point.
type ndjsonReader struct {
	lines   *lineReader
	columns *columns
}

func (n *ndjsonReader) next(cells []string) (location, error) {
	line, at, err := n.lines.row()
	if err != nil {
		return at, err
	}
	if !json.Valid(line) {
		var nothing json.RawMessage
		return at, badRow{fmt.Sprintf("not a JSON object: %v", json.Unmarshal(line, &nothing))}
	}
	object := strings.TrimLeft(at.text, jsonSpace)
	if object[0] != '{' {
		return at, badRow{"not a JSON object"}
	}
	return at, n.object(object[1:], cells)
}

func (n *ndjsonReader) split(text string, cells []string) {
	_ = n.object(strings.TrimLeft(text, jsonSpace)[1:], cells) // it was split before
}

const jsonSpace = " \t\r\n"

// object reads the members of an object after its opening brace. The text is known to be valid JSON, so splitting it
// needs no further checks.
func (n *ndjsonReader) object(rest string, cells []string) error {
	seen := uint64(0) // one bit per column
	for {
		rest = strings.TrimLeft(rest, jsonSpace+",")
		if rest[0] == '}' {
			return nil
		}
		var name, value string
		name, rest = cutJSON(rest)
		value, rest = cutJSON(strings.TrimLeft(rest, jsonSpace+":"))
		column, err := n.columns.find(unquoteJSON(name))
		if err != nil {
			return badRow{err.Error()}
		}
		if column == noColumn {
			continue
		}
		if seen&(1<<column) != 0 {
			return badRow{fmt.Sprintf("%s occurs twice", n.columns.names[column])}
		}
		seen |= 1 << column
		switch value[0] {
		case '{', '[':
			return badRow{n.columns.names[column] + " is an object or an array: must be a string, a number, true or false"}
		case '"':
			cells[column] = strings.TrimSpace(unquoteJSON(value))
		case 'n': // null is an empty cell
		default:
			cells[column] = value
		}
	}
}

// cutJSON splits valid JSON after its first value.
func cutJSON(text string) (value, rest string) {
	end := 0
	switch text[0] {
	case '"':
		end = stringEnd(text)
	case '{', '[':
		end = nestedEnd(text)
	default:
		end = strings.IndexAny(text, ",}]"+jsonSpace)
	}
	return text[:end], text[end:]
}

// stringEnd returns the end of the string at the beginning of the text.
func stringEnd(text string) int {
	for i := 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// nestedEnd returns the end of the object or array at the beginning of the text.
func nestedEnd(text string) int {
	depth := 0
	for i := 0; ; {
		switch text[i] {
		case '"':
			i += stringEnd(text[i:])
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		i++
		if depth == 0 {
			return i
		}
	}
}

// unquoteJSON returns the text of a valid JSON string.
func unquoteJSON(quoted string) string {
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var text string
	_ = json.Unmarshal([]byte(quoted), &text) // it is valid
	return text
}
