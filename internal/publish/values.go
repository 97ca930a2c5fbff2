package publish

import (
	"context"
	"errors"
	"maps"
	"math"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/observed"
	"github.com/assaydata/assay/internal/registry"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/values"
)

// recorded is what RecordValues has seen when it was last called.
type recorded struct {
	counters store.Counters
	next     int64 // when more values will be final
}

// RecordValues makes a record of each value of another family that has become final, and a revision of each that a
// restatement has changed. It returns how many it made: none if anything came in meanwhile.
func (p *Publisher) RecordValues(ctx context.Context) (records int, err error) {
	schedule, err := LoadSchedule(ctx, p.Store)
	if err != nil || !schedule.Settles() {
		return 0, err
	}
	now := p.Now().UnixMilli()
	counters, err := p.Store.Counters(ctx)
	if err != nil {
		return 0, err
	}
	counters = ofValues(counters)
	if p.recorded.counters == counters && now < p.recorded.next {
		return 0, nil
	}
	return p.recordValues(ctx, schedule, counters, now)
}

// recordValues makes the records that follow from what the counters count, unless there is more by now.
func (p *Publisher) recordValues(
	ctx context.Context, schedule index.Schedule, counters store.Counters, now int64,
) (records int, err error) {
	list, next, err := newValues(ctx, p.Store, schedule, counters, now)
	if err == nil && len(list) > 0 {
		err = p.Store.AddValueRecords(ctx, counters, list)
	}
	if errors.Is(err, store.ErrOvertaken) {
		return 0, nil // rows are still coming in; the next call sees them
	}
	if err != nil {
		return 0, err
	}
	if len(list) > 0 {
		counters.ValueRecords += int64(len(list))
		counters.ValuesKnown = list[0].KnownAt
		p.Log.Info("values are final", "records", len(list))
	}
	p.recorded = recorded{counters, next}
	return len(list), nil
}

// ofValues are the counters that values depend on.
func ofValues(c store.Counters) store.Counters {
	return store.Counters{
		Methodology: c.Methodology, Observed: c.Observed, Restatements: c.Restatements, ValueRecords: c.ValueRecords,
		ValuesKnown: c.ValuesKnown,
	}
}

// newValues are the records that are missing now, and when more values will be final. If the clock was set back, now is
// when the last of what they follow from was received: nothing that was known is forgotten.
func newValues(
	ctx context.Context, db *store.DB, schedule index.Schedule, counters store.Counters, now int64,
) (list []store.NewValueRecord, next int64, err error) {
	settling, err := observed.Read(ctx, db, counters, schedule)
	if err != nil {
		return nil, 0, err
	}
	now = max(now, settling.Latest, counters.ValuesKnown)
	next, changed := settledSince(&settling, counters.ValuesKnown, now)
	if !changed {
		return nil, next, nil
	}
	newest := values.Newest{}
	err = db.EachValueRecord(ctx, 0, counters.ValueRecords, func(r *assay.ValueRecord) error {
		newest.Add(r)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	for _, f := range registry.Families {
		if !f.Settles() {
			continue
		}
		settlement := settling.Of(f.Name())
		final := values.Final(f.Name(), &settling.Observations, now, settlement, schedule)
		for _, v := range newest.Missing(f.Name(), final) {
			revision := 0
			if r, ok := newest[v.Slot()]; ok {
				revision = r.Revision + 1
			}
			list = append(list, store.NewValueRecord{Rows: v.Inputs, ValueRecord: assay.ValueRecord{
				Index: v.Index, Series: v.Series, Day: v.Day, Revision: revision, Numbers: v.Numbers,
				Methodology: v.Methodology, KnownAt: now,
			}})
		}
	}
	return list, next, nil
}

// settledSince reports whether anything became final, or was restated, in (since, now], and when more will be final. To
// compute the values takes much longer.
func settledSince(settling *observed.Settling, since, now int64) (next int64, changed bool) {
	next, changed = math.MaxInt64, settling.RestatedSince(since)
	for i, f := range registry.Families {
		if !f.Settles() {
			continue
		}
		settlement := settling.Of(f.Name())
		final, due := settling.Observations[i].Settled(now, settlement)
		if due > 0 {
			next = min(next, due)
		}
		before, _ := settling.Observations[i].Settled(since, settlement)
		changed = changed || !maps.Equal(final, before)
	}
	return next, changed
}
