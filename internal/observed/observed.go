// Package observed reads the observations of data families from the store.
package observed

import (
	"context"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/registry"
	"github.com/assaydata/assay/internal/store"
)

// Batch reads what was received of a family in (after, upTo].
func Batch(ctx context.Context, db *store.DB, f family.Family, after, upTo int64) (family.Batch, error) {
	batch := f.NewBatch()
	return batch, db.EachObservation(ctx, f.Name(), after, upTo,
		func(o store.Observation, revision int, received int64) error {
			return batch.Add(o.Key, o.Body, revision, received)
		})
}

// Settling is what the values of families that become final follow from.
type Settling struct {
	Observations family.Set
	Latest       int64 // when the last of it was received, or restated
	restated     []assay.Restatement
	after        func(end int64) int64
}

// Read reads it, as of a moment, under the methodologies of a schedule.
func Read(ctx context.Context, db *store.DB, at store.Counters, schedule index.Schedule) (s Settling, err error) {
	s.Observations = registry.NoObservations()
	for i, f := range registry.Families {
		if !f.Settles() {
			continue
		}
		batch, err := Batch(ctx, db, f, 0, at.Observed[i])
		if err != nil {
			return s, err
		}
		s.Observations[i] = s.Observations[i].With(batch)
		s.Latest = max(s.Latest, at.Observed[i])
	}
	if schedule.Settles() {
		s.after = schedule.SettleAfter
	}
	s.restated, err = db.Restatements(ctx, 0, at.Restatements)
	for _, r := range s.restated {
		s.Latest = max(s.Latest, r.At)
	}
	return s, err
}

// RestatedSince reports whether anything was restated after an instant.
func (s *Settling) RestatedSince(at int64) bool {
	return slices.ContainsFunc(s.restated, func(r assay.Restatement) bool { return r.At > at })
}

// Of says which observations of a family count.
func (s *Settling) Of(f assay.Family) family.Settlement {
	settlement := family.Settlement{After: s.after}
	for _, r := range s.restated {
		if r.Family == f {
			settlement.Restated = append(settlement.Restated, r)
		}
	}
	return settlement
}
