package verify

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
)

// checkManifests checks all manifests in the order in which they were signed: each one alone, their chain, and that no
// revision of a day is missing. receipts has what publications knew, as far as they can be read.
func checkManifests(list []assay.Manifest, receipts map[int64]int64) error {
	revisions := map[int64]int{}
	var last assay.Manifest
	for i := range list {
		m := &list[i]
		if err := proof.CheckManifest(m); err != nil {
			return differs("%s: %v", manifestName(m), err)
		}
		if m.Revision != revisions[m.Day] {
			return differs("%s: revision %d should come first", manifestName(m), revisions[m.Day])
		}
		revisions[m.Day]++
		if m.Previous != last.Hash {
			return differs("%s: the chain is broken: it does not carry the hash of the manifest before it", manifestName(m))
		}
		if m.Publication == 0 { // of a release before 0.6.0
			last.Hash = m.Hash
			continue
		}
		if m.Publication < last.Publication || m.Receipt < last.Receipt {
			return differs("%s: it names publication %d and receipt %d after one that named %d and %d",
				manifestName(m), m.Publication, m.Receipt, last.Publication, last.Receipt)
		}
		if receipt, ok := receipts[m.Publication]; ok && receipt != m.Receipt {
			return differs("%s: it says that publication %d knew receipt %d, but it knew receipt %d",
				manifestName(m), m.Publication, m.Receipt, receipt)
		}
		last = *m
	}
	return nil
}

func manifestName(m *assay.Manifest) string {
	return fmt.Sprintf("manifest of %s, revision %d", assay.FormatDay(m.Day), m.Revision)
}

// signing is what a verification asks of signatures, and of which days.
type signing struct {
	Signatures

	outside func(day int64) bool // days that were not read in full, of which nothing is asked
	ended   int64                // days that have ended by this instant must be signed if any day is
}

// checkSigned checks that every manifest of the days that were read has an accepted signature and lists the records
// that its day had when it was signed, and that days without one may be.
func (f *findings) checkSigned(s *signing) error {
	for _, day := range slices.Sorted(maps.Keys(f.days.manifests)) {
		if s.outside(day) {
			continue
		}
		_, hasRecords := f.days.closed[day]
		for _, m := range f.days.manifests[day] {
			if err := f.checkSigner(manifestName(m), m.PublicKey, s.PublicKeys); err != nil {
				return err
			}
			if !hasRecords && !lists(m, nil, 0) {
				return differs("%s: it lists records, but the day has none", manifestName(m))
			}
		}
		f.report.Manifests += len(f.days.manifests[day])
	}
	return f.checkClosed(s)
}

// checkClosed checks the days that have records, the last one first.
func (f *findings) checkClosed(s *signing) error {
	signed := int64(0) // the newest version that a manifest of a later day lists
	for _, day := range slices.Backward(slices.Sorted(maps.Keys(f.days.closed))) {
		if s.outside(day) {
			continue
		}
		c := f.days.closed[day]
		if c.wrong != nil {
			return differs("%s: it does not list the records that the day had when it was signed", manifestName(c.wrong))
		}
		if !c.signed {
			unsigned := UnsignedDay{Day: day, Reason: f.unsignedBecause(day, s)}
			if err := f.checkUnsigned(unsigned, s, signed); err != nil {
				return err
			}
			f.report.Unsigned = append(f.report.Unsigned, unsigned)
		}
		signed = max(signed, c.upTo)
	}
	slices.Reverse(f.report.Unsigned)
	return nil
}

// unsignedBecause is why the newest records of a day are in no manifest.
func (f *findings) unsignedBecause(day int64, s *signing) string {
	switch {
	case len(f.days.manifests[day]) > 0:
		return Republished
	case day+assay.Day > max(s.ended, s.Now):
		return NotEnded
	default:
		return NeverSigned
	}
}

// checkUnsigned checks whether a day may be unsigned. Days are signed in their order, so a day without a manifest has
// no record that was there when a later day was signed.
func (f *findings) checkUnsigned(u UnsignedDay, s *signing, signedLater int64) error {
	name, never := assay.FormatDay(u.Day), len(f.days.manifests[u.Day]) == 0
	switch {
	case s.AllowUnsigned:
		return nil
	case len(s.PublicKeys) > 0 && u.Day+assay.Day+signingTime <= s.Now:
		return differs("%s is over, but the signatures do not prove it: it %s. --allow-unsigned accepts that", name, u.Reason)
	case never && signedLater >= f.days.closed[u.Day].first:
		return differs("%s: its manifest is missing, although a later day was signed", name)
	case never && len(f.days.manifests) > 0 && u.Day+assay.Day <= s.ended:
		return differs("%s: its manifest is missing, although the day was over. A publisher that was stopped may not have "+
			"signed it: 'assay publish' does; --allow-unsigned accepts it", name)
	}
	return nil
}

// signingTime is how long after its end a day may be unsigned: the next publication signs it.
const signingTime = assay.Hour

// checkSigner reports who signed a manifest. A key that is not one of the accepted ones is a difference; none accepts
// any. Manifests of days outside the period need no accepted key: later ones carry their hashes.
func (f *findings) checkSigner(what string, key []byte, accepted [][]byte) error {
	signed := func(accepted []byte) bool { return bytes.Equal(accepted, key) }
	if len(accepted) > 0 && !slices.ContainsFunc(accepted, signed) {
		return differs("%s: it is signed with another key", what)
	}
	text := base64.StdEncoding.EncodeToString(key)
	if !slices.Contains(f.report.PublicKeys, text) {
		f.report.PublicKeys = append(f.report.PublicKeys, text)
	}
	return nil
}
