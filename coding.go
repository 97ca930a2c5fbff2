package assay

// CodingProduct pairs a coding tool, or two of them, with a metric.
type CodingProduct struct {
	ID           string   `json:"id"`
	Label        string   `json:"label"`
	Category     string   `json:"category"`
	Kind         string   `json:"kind"`
	Compare      bool     `json:"compare"`
	SeriesLabels []string `json:"seriesLabels"` // two, or nil without a comparison
	Tools        []string `json:"-"`            // one tool, or the two that are compared
}

// The metrics of coding products.
const (
	CodingPRs     = "prs"
	CodingCommits = "commits"
	CodingMerge   = "merge"
)

// CodingDay is what a coding tool did on a day.
type CodingDay struct {
	Day     int64  `json:"date"` // midnight UTC
	Tool    string `json:"tool"`
	PRs     int64  `json:"prs"`
	Merged  int64  `json:"merged"` // of the pull requests
	Commits int64  `json:"commits"`
}

// Key identifies a tool's day.
func (d *CodingDay) Key() string { return FormatDay(d.Day) + " " + d.Tool }

// CodingValue is the newest value of a product.
type CodingValue struct {
	Product   string `json:"product"`
	Label     string `json:"label"`
	Kind      string `json:"kind"`
	Value     Nanos  `json:"value"`
	ChangePct *Nanos `json:"changePct"` // since the previous day on file; nil without one or if it was 0
	Date      string `json:"date"`
	UpdatedAt string `json:"updatedAt"` // when it was received

	WeekChangePct *Nanos `json:"weekChangePct"`     // since the same day of the week before; nil like ChangePct
	Partial       bool   `json:"partial,omitempty"` // the day has not ended, and is not compared
}
