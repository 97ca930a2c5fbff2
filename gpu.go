package assay

import "iter"

// Global is the region of the index over all regions. The catalogs and the current price spell it "", every other GPU
// route "global".
const Global = "global"

// GPU is a GPU model whose price is published.
type GPU struct {
	Name string
	Free bool // readable without a key within the free window
}

// Line identifies one index: a GPU model in a region, or Global for all regions together.
type Line struct {
	GPU, Region string
}

// Transaction is one compute rental as a source reported it.
type Transaction struct {
	Source     string
	ID         string // unique within its source
	ExecutedAt int64
	GPU        string
	Region     string // empty if the source does not say; then the rental counts only in the global index
	Price      Nanos  // USD per GPU-hour
	GPUs       int64
	HourMicros int64 // rented hours in millionths
	Provider   string
	Verified   bool  // only verified transactions count
	Withdrawn  bool  // the verification was withdrawn, so it no longer counts; never set by a source
	Receipt    int64 // its number in the order of receipt; set by the store
}

// Lines returns the indices that a transaction counts in: the global one of its GPU model and, if it has a region, that
// region's.
func (t *Transaction) Lines() iter.Seq[Line] {
	return func(yield func(Line) bool) {
		if yield(Line{GPU: t.GPU, Region: Global}) && t.Region != "" {
			yield(Line{GPU: t.GPU, Region: t.Region})
		}
	}
}

// Verification is a later decision whether a transaction counts: an event, never an edit.
type Verification struct {
	Event      int64
	Source, ID string // of the transaction
	ExecutedAt int64  // of the transaction
	Verified   bool   // false withdraws
	Actor      string
	Reason     string
	Receipt    int64 // its number in the order of receipt
	RecordedAt int64
}
