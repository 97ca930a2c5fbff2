// Package values lists the values of the indices that are computed from families: token prices, workload costs, memory
// prices, coding metrics and utilization. A value is final once the day of its series is (see family.Settlement and
// utilization.Settler), and has a record from then on. It is pure: publishing makes records of the values, and a
// verification computes them again.
//
// The names of indices and series, and the numbers, are those of the API. Catalogs play no part: what they hide or
// rename changes no record.
package values

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/memory"
	"github.com/assaydata/assay/internal/tokens"
	"github.com/assaydata/assay/internal/utilization"
)

// The indices, by the routes that serve them. A series is a lab, a lab and a family of its models, a memory type, a
// tool and a metric, or a GPU model and a region.
const (
	OTPI        = "otpi"
	Workload    = "workload"
	Daily       = "workload-daily" // the workload of single days
	Memory      = "memory"
	Coding      = "llm-coding"
	Utilization = "utilization"
)

// Value is a value that is final.
type Value struct {
	Index, Series string
	Day           int64  // midnight UTC
	Methodology   string // the version in effect when the time that it is about ended
	Numbers       string // a JSON object, or Gone
	Inputs        string // a line for each row of its day: when it was received, its revision and its key; see also add…

	ends int64
}

// Gone are the numbers of a value that had some before a restatement.
const Gone = "null"

// Slot names a value.
type Slot struct {
	Index, Series string
	Day           int64
}

// Slot is the slot of the value.
func (v *Value) Slot() Slot { return Slot{v.Index, v.Series, v.Day} }

func (s Slot) String() string {
	return fmt.Sprintf("%s of %s, %s", s.Index, s.Series, assay.FormatDay(s.Day))
}

// Families are those whose values become final.
var Families = []assay.Family{assay.FamilyMemory, assay.FamilyModels, assay.FamilyCoding, assay.FamilyUtilization}

// indices are those of each of them.
var indices = map[assay.Family][]string{
	assay.FamilyModels:      {OTPI, Workload, Daily},
	assay.FamilyMemory:      {Memory},
	assay.FamilyCoding:      {Coding},
	assay.FamilyUtilization: {Utilization},
}

// IndicesOf are the indices of a family.
func IndicesOf(f assay.Family) []string { return indices[f] }

// Rows are what values are computed from.
type Rows struct {
	Observations *family.Set
	Utilization  utilization.Lines // as far as it counts
	Settler      *utilization.Settler
}

// Settled returns up to which slot each series of a family is final at a moment, and when more will be if nothing else
// is received; 0 for never.
func (r *Rows) Settled(f assay.Family, moment int64, s family.Settlement) (final map[string]int64, next int64) {
	if f == assay.FamilyUtilization {
		return r.Settler.Settled(moment)
	}
	return r.Observations[f].Settled(moment, s)
}

// Final returns the values of a family that are final at a moment, in the order of index, series and day.
func (r *Rows) Final(f assay.Family, moment int64, s family.Settlement, schedule index.Schedule) (list []Value) {
	observations := r.Observations
	switch f { //nolint:exhaustive // the others do not settle
	case assay.FamilyUtilization:
		list = r.utilization(moment, schedule)
	case assay.FamilyModels:
		list = settled(tokens.Family, observations, moment, s, func(known []assay.Observed[assay.ModelDay], add adder) {
			addModels(known, schedule, add)
		})
	case assay.FamilyMemory:
		list = settled(memory.Family, observations, moment, s, func(known []assay.Observed[assay.MemoryReading], add adder) {
			addMemory(known, schedule, add)
		})
	case assay.FamilyCoding:
		list = settled(coding.Family, observations, moment, s, addCoding)
	}
	for i := range list {
		list[i].Methodology = schedule.At(list[i].ends).Version
	}
	slices.SortFunc(list, inOrder)
	return list
}

func inOrder(a, b Value) int {
	return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Series, b.Series), cmp.Compare(a.Day, b.Day))
}

// Newest has what the newest record of each value says. There are many.
type Newest map[Slot]Recorded

// Recorded is a part of a record.
type Recorded struct {
	Revision             int
	Numbers, Methodology string
}

// Add adds a record, which must be newer than all of its value.
func (n Newest) Add(r *assay.ValueRecord) {
	n[Slot{r.Index, r.Series, r.Day}] = Recorded{r.Revision, r.Numbers, r.Methodology}
}

// Missing returns the values of a family that have no record, or one with other numbers. Final are all of its values.
// One that has a record and is not among them is Gone.
func (n Newest) Missing(f assay.Family, final []Value) (missing []Value) {
	is := make(map[Slot]bool, len(final))
	for _, v := range final {
		is[v.Slot()] = true
		if r, ok := n[v.Slot()]; !ok || r.Numbers != v.Numbers {
			missing = append(missing, v)
		}
	}
	for slot, r := range n {
		if !is[slot] && r.Numbers != Gone && slices.Contains(indices[f], slot.Index) {
			missing = append(missing, Value{
				Index: slot.Index, Series: slot.Series, Day: slot.Day, Methodology: r.Methodology, Numbers: Gone,
			})
		}
	}
	slices.SortFunc(missing, inOrder)
	return missing
}

// adder takes a value of the series of a family that it settles with, and of a slot of that series.
type adder func(settles string, at int64, v Value)

// settled returns those values that settle with a slot that is final.
func settled[T any](
	d *family.Definition[T], observations *family.Set, moment int64, s family.Settlement,
	build func(known []assay.Observed[T], add adder),
) (list []Value) {
	in := d.In(observations)
	final, _ := in.Settled(moment, s)
	known := in.Known(moment, s)
	type slot struct {
		series string
		at     int64
	}
	inputs := map[slot][]byte{}
	for i := range known {
		o := &known[i]
		of := d.Slot(&o.Value)
		name := slot{of.Series, of.At}
		inputs[name] = fmt.Appendf(inputs[name], "%s\t%d\t%s\n", assay.FormatInstant(o.Received), o.Revision, o.Key)
	}
	build(known, func(settles string, at int64, v Value) {
		if last, ok := final[settles]; ok && at <= last {
			v.Inputs = string(inputs[slot{settles, at}]) + v.Inputs
			list = append(list, v)
		}
	})
	return list
}

func addModels(known []assay.Observed[assay.ModelDay], schedule index.Schedule, add adder) {
	names := map[string]bool{}
	for i := range known {
		names[known[i].Value.Lab] = true
	}
	var labs []assay.Lab
	for _, name := range slices.Sorted(maps.Keys(names)) {
		labs = append(labs, assay.Lab{Lab: name})
	}
	for _, p := range tokens.Prices(known, labs, schedule) {
		add(p.Lab, p.Day, ofDay(OTPI, p.Lab, p.Day, priceNumbers(&p)))
	}
	for _, c := range tokens.Costs(known, labs, schedule) {
		add(c.Lab, c.Day, ofDay(Workload, c.Lab+"/"+c.Family, c.Day, costNumbers(&c)))
	}
	for _, c := range tokens.DailyCosts(known, labs, schedule) {
		add(c.Lab, c.Day, ofDay(Daily, c.Lab+"/"+c.Family, c.Day, costNumbers(&c)))
	}
}

// ofDay is a value of a calendar day.
func ofDay(index, series string, day int64, numbers string) Value {
	return Value{Index: index, Series: series, Day: day, Numbers: numbers, ends: day + assay.Day}
}

// addMemory adds the points of memory types. The sources that a median leaves out are among its inputs, because records
// are public, and the names of sources are not.
func addMemory(known []assay.Observed[assay.MemoryReading], schedule index.Schedule, add adder) {
	for id, series := range memory.Build(known, schedule) {
		for i := range series {
			p := &series[i]
			day := p.At - p.At%assay.Day // a fixing has the same date in New York and in UTC
			fields := []field{
				number("price", p.Price), number("weeklyHigh", p.High), number("weeklyLow", p.Low),
				number("changePct", p.ChangePct),
			}
			if p.Sources > 0 {
				fields = append(fields, field{"sources", strconv.Itoa(p.Sources)},
					field{"excludedSources", strconv.Itoa(p.ExcludedSources())})
			}
			v := Value{Index: Memory, Series: id, Day: day, Numbers: object(fields...), ends: p.At}
			for source := range strings.Lines(p.Excluded) {
				v.Inputs += "excluded\t" + source
			}
			add(id, p.At, v)
		}
	}
}

func addCoding(known []assay.Observed[assay.CodingDay], add adder) {
	var products []assay.CodingProduct
	seen := map[string]bool{}
	for i := range known {
		tool := known[i].Value.Tool
		if seen[tool] {
			continue
		}
		seen[tool] = true
		for _, metric := range assay.CodingCategories {
			products = append(products, assay.CodingProduct{ID: tool + "/" + metric, Tools: []string{tool}, Category: metric})
		}
	}
	all := coding.Build(known, products)
	for _, p := range products {
		series := all[p.ID]
		for i := range series {
			change, hasChange := series.ChangePct(i)
			week, hasWeek := series.WeekChangePct(i)
			add(p.Tools[0], series[i].Day, ofDay(Coding, p.ID, series[i].Day, object(
				number("value", series[i].Value), optional("changePct", change, hasChange),
				optional("weekChangePct", week, hasWeek))))
		}
	}
}

// utilization returns the days of all lines, each with those of its hours that have a reading.
func (r *Rows) utilization(moment int64, schedule index.Schedule) (list []Value) {
	final, _ := r.Settler.Settled(moment)
	carry := utilization.CarryBy(schedule)
	for _, line := range r.Utilization.Names() {
		last, ok := final[line.GPU]
		if !ok {
			continue
		}
		capacities := slices.Collect(r.Utilization.Capacities(line, 0, last+assay.Day-1, moment, carry))
		hours := utilization.Periods(slices.Values(capacities), assay.Hour)
		for _, day := range utilization.Periods(slices.Values(capacities), assay.Day) {
			fields := []field{number("utilization_ratio", day.Ratio)}
			for len(hours) > 0 && hours[0].Begins < day.Begins+assay.Day {
				hour := fmt.Sprintf("hour_%02d", (hours[0].Begins-day.Begins)/assay.Hour)
				fields = append(fields, number(hour, hours[0].Ratio))
				hours = hours[1:]
			}
			v := ofDay(Utilization, line.GPU+"/"+line.Region, day.Begins, object(fields...))
			v.Inputs = r.Utilization.Rows(line, day.Begins, day.Begins+assay.Day-1, moment)
			list = append(list, v)
		}
	}
	return list
}

func priceNumbers(p *tokens.Price) string {
	fields := []field{number("indexPerMtok", p.Value)}
	if p.Split > 0 {
		fields = append(fields, optional("inputPerMtok", p.Input.Value, p.Input.OK),
			optional("cachedInputPerMtok", p.Cached.Value, p.Cached.OK),
			optional("outputPerMtok", p.Output.Value, p.Output.OK), optional("mixPerMtok", p.Mix.Value, p.Mix.OK),
			number("splitShare", p.Split))
	}
	return object(fields...)
}

func costNumbers(c *tokens.Cost) string {
	return object(number("cCents", c.Cents), field{"lfl", c.Index}, number("qKtok", c.Ktok),
		number("priceEffect", c.Price), number("intensityEffect", c.Intensity), number("mixEffect", c.Mix),
		optional("unlinkedShare", c.Unlinked.Value, c.Unlinked.OK))
}

// field is a field of a JSON object.
type field struct{ name, value string }

func number(name string, n assay.Nanos) field { return field{name, string(n.AppendJSON(nil))} }

func optional(name string, n assay.Nanos, ok bool) field {
	if !ok {
		return field{name, "null"}
	}
	return number(name, n)
}

func object(fields ...field) string {
	text := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(append(text, '"'), f.name...), `":`...), f.value...)
	}
	return string(append(text, '}'))
}
