package verify

import (
	"context"
	"math"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/observed"
	"github.com/assaydata/assay/internal/values"
)

// checkValues computes the values of the other families again, and compares them with their records. It needs
// everything to be read.
//
// Between two restatements, no value that is final changes. So all records of that time are compared with the values of
// its end, and the newest records of all with what is final when the last of them was made.
func (v *verification) checkValues(ctx context.Context) error {
	if !v.everything() {
		return nil
	}
	settling, err := observed.Read(ctx, v.db, v.ledger.Counters, v.schedule)
	if err != nil {
		return err
	}
	records, err := v.readValues(ctx)
	if err != nil || len(records) == 0 {
		return err
	}
	rows := values.Rows{Observations: &settling.Observations}
	rows.Utilization, rows.Settler, err = observed.SettledUtilization(ctx, v.db, v.ledger.Counters, &settling.Rules)
	if err != nil {
		return err
	}
	for _, f := range values.Families {
		c := valueCheck{v: v, family: f, rows: &rows, settlement: settling.Of(f), newest: values.Newest{}}
		indices := values.IndicesOf(f)
		for _, r := range records {
			if slices.Contains(indices, r.Index) {
				c.records = append(c.records, r)
			}
		}
		if err := c.check(records[len(records)-1].KnownAt); err != nil {
			return err
		}
	}
	v.report.Values = len(records)
	return nil
}

// readValues reads the records, and checks what each says about itself.
func (v *verification) readValues(ctx context.Context) (records []assay.ValueRecord, err error) {
	var indices []string
	for _, f := range values.Families {
		indices = append(indices, values.IndicesOf(f)...)
	}
	newest := values.Newest{}
	err = v.db.EachValueRecord(ctx, 0, v.ledger.Counters.ValueRecords, func(r *assay.ValueRecord) error {
		slot := values.Slot{Index: r.Index, Series: r.Series, Day: r.Day}
		before, ok := newest[slot]
		switch {
		case !slices.Contains(indices, r.Index):
			return differs("record %d is of an unknown index: %s", r.Number, r.Index)
		case ok && r.Revision != before.Revision+1, !ok && r.Revision != 0:
			return differs("%s: revision %d does not follow the one before", slot, r.Revision)
		case len(records) > 0 && r.KnownAt < records[len(records)-1].KnownAt:
			return differs("%s, revision %d: it was made before record %d", slot, r.Revision, r.Number-1)
		}
		newest.Add(r)
		records = append(records, *r)
		return nil
	})
	return records, err
}

// valueCheck checks the records of a family.
type valueCheck struct {
	v          *verification
	family     assay.Family
	rows       *values.Rows
	settlement family.Settlement
	records    []assay.ValueRecord // in the order in which they were made
	newest     values.Newest
}

// check checks the records up to the moment of the last ones of all families.
func (c *valueCheck) check(last int64) error {
	ends := []int64{}
	for _, r := range c.settlement.Restated {
		if r.At <= last {
			ends = append(ends, r.At)
		}
	}
	for _, end := range append(ends, math.MaxInt64) {
		n := slices.IndexFunc(c.records, func(r assay.ValueRecord) bool { return r.KnownAt >= end })
		if n < 0 {
			n = len(c.records)
		}
		part := c.records[:n]
		c.records = c.records[n:]
		moment := last
		if end < math.MaxInt64 {
			if len(part) == 0 {
				continue
			}
			moment = part[len(part)-1].KnownAt
		}
		if err := c.compare(part, moment); err != nil {
			return err
		}
	}
	return nil
}

// compare compares records with the values that are final at a moment, up to which no restatement changed any.
func (c *valueCheck) compare(records []assay.ValueRecord, moment int64) error {
	final := c.rows.Final(c.family, moment, c.settlement, c.v.schedule)
	is := make(map[values.Slot]*values.Value, len(final))
	for i := range final {
		is[final[i].Slot()] = &final[i]
	}
	for i := range records {
		r := &records[i]
		slot := values.Slot{Index: r.Index, Series: r.Series, Day: r.Day}
		was, revised := c.newest[slot]
		value := is[slot]
		if value == nil {
			value = &values.Value{Numbers: values.Gone, Methodology: was.Methodology}
		}
		switch {
		case r.Numbers != value.Numbers:
			return differs("%s, revision %d: the record has %s, but it is %s", slot, r.Revision, r.Numbers, value.Numbers)
		case revised && was.Numbers == r.Numbers:
			return differs("%s: revision %d changes nothing", slot, r.Revision)
		case r.Methodology != value.Methodology:
			return differs("%s, revision %d: the record has methodology %s, but that of then is %s", slot, r.Revision,
				r.Methodology, value.Methodology)
		case r.Inputs != c.v.salt.ValueInputs(r.Number, value.Inputs):
			return differs("%s, revision %d: the record was made from other rows", slot, r.Revision)
		}
		c.newest.Add(r)
	}
	return c.complete(final, moment)
}

// complete checks that no value that was final at a moment, when records were made, is without one.
func (c *valueCheck) complete(final []values.Value, moment int64) error {
	if missing := c.newest.Missing(c.family, final); len(missing) > 0 {
		return differs("%s: it was final at %s, and has no record of %s", missing[0].Slot(),
			assay.FormatInstant(moment), missing[0].Numbers)
	}
	return nil
}
