package assay

// UtilizationReading tells how much of a GPU's tracked capacity was rented at an instant.
type UtilizationReading struct {
	Source   string
	At       int64
	GPU      string
	Region   string // empty when the source does not say; such a reading counts in the global line only
	Rented   int64  // GPUs
	Tracked  int64  // GPUs, above zero and not below Rented
	Received int64  // when we learned of it
}
