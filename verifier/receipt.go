package verifier

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Receipt is the operator's promise to the one who delivered a file of transactions: that they are in the log, and in a
// checkpoint by a time. A log without them proves, together with the receipt, that the promise was broken. Its text is
// a JSON object in one line.
type Receipt struct {
	Type           string `json:"type"` // submission receipt
	Log            string `json:"log"`
	Import         int64  `json:"import"` // the number of its entry in the log
	File           string `json:"file"`
	FileSHA256     string `json:"file_sha256"`
	Accepted       int64  `json:"accepted"`       // rows
	RejectedLines  []int  `json:"rejected_lines"` // of the file: these rows are not promised
	ReceivedAt     string `json:"received_at"`
	InCheckpointBy string `json:"in_checkpoint_by"`
	PublicKey      []byte `json:"public_key"`
	Signature      []byte `json:"signature,omitempty"`
}

const receiptType = "submission receipt"

// Sign signs a receipt. The result is its text.
func (r *Receipt) Sign(key ed25519.PrivateKey) (text string, err error) {
	r.Type, r.PublicKey, r.Signature = receiptType, key.Public().(ed25519.PublicKey), nil
	statement, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	r.Signature = ed25519.Sign(key, receiptStatement(statement))
	signed, err := json.Marshal(r)
	return string(signed), err
}

// receiptStatement is what is signed: the text of a receipt without its signature.
func receiptStatement(text []byte) []byte {
	return append([]byte("assay submission receipt/v1\n"), text...)
}

// CheckReceipt checks that the operator of the log has signed a receipt.
func (l *Log) CheckReceipt(text string) (r Receipt, err error) {
	if err := parse([]byte(text), &r); err != nil {
		return r, fmt.Errorf("the receipt: %w", err)
	}
	if same, err := json.Marshal(r); err != nil || string(same) != text || r.Type != receiptType {
		return r, errors.New("the receipt is not written as receipts are")
	}
	if r.Log != l.Name() {
		return r, fmt.Errorf("the receipt is of the log %s, not of %s", r.Log, l.Name())
	}
	statement, _, _ := strings.Cut(text, `,"signature":"`) // no text within it can have bare quotation marks
	for _, key := range l.keys {
		if key.public.Equal(ed25519.PublicKey(r.PublicKey)) &&
			ed25519.Verify(key.public, receiptStatement([]byte(statement+"}")), r.Signature) {
			return r, nil
		}
	}
	return r, fmt.Errorf("the receipt: %w", ErrNotSigned)
}
