// Package proof makes published values provable. It is pure: everything that it hashes, signs and checks is an
// argument.
//
// A proof has three layers. A transaction has a digest of its content. A determination record holds the digest of the
// transactions of its window, in order, and the hash of the record before it in its series; this chain cannot be
// changed in the middle. A manifest lists all records of a day and is signed with the operator's Ed25519 key.
//
// Everything that is hashed is text that anyone can reproduce: a transaction as tab-separated fields, a record and a
// manifest as JSON with fixed fields in a fixed order. docs/proof.md shows how to check a value with a shell.
package proof

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/assaydata/assay"
)

// AppendTransaction appends the text of a transaction: source, id, instant, GPU, region, price, GPUs, hours and
// provider, separated by tabs. Prices and hours are plain decimals. Whether the transaction counts is not part of the
// text; Inputs adds that.
func AppendTransaction(dst []byte, t *assay.Transaction) []byte {
	dst = append(append(dst, t.Source...), '\t')
	dst = append(append(dst, t.ID...), '\t')
	dst = append(assay.AppendInstant(dst, t.ExecutedAt), '\t')
	dst = append(append(dst, t.GPU...), '\t')
	dst = append(append(dst, t.Region...), '\t')
	dst = append(t.Price.AppendJSON(dst), '\t')
	dst = append(strconv.AppendInt(dst, t.GPUs, 10), '\t')
	dst = append(assay.AppendMicros(dst, t.HourMicros), '\t')
	return append(dst, t.Provider...)
}

// Transaction is the digest of a transaction.
func Transaction(t *assay.Transaction) assay.Hash {
	var buffer [512]byte
	return sha256.Sum256(AppendTransaction(buffer[:0], t))
}

// The marks of a transaction in the inputs of a window. One that counted has the mark of its evidence.
const (
	evidenceMarks  = "cpiomaj" // by class
	markUnverified = 'u'
	markWithdrawn  = 'w'
)

// appendMark appends the mark of a transaction and, if it counts and its evidence is stated, who verified it.
func appendMark(dst []byte, t *assay.Transaction) []byte {
	switch {
	case t.Verified && t.Evidence != assay.Unstated:
		return assay.AppendString(append(dst, evidenceMarks[t.Evidence]), t.VerifiedBy)
	case t.Verified:
		return append(dst, evidenceMarks[assay.Unstated])
	case t.Withdrawn:
		return append(dst, markWithdrawn)
	}
	return append(dst, markUnverified)
}

// Mark is the mark of a transaction as the log has it.
func Mark(t *assay.Transaction) string { return string(appendMark(nil, t)) }

// Inputs is the digest of a window's transactions, which are the given rows of a batch: for each, its digest and a
// mark that says whether it counted, and by whose evidence.
func Inputs(batch []assay.Transaction, digests []assay.Hash, rows []int32) (sum assay.Hash) {
	h := sha256.New()
	var buffer [4096]byte
	text := buffer[:0]
	for _, row := range rows {
		text = appendMark(append(text, digests[row][:]...), &batch[row])
		if len(text) > len(buffer)/2 {
			h.Write(text)
			text = buffer[:0]
		}
	}
	h.Write(text)
	h.Sum(sum[:0])
	return sum
}

// AppendRecord appends the text of a record that is hashed: JSON without the hash itself.
func AppendRecord(dst []byte, d *assay.Determination) []byte {
	return append(appendRecord(dst, d), '}')
}

// AppendJSON appends a record as it is published: its text with its hash at the end.
func AppendJSON(dst []byte, d *assay.Determination) []byte {
	dst = appendHash(appendRecord(dst, d), "hash", d.Hash)
	return append(dst, '}')
}

func appendRecord(dst []byte, d *assay.Determination) []byte {
	dst = assay.AppendString(append(dst, `{"gpu_type":`...), d.GPU)
	dst = assay.AppendString(append(dst, `,"region":`...), d.Region)
	dst = assay.AppendString(append(dst, `,"granularity":`...), d.Grain.String())
	dst = assay.AppendInstant(append(dst, `,"timestamp":"`...), d.At)
	dst = appendInt(append(dst, `","revision":`...), d.Revision)
	dst = assay.AppendInstant(append(dst, `,"window":{"from":"`...), d.From)
	dst = assay.AppendInstant(append(dst, `","to":"`...), d.At)
	dst = assay.AppendString(append(dst, `"},"methodology":`...), d.Methodology)
	if d.Fallback != "" {
		dst = assay.AppendString(append(dst, `,"fallback":`...), d.Fallback)
	}
	if d.DelaySeconds != 0 {
		dst = appendInt(append(dst, `,"publication_delay_seconds":`...), d.DelaySeconds)
	}
	dst = strconv.AppendInt(append(dst, `,"receipt":`...), d.Receipt, 10)
	dst = appendPrice(append(dst, `,"index_value":`...), d.Value, d.HasValue)
	dst = appendInt(append(dst, `,"transactions":`...), d.Transactions)
	dst = assay.AppendMicros(append(dst, `,"gpu_hours":`...), d.HourMicros)
	dst = appendInt(append(dst, `,"providers":`...), d.Providers)
	dst = appendInt(append(dst, `,"hhi":`...), d.HHI)
	if d.Volumes != "" {
		dst = append(append(dst, `,"volumes":`...), d.Volumes...)
	}
	dst = appendPrice(append(dst, `,"lowest_price":`...), d.Low, d.HasValue)
	dst = appendPrice(append(dst, `,"highest_price":`...), d.High, d.HasValue)
	dst = appendPrice(append(dst, `,"median_price":`...), d.Median, d.HasValue)
	dst = appendInt(append(dst, `,"excluded":{"unverified":`...), d.Excluded.Unverified)
	dst = appendInt(append(dst, `,"withdrawn":`...), d.Excluded.Withdrawn)
	dst = appendInt(append(dst, `},"adjusted":{"winsorised":`...), d.Adjusted.Winsorized)
	dst = appendInt(append(dst, `,"capped":`...), d.Adjusted.Capped)
	dst = appendHash(append(dst, '}'), "inputs_digest", d.Inputs)
	dst = assay.AppendInstant(append(dst, `,"published_at":"`...), d.PublishedAt)
	return appendHash(append(dst, '"'), "previous_hash", d.Previous)
}

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }

func appendPrice(dst []byte, price assay.Nanos, known bool) []byte {
	if !known {
		return append(dst, "null"...)
	}
	return price.AppendJSON(dst)
}

func appendHash(dst []byte, name string, h assay.Hash) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":"`...)
	return append(hex.AppendEncode(dst, h[:]), '"')
}

// Seal appends a record to a chain: it sets Previous and Hash.
func Seal(d *assay.Determination, previous assay.Hash) {
	d.Previous = previous
	d.Hash = Record(d)
}

// Record is the hash of a record.
func Record(d *assay.Determination) assay.Hash {
	var buffer [1536]byte
	return sha256.Sum256(AppendRecord(buffer[:0], d))
}
