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
	Verified   bool     // only verified transactions count
	Withdrawn  bool     // the verification was withdrawn, so it no longer counts; never set by a source
	Evidence   Evidence // that it was verified by
	VerifiedBy string   // who has verified it, if that is known
	Receipt    int64    // its number in the order of receipt; set by the store
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
	Evidence   Evidence
	Actor      string
	Reason     string
	Receipt    int64 // its number in the order of receipt
	RecordedAt int64
}

// Correction is the replacement of a transaction by another one of the same source and id. The replaced one stays
// stored, and counts for what was determined before.
type Correction struct {
	Number     int64
	Source, ID string
	ExecutedAt int64 // of the replaced transaction
	Row        int64 // receipt of the replaced transaction
	Actor      string
	Reason     string
	Receipt    int64 // of the transaction that replaces it
	RecordedAt int64
}

// Amendments are what was decided about transactions after they had been received, each list in the order of receipt.
type Amendments struct {
	Verifications []Verification
	Corrections   []Correction
}

// None reports whether there are none.
func (a *Amendments) None() bool { return len(a.Verifications)+len(a.Corrections) == 0 }
