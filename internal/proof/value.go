package proof

import (
	"crypto/sha256"

	"github.com/assaydata/assay"
)

// AppendValueJSON appends a record as it is served: its text with its hash at the end.
func AppendValueJSON(dst []byte, r *assay.ValueRecord) []byte {
	return append(appendHash(appendValueRecord(dst, r), "hash", r.Hash), '}')
}

// appendValueRecord appends the text of a record, which its hash is over, without its last brace.
func appendValueRecord(dst []byte, r *assay.ValueRecord) []byte {
	dst = append(dst, `{"index":`...)
	dst = assay.AppendString(dst, r.Index)
	dst = appendText(dst, "series", r.Series)
	dst = appendDay(dst, "date", r.Day)
	dst = appendNumber(dst, "revision", int64(r.Revision))
	dst = append(append(dst, `,"values":`...), r.Numbers...)
	dst = appendText(dst, "methodology", r.Methodology)
	dst = appendInstantOf(dst, "known_at", r.KnownAt)
	return appendHash(dst, "inputs", r.Inputs)
}

// Value is the hash of a record.
func Value(r *assay.ValueRecord) assay.Hash {
	return sha256.Sum256(append(appendValueRecord(nil, r), '}'))
}

// ValueInputs is the commitment to the rows that the record of a number follows from, given as text. No one can guess
// it, so the hash of the record says nothing about its values.
func (s Salt) ValueInputs(number int64, rows string) assay.Hash {
	return s.commit(ValueKind, number, []byte(rows))
}

// AppendValueEntry appends the entry of a record.
func AppendValueEntry(dst []byte, _ Salt, r *assay.ValueRecord) []byte {
	dst = appendText(beginEntry(dst, ValueKind), "index", r.Index)
	dst = appendText(dst, "series", r.Series)
	dst = appendDay(dst, "date", r.Day)
	dst = appendNumber(dst, "revision", int64(r.Revision))
	return append(appendHash(dst, "hash", r.Hash), '}')
}

func appendDay(dst []byte, name string, day int64) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":"`...)
	return append(assay.AppendDay(dst, day), '"')
}
