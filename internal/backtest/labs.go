package backtest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/observed"
	"github.com/assaydata/assay/internal/tokens"
)

// labIndex is an index of labs, computed from the days of their models.
type labIndex struct {
	name, about string
	families    bool // it has values of families of models too
	values      func(modelDays, []assay.Lab, index.Schedule) ([]labValue, error)
}

type modelDays []assay.Observed[assay.ModelDay]

// labValue is what an index is on a day; ok is false if it has no value.
type labValue struct {
	lab, family string
	day         int64
	value       assay.Nanos
	ok          bool
}

// labIndices are those that depend on the methodology. Their names are those of the records of values, where there are
// some.
var labIndices = []labIndex{
	{
		name: "workload", about: "Like-for-like index of workloads over seven days", families: true,
		values: func(known modelDays, labs []assay.Lab, schedule index.Schedule) ([]labValue, error) {
			return likeForLike(tokens.Costs(known, labs, schedule))
		},
	},
	{
		name: "workload-daily", about: "Like-for-like index of workloads over single days", families: true,
		values: func(known modelDays, labs []assay.Lab, schedule index.Schedule) ([]labValue, error) {
			return likeForLike(tokens.DailyCosts(known, labs, schedule))
		},
	},
	{
		name: "otpi", about: "Token price in USD per million tokens",
		values: func(known modelDays, labs []assay.Lab, schedule index.Schedule) (list []labValue, _ error) {
			for _, p := range tokens.Prices(known, labs, schedule) {
				list = append(list, labValue{p.Lab, tokens.AllModels, p.Day, p.Value, true})
			}
			return list, nil
		},
	},
	{
		name: "otpi-mix", about: "Token price of the reference mix in USD per million tokens",
		values: func(known modelDays, labs []assay.Lab, schedule index.Schedule) (list []labValue, _ error) {
			for _, p := range tokens.Prices(known, labs, schedule) {
				list = append(list, labValue{p.Lab, tokens.AllModels, p.Day, p.Mix.Value, p.Mix.OK})
			}
			return list, nil
		},
	},
}

// Indices are the names of the indices of labs.
func Indices() (names []string) {
	for i := range labIndices {
		names = append(names, labIndices[i].name)
	}
	return names
}

// HasFamilies tells whether an index has values of families of models too.
func HasFamilies(name string) bool {
	i := indexNamed(name)
	return i != nil && i.families
}

func indexNamed(name string) *labIndex {
	for i := range labIndices {
		if labIndices[i].name == name {
			return &labIndices[i]
		}
	}
	return nil
}

// likeForLike takes the like-for-like index out of costs.
func likeForLike(costs []tokens.Cost) (list []labValue, err error) {
	const most = 1_000_000_000 // what fits a chart; an index beyond it tells of a mistake in the rows
	for i := range costs {
		c := &costs[i]
		value, err := assay.ParseDecimal(c.Index, 9)
		if err != nil || assay.Nanos(value) > most*assay.One {
			return nil, fmt.Errorf("the index of %s is %s on %s: more than %d cannot be compared",
				seriesName(c.Lab, c.Family), c.Index, assay.FormatDay(c.Day), most)
		}
		list = append(list, labValue{c.Lab, c.Family, c.Day, assay.Nanos(value), true})
	}
	return list, nil
}

// seriesName is the name of a lab, or of a family of its models.
func seriesName(lab, family string) string {
	if family == tokens.AllModels {
		return lab
	}
	return lab + "/" + family
}

// compareLabs compares an index of labs. Both sides follow from the rows that count now.
func (r *replay) compareLabs(ctx context.Context) error {
	chosen := indexNamed(r.Index)
	if chosen == nil {
		return fmt.Errorf("there is no index %q: must be one of %s", r.Index, strings.Join(Indices(), ", "))
	}
	if r.Models == "" {
		r.Models = tokens.AllModels
	}
	if err := r.readSchedule(ctx); err != nil {
		return err
	}
	known, labs, err := r.readModels(ctx)
	if err != nil {
		return err
	}
	if err := r.addLabs(known, labs); err != nil {
		return err
	}
	r.result.Published = r.governing(assay.Day)
	base := r.schedule
	if r.Against != "" {
		base = index.Schedule{r.against}
	}
	err = r.setLabs(chosen, known, labs, base, func(d *Day, value assay.Nanos) { d.Base, d.HasBase = value, true })
	if err != nil {
		return err
	}
	// A schedule of one version governs all days, whenever it takes effect.
	return r.setLabs(chosen, known, labs, index.Schedule{r.Candidate}, func(d *Day, value assay.Nanos) {
		d.Candidate, d.HasCandidate = value, true
	})
}

// readModels reads the rows that count, of the labs to compare and of days that have ended.
func (r *replay) readModels(ctx context.Context) (known modelDays, labs []assay.Lab, err error) {
	if r.counters, err = r.db.Counters(ctx); err != nil {
		return nil, nil, err
	}
	catalog, err := r.db.Catalog(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, lab := range catalog.Labs {
		if r.Lab == "" || r.Lab == lab.Lab {
			labs = append(labs, lab)
		}
	}
	settling, err := observed.Read(ctx, r.db, r.counters, r.schedule)
	if err != nil {
		return nil, nil, err
	}
	known = tokens.Family.In(&settling.Observations).Known(math.MaxInt64, settling.Of(assay.FamilyModels))
	now := r.db.Now().UnixMilli()
	known = slices.DeleteFunc(known, func(o assay.Observed[assay.ModelDay]) bool {
		isLab := func(lab assay.Lab) bool { return lab.Lab == o.Value.Lab }
		return o.Value.Day+assay.Day > now || !slices.ContainsFunc(labs, isLab)
	})
	return known, labs, nil
}

// addLabs lists the days to compare: those of which a lab has a row.
func (r *replay) addLabs(known modelDays, labs []assay.Lab) error {
	of := map[string]map[int64]bool{} // by lab
	families := map[string]bool{}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range known {
		m := &known[i].Value
		families[m.Family] = true
		if r.Models != tokens.AllModels && m.Family != r.Models {
			continue
		}
		first, last = min(first, m.Day), max(last, m.Day)
		if m.Day < r.From || r.To != 0 && m.Day >= r.To {
			continue
		}
		if of[m.Lab] == nil {
			of[m.Lab] = map[int64]bool{}
		}
		of[m.Lab][m.Day] = true
	}
	for _, lab := range labs {
		list := Series{Name: seriesName(lab.Lab, r.Models)}
		for _, day := range slices.Sorted(maps.Keys(of[lab.Lab])) {
			list.Days = append(list.Days, Day{At: day})
		}
		if len(list.Days) > 0 {
			r.add(list)
		}
	}
	switch {
	case len(r.days) > 0:
		return nil
	case len(known) == 0:
		return fmt.Errorf("there are no days of models%s to compare", r.ofLab())
	case first > last:
		return fmt.Errorf("there are no models%s of family %q: must be one of %s",
			r.ofLab(), r.Models, strings.Join(slices.Sorted(maps.Keys(families)), ", "))
	}
	return fmt.Errorf("there are no days of models%s in this period; there are some from %s to %s",
		r.ofLab(), assay.FormatDay(first), assay.FormatDay(last))
}

// ofLab names the only lab, if there is one, in a message.
func (r *replay) ofLab() string {
	if r.Lab == "" {
		return ""
	}
	return " of " + r.Lab
}

// setLabs computes the index under a schedule and sets its values.
func (r *replay) setLabs(
	chosen *labIndex, known modelDays, labs []assay.Lab, schedule index.Schedule, set func(*Day, assay.Nanos),
) error {
	list, err := chosen.values(known, labs, schedule)
	if err != nil {
		return err
	}
	for _, v := range list {
		day := r.days[dayKey{seriesName(v.lab, v.family), v.day}]
		if day != nil && v.ok {
			set(day, v.value)
		}
	}
	return nil
}
