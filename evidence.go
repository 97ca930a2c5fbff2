package assay

import (
	"fmt"
	"slices"
	"strings"
)

// Evidence is the class of what the verification of a transaction rests on, from strong to weak.
type Evidence byte

// The classes of evidence.
const (
	Unstated    Evidence = iota // the source does not say; so it is in files of releases before 0.6.0
	Payment                     // that the rental was paid
	Invoice                     // an invoice for it
	Order                       // a signed order or contract
	Metering                    // the hours that a platform has measured
	Attestation                 // the word of one side
	Judgement                   // of an expert, with a rationale
	NumEvidence                 // how many classes there are
)

var evidenceNames = [NumEvidence]string{
	"unstated", "payment", "invoice", "order", "metering", "attestation", "judgement",
}

func (e Evidence) String() string { return evidenceNames[e] }

// Cell is the class in a file: empty if it is not stated.
func (e Evidence) Cell() string {
	if e == Unstated {
		return ""
	}
	return e.String()
}

// HasWholeEvidence reports whether a transaction's evidence is as an import accepts it: a class and who verified, of a
// row that came verified, or neither.
func (t *Transaction) HasWholeEvidence() bool {
	if t.Evidence == Unstated {
		return t.VerifiedBy == ""
	}
	return t.Verified && t.VerifiedBy != ""
}

// ParseEvidence parses a class as Cell writes it.
func ParseEvidence(text string) (Evidence, error) {
	if text == "" {
		return Unstated, nil
	}
	if i := slices.Index(evidenceNames[1:], text); i >= 0 {
		return Evidence(i + 1), nil
	}
	return 0, fmt.Errorf("must be one of %s, or empty", strings.Join(evidenceNames[1:], ", "))
}
