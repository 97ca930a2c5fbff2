package httpapi

import (
	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/keys"
)

// methodologyRow is a version of the rules.
type methodologyRow struct {
	Version     string `json:"version"`
	EffectiveAt string `json:"effective_at"`
	AdoptedAt   string `json:"adopted_at"`
	Text        string `json:"text"`
}

// methodology answers the rules that values are made by, all versions or a given one, and which is in effect.
func methodology(c *call) (answer, error) {
	wanted, err := c.param("version")
	if err != nil {
		return answer{}, err
	}
	var current *string
	var modified int64
	rows := []methodologyRow{}
	for _, m := range c.snap.Methodologies {
		if m.Effective <= c.now.UnixMilli() {
			current = &m.Version
		}
		if wanted == "" || wanted == m.Version {
			rows = append(rows, methodologyRow{m.Version, assay.FormatInstant(m.Effective), assay.FormatInstant(m.Adopted), m.Text})
			modified = max(modified, m.Adopted)
		}
	}
	if len(rows) == 0 {
		return answer{}, noMethodology(wanted)
	}
	return object(struct {
		Success bool             `json:"success"`
		Version *string          `json:"version"` // in effect now
		Count   int              `json:"count"`
		Data    []methodologyRow `json:"data"`
	}{true, current, len(rows), rows}, modified)
}

func noMethodology(version string) error {
	message := "No methodology has been adopted."
	if version != "" {
		message = "No methodology has the version " + keys.Redact(shorten(version)) + "."
	}
	return &assay.Error{Kind: assay.NoData, Code: "no_data", Message: message}
}
