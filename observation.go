package assay

// Family is a kind of data that sources report, beside transactions and utilization, which have tables of their own.
type Family string

// The families, by the name that imports, tables and counters have for them.
const (
	FamilyMemory Family = "memory"
	FamilyModels Family = "models"
	FamilyCoding Family = "coding"
	FamilySites  Family = "sites"
)

// Observed is an observation of a family as it was received. Other content under a known key is a later revision.
type Observed[T any] struct {
	Value    T
	Key      string // what it is known by, within its family
	Revision int    // from 0
	Received int64  // when we learned of it; rises from batch to batch
}
