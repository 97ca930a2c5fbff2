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

// checkManifests checks manifests in the order in which they were signed: each one alone, that no revision of a day is
// missing, and, if complete says that the list starts with the first manifest of all, their chain.
func checkManifests(list []assay.Manifest, complete bool) error {
	revisions := map[int64]int{}
	for i := range list {
		m := &list[i]
		if err := proof.CheckManifest(m); err != nil {
			return differs("%s: %v", manifestName(m), err)
		}
		if m.Revision != revisions[m.Day] {
			return differs("%s: revision %d should come first", manifestName(m), revisions[m.Day])
		}
		revisions[m.Day]++
		var before assay.Hash
		if i > 0 {
			before = list[i-1].Hash
		}
		if complete && m.Previous != before {
			return differs("%s: the chain is broken: it does not carry the hash of the manifest before it", manifestName(m))
		}
	}
	return nil
}

func manifestName(m *assay.Manifest) string {
	return fmt.Sprintf("manifest of %s, revision %d", assay.FormatDay(m.Day), m.Revision)
}

// checkSigned checks that the newest manifest of every day lists the records with the given hashes. Unsigned days are
// skipped: their records have changed since. Days outside the period were not read in full and need no manifest.
func checkSigned(
	manifests []assay.Manifest, unsigned []int64, hashes map[int64][]assay.Hash, outside func(day int64) bool,
) error {
	last := newest(manifests)
	for _, d := range unsigned {
		delete(last, d)
		delete(hashes, d)
	}
	for _, d := range slices.Sorted(maps.Keys(hashes)) {
		if !outside(d) && last[d] == nil {
			return differs("manifest of %s: it is missing, and the day is not listed as unsigned", assay.FormatDay(d))
		}
	}
	for _, d := range slices.Sorted(maps.Keys(last)) {
		m := last[d]
		if m.Records != len(hashes[d]) || m.Digest != proof.Records(hashes[d]) {
			return differs("%s: it does not list the records of the day", manifestName(m))
		}
	}
	return nil
}

// newest gives the last manifest of each day.
func newest(list []assay.Manifest) map[int64]*assay.Manifest {
	last := map[int64]*assay.Manifest{}
	for i := range list {
		last[list[i].Day] = &list[i]
	}
	return last
}

// checkSigners reports who signed. A key that is not one of the accepted ones is a difference; none accepts any.
func (f *findings) checkSigners(list []assay.Manifest, accepted [][]byte) error {
	for i := range list {
		m := &list[i]
		signed := func(key []byte) bool { return bytes.Equal(key, m.PublicKey) }
		if len(accepted) > 0 && !slices.ContainsFunc(accepted, signed) {
			return differs("%s: it is signed with another key", manifestName(m))
		}
		text := base64.StdEncoding.EncodeToString(m.PublicKey)
		if !slices.Contains(f.report.PublicKeys, text) {
			f.report.PublicKeys = append(f.report.PublicKeys, text)
		}
	}
	return nil
}
