package assay

// Lab is a maker of language models whose token price is published.
type Lab struct {
	Lab   string `json:"lab"`
	Label string `json:"label"`
	Free  bool   `json:"-"`
}
