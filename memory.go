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
	Price    Nanos  `json:"price"` // USD per unit
}

// Key identifies a reading.
func (r *MemoryReading) Key() string { return r.MemoryID + " " + FormatInstant(r.At) }

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
}
