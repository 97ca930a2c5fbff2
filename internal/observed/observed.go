// Package observed reads the observations of data families from the store.
package observed

import (
	"context"
	"math"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/registry"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/utilization"
)

// Batch reads what was received of a family in (after, upTo].
func Batch(ctx context.Context, db *store.DB, f family.Family, after, upTo int64) (family.Batch, error) {
	batch := f.NewBatch()
	return batch, db.EachObservation(ctx, f.Name(), after, upTo,
		func(o store.Observation, revision int, received int64) error {
			return batch.Add(o.Key, o.Body, revision, received)
		})
}

// Utilization reads the readings that were received in (after, upTo].
func Utilization(ctx context.Context, db *store.DB, after, upTo int64) (list []assay.UtilizationReading, err error) {
	if after == upTo {
		return nil, nil
	}
	err = db.EachUtilization(ctx, after, upTo, func(r *assay.UtilizationReading) error {
		list = append(list, *r)
		return nil
	})
	return list, err
}

// SettledUtilization reads all readings as of a moment: those that count, and how far they are final.
func SettledUtilization(
	ctx context.Context, db *store.DB, at store.Counters, rules *Rules,
) (lines utilization.Lines, settler *utilization.Settler, err error) {
	received, err := Utilization(ctx, db, 0, at.Utilization)
	settler = utilization.NewSettler(rules.Of(assay.FamilyUtilization))
	return utilization.Lines{}.With(settler.Settle(received)), settler, err
}

// Rules say which rows of families count: those of the methodology, and what the operator has restated.
type Rules struct {
	restated []assay.Restatement
	after    func(end int64) int64
}

// ReadRules reads them, as of a moment, under the methodologies of a schedule.
func ReadRules(ctx context.Context, db *store.DB, at store.Counters, schedule index.Schedule) (r Rules, err error) {
	if schedule.Settles() {
		r.after = schedule.SettleAfter
	}
	r.restated, err = db.Restatements(ctx, 0, at.Restatements)
	return r, err
}

// RestatedSince reports whether anything of a family was restated after an instant.
func (r *Rules) RestatedSince(f assay.Family, at int64) bool {
	return slices.ContainsFunc(r.restated, func(r assay.Restatement) bool { return r.Family == f && r.At > at })
}

// Of says which rows of a family count.
func (r *Rules) Of(f assay.Family) family.Settlement {
	return family.Settlement{After: r.after, Restated: Of(f, r.restated)}
}

// Of returns the restatements of a family.
func Of(f assay.Family, restated []assay.Restatement) (list []assay.Restatement) {
	for _, r := range restated {
		if r.Family == f {
			list = append(list, r)
		}
	}
	return list
}

// Late returns the rows of a family that came late and do not count, in the order of receipt, as of a moment.
func Late(
	ctx context.Context, db *store.DB, at store.Counters, rules *Rules, f assay.Family,
) (late []family.LateRow, err error) {
	if f == assay.FamilyUtilization {
		_, settler, err := SettledUtilization(ctx, db, at, rules)
		for _, r := range settler.Late() {
			late = append(late, family.LateRow{
				Slot: family.Slot{Series: r.GPU, At: r.At, End: r.At}, Key: r.Key(), Received: r.Received,
			})
		}
		return late, err
	}
	batch, err := Batch(ctx, db, registry.Families[f], 0, at.Observed[f])
	if err != nil {
		return nil, err
	}
	all := registry.Families[f].NoObservations().With(batch)
	all.EachLateRow(math.MaxInt64, rules.Of(f), func(l family.LateRow) {
		if l.Restated == 0 {
			late = append(late, l)
		}
	})
	return late, nil
}

// Settling is what the values of the families that the registry defines follow from, as far as they become final.
type Settling struct {
	Rules
	Observations family.Set
}

// Read reads it, as of a moment, under the methodologies of a schedule.
func Read(ctx context.Context, db *store.DB, at store.Counters, schedule index.Schedule) (s Settling, err error) {
	if s.Rules, err = ReadRules(ctx, db, at, schedule); err != nil {
		return s, err
	}
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
	}
	return s, nil
}

// Latest is when the last of what values follow from was received, or restated.
func (s *Settling) Latest(at store.Counters) int64 {
	latest := max(at.Utilization, slices.Max(at.Observed[:]))
	for _, r := range s.restated {
		latest = max(latest, r.At)
	}
	return latest
}
