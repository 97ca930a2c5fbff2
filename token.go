package assay

// Lab is a maker of language models whose token price is published.
type Lab struct {
	Lab   string `json:"lab"`
	Label string `json:"label"`
	Free  bool   `json:"-"`
}

// ModelDay is what was asked of a lab's model on a day, and what it cost.
type ModelDay struct {
	Day          int64  `json:"date"` // midnight UTC
	Lab          string `json:"lab"`
	Model        string `json:"model"`
	Family       string `json:"family"` // the class of the lab's models that it belongs to
	Requests     int64  `json:"requests"`
	InputTokens  int64  `json:"input_tokens"`
	OutputTokens int64  `json:"output_tokens"`
	Dollars      Nanos  `json:"dollars"`
	OpenWeight   bool   `json:"open_weight"`
	Free         bool   `json:"free"` // nobody pays for it
}

// Key is what a model's day is known by.
func (m *ModelDay) Key() string {
	return FormatDay(m.Day) + " " + m.Lab + " " + m.Model
}
