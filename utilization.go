package assay

// UtilizationReading is how much of a GPU model's tracked capacity was rented at an instant.
type UtilizationReading struct {
	Source   string
	At       int64
	GPU      string
	Region   string // empty if the source does not say; then the reading counts only globally
	Rented   int64  // GPUs
	Tracked  int64  // GPUs, at least 1 and at least Rented
	Received int64  // when it was received
}
