package httpapi

import (
	"encoding/json"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
)

// manifestJSON is the newest manifest to the byte as it was signed, with hash and signature; nil when there is none.
func manifestJSON(m *assay.Manifest) json.RawMessage {
	if m == nil {
		return nil
	}
	return proof.AppendManifestJSON(nil, m)
}

// publicationRow is a version of everything that is published.
type publicationRow struct {
	Version     int64           `json:"version"`
	PublishedAt string          `json:"published_at"`
	Methodology string          `json:"methodology"`
	Reason      *string         `json:"reason"`
	Manifest    json.RawMessage `json:"manifest"`
}

// latestPublication answers the newest version, and the newest manifest.
func latestPublication(c *call) (answer, error) {
	p, ok := c.snap.Publication()
	if !ok {
		return answer{}, &assay.Error{Kind: assay.NoData, Code: "no_data", Message: "Nothing has been published."}
	}
	modified := p.PublishedAt
	if m := c.snap.Manifest; m != nil {
		modified = max(modified, m.SignedAt)
	}
	a, err := object(struct {
		Success bool           `json:"success"`
		Data    publicationRow `json:"data"`
	}{true, publicationRow{p.Version, assay.FormatInstant(p.PublishedAt), p.Methodology, given(p.Reason), manifestJSON(c.snap.Manifest)}}, modified)
	a.brief = true
	return a, err
}
