package api

import (
	"encoding/json"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/web"
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

// latestPublication serves the newest version, and the newest manifest.
func latestPublication(q query) (web.Response, error) {
	if _, err := q.granted(access.Ask{}); err != nil {
		return web.Response{}, err
	}
	p, ok := q.snap.PublicationAt(q.known())
	if !ok {
		return web.Response{}, noData("Nothing has been published.")
	}
	modified, manifest := p.PublishedAt, q.snap.ManifestAt(q.known())
	if manifest != nil {
		modified = max(modified, manifest.SignedAt)
	}
	response, err := web.Object(struct {
		Success bool           `json:"success"`
		Data    publicationRow `json:"data"`
	}{true, publicationRow{
		Version: p.Version, PublishedAt: assay.FormatInstant(p.PublishedAt), Methodology: p.Methodology,
		Reason: web.Optional(p.Reason), Manifest: manifestJSON(manifest),
	}}, modified)
	return response.ShortLived(), err
}
