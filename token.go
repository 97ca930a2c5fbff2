package assay

// Lab is a maker of language models whose token price is published.
type Lab struct {
	Lab   string `json:"lab"`
	Label string `json:"label"`
	Free  bool   `json:"-"`
}

// ModelDay sums up the requests to a lab's model on a day, and what they cost.
type ModelDay struct {
	Day          int64  `json:"date"` // midnight UTC
	Lab          string `json:"lab"`
	Model        string `json:"model"`
	Family       string `json:"family"` // its class within the lab's models
	Requests     int64  `json:"requests"`
	InputTokens  int64  `json:"input_tokens"`
	OutputTokens int64  `json:"output_tokens"`
	Dollars      Nanos  `json:"dollars"`
	OpenWeight   bool   `json:"open_weight"`
	Free         bool   `json:"free"` // free of charge

	// What the dollars were for, if the source says so: then Split is true, and the three add up to Dollars.
	Split         bool  `json:"split,omitempty"`
	CachedTokens  int64 `json:"cached_tokens,omitempty"` // the part of the input tokens that a cache had
	InputDollars  Nanos `json:"input_dollars,omitempty"` // for the other input tokens
	CachedDollars Nanos `json:"cached_dollars,omitempty"`
	OutputDollars Nanos `json:"output_dollars,omitempty"`
}

// Key identifies a model's day.
func (m *ModelDay) Key() string {
	return FormatDay(m.Day) + " " + m.Lab + " " + m.Model
}
