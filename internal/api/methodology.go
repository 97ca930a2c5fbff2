package api

import (
	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/web"
)

// methodologyRow is a version of the rules.
type methodologyRow struct {
	Version     string  `json:"version"`
	EffectiveAt string  `json:"effective_at"`
	AdoptedAt   string  `json:"adopted_at"`
	Reason      *string `json:"reason"` // null in the built-in version
	Text        string  `json:"text"`
}

// methodology serves the rules that values are computed by, all versions or a given one, and which is in effect.
func methodology(q query) (web.Response, error) {
	wanted, err := q.Param("version")
	if err != nil {
		return web.Response{}, err
	}
	var current *string
	var modified int64
	rows := []methodologyRow{}
	for _, m := range q.snap.Methodologies {
		if m.Effective <= q.Milli() {
			current = &m.Version
		}
		if wanted == "" || wanted == m.Version {
			row := methodologyRow{
				Version:     m.Version,
				EffectiveAt: assay.FormatInstant(m.Effective),
				AdoptedAt:   assay.FormatInstant(m.Adopted),
				Text:        m.Text,
			}
			if m.Reason != "" {
				row.Reason = &m.Reason
			}
			rows = append(rows, row)
			modified = max(modified, m.Adopted)
		}
	}
	if len(rows) == 0 {
		return web.Response{}, noMethodology(wanted)
	}
	return web.Object(struct {
		Success bool             `json:"success"`
		Version *string          `json:"version"` // in effect now
		Count   int              `json:"count"`
		Data    []methodologyRow `json:"data"`
	}{true, current, len(rows), rows}, modified)
}

func noMethodology(version string) error {
	message := "No methodology has been adopted."
	if version != "" {
		message = "No methodology has the version " + web.Shown(version) + "."
	}
	return noData(message)
}
