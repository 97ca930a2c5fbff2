package assay

// CodingProduct pairs a coding tool, or two of them, with a metric.
type CodingProduct struct {
	ID           string   `json:"id"`
	Label        string   `json:"label"`
	Category     string   `json:"category"`
	Kind         string   `json:"kind"`
	Compare      bool     `json:"compare"`
	SeriesLabels []string `json:"seriesLabels"` // two, or nil when nothing is compared
}
