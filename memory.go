package assay

// MemoryType is a kind of memory whose spot price is published.
type MemoryType struct {
	ID         string `json:"id"`
	MemoryType string `json:"memory_type"`
	Category   string `json:"category"`
}
