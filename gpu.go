package assay

import "iter"

// Global is the region word of the index over all regions. The catalogs and the current price spell it "", every other
// GPU route "global".
const Global = "global"

// GPU is a model whose price is published.
type GPU struct {
	Name string
	Free bool // readable without a key, inside the free window
}

// Line is one published index line: a GPU in a region, Global for all regions together.
type Line struct {
	GPU, Region string
}

// Transaction is one compute rental as a source reported it.
type Transaction struct {
	Source     string
	ID         string // unique within its source
	ExecutedAt int64
	GPU        string
	Region     string // empty when the source does not say; such a rental counts in the global index only
	Price      Nanos  // USD per GPU-hour
	GPUs       int64
	HourMicros int64 // rented hours in millionths
	Provider   string
	Verified   bool  // it counts
	Withdrawn  bool  // it does not count any more: its verification was withdrawn; never set by a source
	Receipt    int64 // its place in the order in which the store learned of things; set by the store
}

// Lines are the index lines that a transaction counts in: the global one of its GPU and, where it has a region, that
// region's.
func (t *Transaction) Lines() iter.Seq[Line] {
	return func(yield func(Line) bool) {
		if yield(Line{GPU: t.GPU, Region: Global}) && t.Region != "" {
			yield(Line{GPU: t.GPU, Region: t.Region})
		}
	}
}

// Verification is a later word on whether a transaction counts: an event, never an edit.
type Verification struct {
	Event      int64
	Source, ID string // of the transaction
	ExecutedAt int64  // of the transaction
	Verified   bool   // false withdraws
	Actor      string
	Reason     string
	Receipt    int64 // its place in the order in which the store learned of things
	RecordedAt int64
}
