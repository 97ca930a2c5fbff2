package publish

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/observed"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/tracing"
	"github.com/assaydata/assay/internal/utilization"
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
	counters, err := p.Store.Counters(ctx)
	if err != nil {
		return 0, err
	}
	counters = ofValues(counters)
	now := p.Now().UnixMilli()
	if p.recorded.counters == counters && now < p.recorded.next {
		return 0, nil
	}
	return p.recordValues(ctx, schedule, counters, now)
}

// ofValues are the counters that values depend on.
func ofValues(c store.Counters) store.Counters {
	return store.Counters{
		Methodology: c.Methodology, Observed: c.Observed, Utilization: c.Utilization, Restatements: c.Restatements,
		ValueRecords: c.ValueRecords, ValuesKnown: c.ValuesKnown,
	}
}

// recordValues makes the records that follow from what the counters count, unless there is more by now.
func (p *Publisher) recordValues(
	ctx context.Context, schedule index.Schedule, counters store.Counters, now int64,
) (records int, err error) {
	ctx, end := tracing.Start(ctx, "record values")
	defer func() { end(err) }()
	list, next, err := p.newValues(ctx, schedule, counters, now)
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
		p.made.records.add(len(list))
		p.Log.Info("values are final", "records", len(list))
	}
	p.recorded = recorded{counters, next}
	return len(list), nil
}

// newValues are the records that are missing now, and when more values will be final. If the clock was set back, now is
// when the last of what they follow from was received: nothing that was known is forgotten.
func (p *Publisher) newValues(
	ctx context.Context, schedule index.Schedule, counters store.Counters, now int64,
) (list []store.NewValueRecord, next int64, err error) {
	settling, err := p.settling.read(ctx, p.Store, schedule, counters)
	if err != nil {
		return nil, 0, err
	}
	rows := values.Rows{Observations: &settling.Observations, Settler: settling.settler}
	now = max(now, settling.Latest(counters), counters.ValuesKnown)
	changed, next := settledSince(&rows, settling, counters.ValuesKnown, now)
	if len(changed) == 0 {
		return nil, next, nil
	}
	newest := values.Newest{}
	err = p.Store.EachValueRecord(ctx, 0, counters.ValueRecords, func(r *assay.ValueRecord) error {
		newest.Add(r)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	if slices.Contains(changed, assay.FamilyUtilization) {
		rows.Utilization, rows.Settler, err = observed.SettledUtilization(ctx, p.Store, counters, &settling.Rules)
		if err != nil {
			return nil, 0, err
		}
	}
	for _, f := range changed {
		final := rows.Final(f, now, settling.Of(f), schedule)
		for _, v := range newest.Missing(f, final) {
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

// settledSince returns the families of which something became final, or was restated, in (since, now], and when more
// will be final. To compute the values takes much longer.
func settledSince(
	rows *values.Rows, settling *settlingRows, since, now int64,
) (changed []assay.Family, next int64) {
	next = math.MaxInt64
	for _, f := range values.Families {
		settlement := settling.Of(f)
		final, due := rows.Settled(f, now, settlement)
		if due > 0 {
			next = min(next, due)
		}
		before, _ := rows.Settled(f, since, settlement)
		if settling.RestatedSince(f, since) || !maps.Equal(final, before) {
			changed = append(changed, f)
		}
	}
	return changed, next
}

// settlingRows is what the publisher has read of what becomes final. Most calls find some readings of utilization more,
// and nothing else that is new.
type settlingRows struct {
	observed.Settling
	counters store.Counters
	settler  *utilization.Settler
}

// read reads what has changed since the last call.
func (s *settlingRows) read(
	ctx context.Context, db *store.DB, schedule index.Schedule, counters store.Counters,
) (*settlingRows, error) {
	old := *s
	*s = settlingRows{} // unless all of it is read
	next := settlingRows{old.Settling, counters, old.settler}
	var err error
	if old.settler == nil || old.without() != next.without() {
		if next.Settling, err = observed.Read(ctx, db, counters, schedule); err != nil {
			return nil, err
		}
		next.settler, old.counters.Utilization = utilization.NewSettler(next.Of(assay.FamilyUtilization)), 0
	}
	received, err := observed.Utilization(ctx, db, old.counters.Utilization, counters.Utilization)
	if err != nil {
		return nil, err
	}
	next.settler.Settle(received)
	*s = next
	return s, nil
}

// without are the counters of everything but utilization.
func (s *settlingRows) without() store.Counters {
	c := s.counters
	c.Utilization, c.ValueRecords, c.ValuesKnown = 0, 0, 0
	return c
}
