package assay

// UtilizationReading is how much of a GPU model's tracked capacity was rented at an instant.
type UtilizationReading struct {
	Source   string
	At       int64
	GPU      string
	Region   string // empty if the source does not say; then the reading counts only globally
	Rented   int64  // GPUs
	Tracked  int64  // GPUs, at least 1 and at least Rented
	Revision int    // from 0; another one has the same source, instant, GPU and region
	Received int64  // when it was received
	Restated int64  // when a restatement let it count, if it came late; else 0
}

// Key identifies the reading; its revisions have the same.
func (r *UtilizationReading) Key() string {
	key := r.GPU + " " + FormatInstant(r.At) + " " + r.Source
	if r.Region != "" {
		key += " " + r.Region
	}
	return key
}

// Counts is from when on the reading counts.
func (r *UtilizationReading) Counts() int64 { return max(r.Received, r.Restated) }
