package verifier

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ValueRecord is the record of a value of another index than that of GPUs, such as a token price. Text has what is left
// out here.
type ValueRecord struct {
	Index       string          `json:"index"`
	Series      string          `json:"series"`
	Date        string          `json:"date"`
	Revision    int             `json:"revision"`
	Values      json.RawMessage `json:"values"` // an object of numbers; null: a restatement has left none
	Methodology string          `json:"methodology"`
	KnownAt     string          `json:"known_at"`
	Hash        string          `json:"hash"`

	Text string `json:"-"` // the whole record, as it was served
}

// ValueEntry is the entry of such a record in the log.
type ValueEntry struct {
	Type     string `json:"type"`
	Index    string `json:"index"`
	Series   string `json:"series"`
	Date     string `json:"date"`
	Revision int    `json:"revision"`
	Hash     string `json:"hash"`
}

// ParseValueEntry parses an entry of the log that is about such a record.
func ParseValueEntry(text string) (ValueEntry, error) { return parseEntry[ValueEntry](text) }

// CheckValueRecord proves a response of /api/determinations/{index}, as CheckRecord does for GPUs.
func (l *Log) CheckValueRecord(response []byte) (r ValueRecord, c Checkpoint, err error) {
	entry, c, err := l.prove(response, &r, &r.Text, &r.Hash)
	if err != nil {
		return r, c, err
	}
	if _, err := r.Numbers(); err != nil {
		return r, c, fmt.Errorf("the record: %w", err)
	}
	e, err := ParseValueEntry(entry)
	if want := (ValueEntry{"value", r.Index, r.Series, r.Date, r.Revision, r.Hash}); err == nil && e != want {
		err = fmt.Errorf("the entry of the log is about another record: %.400s", entry)
	}
	return r, c, err
}

// Numbers returns the numbers of the record as they stand in it, by name; nil if it has none. Names that another
// program could take for the same are refused.
func (r *ValueRecord) Numbers() (numbers map[string]string, err error) {
	if string(r.Values) == "null" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(r.Values))
	d.UseNumber()
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.Join(errors.New("its values are not a JSON object"), err)
	}
	numbers, seen := map[string]string{}, map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		if lower := strings.ToLower(name); seen[lower] || strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return nil, fmt.Errorf("the name %.80q is there twice, or is not plain", name)
		}
		seen[strings.ToLower(name)] = true
		value, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch number := value.(type) {
		case json.Number:
			numbers[name] = number.String()
		case nil:
			numbers[name] = "null"
		default:
			return nil, fmt.Errorf("the value %.80q is not a number", name)
		}
	}
	return numbers, nil
}
