package assay

// MemoryType is a type of memory whose spot price is published.
type MemoryType struct {
	ID         string `json:"id"`
	MemoryType string `json:"memory_type"`
	Category   string `json:"category"`
}

// MemoryReading is the price of a memory type that a source read.
type MemoryReading struct {
	MemoryID string `json:"memory_id"`
	At       int64  `json:"recorded_at"`
	Price    Nanos  `json:"price"`            // USD per unit
	Source   string `json:"source,omitempty"` // who read it; empty for the only one
}

// Key identifies a reading.
func (r *MemoryReading) Key() string {
	key := r.MemoryID + " " + FormatInstant(r.At)
	if r.Source != "" {
		key += " " + r.Source
	}
	return key
}

// The categories of memory types.
const (
	MemoryDRAM   = "dram"
	MemoryFlash  = "flash"
	MemoryModule = "module"
)

// MemoryPrice is the newest price of a memory type, in USD per unit.
type MemoryPrice struct {
	ID              string `json:"id"`
	MemoryType      string `json:"memoryType"`
	Category        string `json:"category"`
	Price           Nanos  `json:"price"`
	ChangePct       Nanos  `json:"changePct"` // since the previous point
	WeeklyHigh      Nanos  `json:"weeklyHigh"`
	WeeklyLow       Nanos  `json:"weeklyLow"`
	SourceUpdatedAt string `json:"sourceUpdatedAt"` // when the source read it
	Date            string `json:"date"`            // the fixing
	UpdatedAt       string `json:"updatedAt"`       // when it was received

	Sources         int  `json:"sources,omitempty"`         // that a median is over; 0 if it is none
	ExcludedSources *int `json:"excludedSources,omitempty"` // of a median; nil if it is none
}
