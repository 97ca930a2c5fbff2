package assay

// MemoryType is a kind of memory whose spot price is published.
type MemoryType struct {
	ID         string `json:"id"`
	MemoryType string `json:"memory_type"`
	Category   string `json:"category"`
}

// MemoryReading is the price of a memory type as a source saw it.
type MemoryReading struct {
	MemoryID string `json:"memory_id"`
	At       int64  `json:"recorded_at"`
	Price    Nanos  `json:"price"` // USD per unit
}

// Key is what a reading is known by.
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
	ChangePct       Nanos  `json:"changePct"` // since the point before
	WeeklyHigh      Nanos  `json:"weeklyHigh"`
	WeeklyLow       Nanos  `json:"weeklyLow"`
	SourceUpdatedAt string `json:"sourceUpdatedAt"` // when it was read
	Date            string `json:"date"`            // the fixing
	UpdatedAt       string `json:"updatedAt"`       // when we learned of it
}
