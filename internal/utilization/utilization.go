// Package utilization computes which share of a GPU model's capacity is rented. A feed (a source that reports a region)
// says now and then how many GPUs it tracks there and how many of them are rented. The capacity of a line at an instant
// is the sum over the feeds that have reported lately; the utilization of a day or an hour is the mean of the shares at
// its instants. A reading counts from its receipt on or, if it came after its time was final, from the restatement on
// that lets it count. All of it follows from the readings and the methodology, for every past moment too.
package utilization

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/appendonly"
	"github.com/assaydata/assay/internal/index"
)

// reading is a reading of a line. There are millions: the numbers of GPUs fit 32 bits.
type reading struct {
	at, counts      int64 // counts: from when on
	rented, tracked uint32
	feed            int32 // in feeds
	revision        int32
}

// feed is a source that reports a region, or everything if the region is empty. It always reports the same capacity.
type feed struct{ source, region string }

// feeds numbers the feeds of all lines. It is not changed, but replaced by one with more of them.
type feeds struct {
	list    []feed
	numbers map[feed]int32
}

// with returns the feeds with those of more readings.
func (f *feeds) with(added []assay.UtilizationReading) *feeds {
	next := f
	for i := range added {
		one := feed{added[i].Source, added[i].Region}
		if _, ok := next.numbers[one]; ok {
			continue
		}
		if next == f {
			next = &feeds{slices.Clone(f.list), maps.Clone(f.numbers)}
		}
		next.numbers[one] = int32(len(next.list))
		next.list = append(next.list, one)
	}
	return next
}

// Lines has the readings of all lines. It is not changed: With returns one with more of them, which shares what it can.
type Lines struct {
	feeds    *feeds
	of       map[assay.Line]readings
	arrivals appendonly.List[Arrival] // the last ones, see arrivals.go
}

// readings are those of a line, ordered by instant, then by when they count.
type readings = appendonly.List[reading]

// With returns the lines with more readings, in any order, which all count at some time. Each belongs to the global
// line of its GPU model and to the line of its region, if it has one.
func (l Lines) With(added []assay.UtilizationReading) Lines {
	if len(added) == 0 {
		return l
	}
	if l.feeds == nil {
		l.feeds = &feeds{numbers: map[feed]int32{}}
	}
	next := Lines{l.feeds.with(added), maps.Clone(l.of), l.withArrivals(added)}
	if next.of == nil {
		next.of = map[assay.Line]readings{}
	}
	byLine := map[assay.Line][]reading{}
	for i := range added {
		r := &added[i]
		one := reading{
			at: r.At, counts: r.Counts(), rented: uint32(r.Rented), tracked: uint32(r.Tracked),
			feed: next.feeds.numbers[feed{r.Source, r.Region}], revision: int32(r.Revision),
		}
		global := assay.Line{GPU: r.GPU, Region: assay.Global}
		byLine[global] = append(byLine[global], one)
		if r.Region != "" && r.Region != assay.Global {
			region := assay.Line{GPU: r.GPU, Region: r.Region}
			byLine[region] = append(byLine[region], one)
		}
	}
	for name, added := range byLine {
		next.of[name] = merged(next.of[name], added)
	}
	return next
}

// merged returns the readings with more of them. It shares the array unless a new reading lies before its end.
func merged(r readings, added []reading) readings {
	slices.SortFunc(added, reading.compare)
	present := r.Items()
	if n := len(present); n == 0 || added[0].compare(present[n-1]) >= 0 {
		return r.With(added)
	}
	all := slices.Concat(present, added)
	slices.SortFunc(all, reading.compare)
	return readings{}.With(all)
}

// compare is a total order, so that results do not depend on the order of arrival.
func (r reading) compare(o reading) int {
	return cmp.Or(cmp.Compare(r.at, o.at), cmp.Compare(r.counts, o.counts), cmp.Compare(r.revision, o.revision),
		cmp.Compare(r.rented, o.rented), cmp.Compare(r.tracked, o.tracked))
}

// Names returns the lines that have readings, in the order of their names.
func (l Lines) Names() []assay.Line {
	return slices.SortedFunc(maps.Keys(l.of), func(a, b assay.Line) int {
		return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Region, b.Region))
	})
}

// Affected returns the time whose capacities may depend on a reading that counts from an instant on, and how many
// readings of it there are; none if there is no such reading.
func (l Lines) Affected(counts int64) (from, to int64, readings int) {
	from, to = math.MaxInt64, math.MinInt64
	for _, list := range l.of {
		for _, r := range list.Items() {
			if r.counts == counts {
				from, to = min(from, r.at), max(to, r.at+LongestCarry)
			}
		}
	}
	if from > to {
		return 0, 0, 0
	}
	for _, list := range l.of {
		all := list.Items()
		readings += before(all, to+1) - before(all, from)
	}
	return from, to, readings
}

// EachCounting calls f for each reading that counts, with the instant from when on it does and its own.
func (l Lines) EachCounting(f func(counts, at int64)) {
	for line, list := range l.of {
		if line.Region != assay.Global { // which has all readings
			continue
		}
		for _, r := range list.Items() {
			f(r.counts, r.at)
		}
	}
}

// before is how many readings of a line are of earlier instants.
func before(all []reading, at int64) int {
	return sort.Search(len(all), func(i int) bool { return all[i].at >= at })
}

// Rows returns the readings of a line in [from, to] that count at a moment, a line for each: from when on it counts,
// its revision, source, region and instant. The lines are in alphabetical order.
func (l Lines) Rows(line assay.Line, from, to, moment int64) string {
	var lines []string
	all := l.of[line].Items()
	for i := before(all, from); i < len(all) && all[i].at <= to; i++ {
		r := &all[i]
		if r.counts > moment {
			continue
		}
		f := &l.feeds.list[r.feed]
		lines = append(lines, fmt.Sprintf("%s\t%d\t%s\t%s\t%s\n",
			assay.FormatInstant(r.counts), r.revision, f.source, f.region, assay.FormatInstant(r.at)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// Capacity is the capacity of a line at one instant, summed over its feeds.
type Capacity struct {
	At              int64
	Rented, Tracked int64
	Changed         int64 // from when on the newest part of it counts
}

// LongestCarry is the most that a reading may count after its instant.
const LongestCarry = 7 * assay.Day

// Carry says how long a reading counts, at an instant, unless its feed has reported since; 0: only at its own instant.
// It is at most LongestCarry. Nil is 0 at all instants.
type Carry func(at int64) int64

// CarryBy is how long readings count by the methodology in effect at an instant.
func CarryBy(s index.Schedule) Carry {
	if !slices.ContainsFunc(s, func(m index.Methodology) bool { return m.UtilizationMaxAge > 0 }) {
		return nil
	}
	return func(at int64) int64 { return s.At(at).UtilizationMaxAge.Milliseconds() }
}

// Capacities returns the capacity of a line at each instant in [from, to] at which it has a reading that counts at a
// moment, oldest first.
func (l Lines) Capacities(line assay.Line, from, to, moment int64, carry Carry) iter.Seq[Capacity] {
	all := l.of[line].Items()
	begin := from
	if carry != nil {
		begin = max(from, LongestCarry) - LongestCarry
	}
	first := before(all, begin)
	return func(yield func(Capacity) bool) {
		sum := newSum(l.feeds)
		for i := first; i < len(all) && all[i].at <= to; {
			at, counts := all[i].at, false
			for ; i < len(all) && all[i].at == at; i++ {
				if all[i].counts <= moment {
					sum.add(&all[i])
					counts = true
				}
			}
			if !counts || at < from {
				continue
			}
			age := int64(0)
			if carry != nil {
				age = carry(at)
			}
			if !yield(sum.at(at, age)) {
				return
			}
		}
	}
}

// sum adds up what the feeds have reported last.
type sum struct {
	slots []slot  // those of one source follow each other
	of    []int32 // by the number of a feed: its slot
}

// slot is the last reading of a feed.
type slot struct {
	feed
	reading // without GPUs if there was none yet
}

func newSum(f *feeds) *sum {
	if f == nil {
		return &sum{}
	}
	c := &sum{slots: make([]slot, len(f.list)), of: make([]int32, len(f.list))}
	for i, one := range f.list {
		c.slots[i] = slot{feed: one, reading: reading{feed: int32(i)}}
	}
	slices.SortFunc(c.slots, func(a, b slot) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.region, b.region))
	})
	for i := range c.slots {
		c.of[c.slots[i].reading.feed] = int32(i)
	}
	return c
}

func (c *sum) add(r *reading) { c.slots[c.of[r.feed]].reading = *r }

// at sums up the readings that are not older than age. What a source reports without a region does not count beside its
// regions: it is the same capacity.
func (c *sum) at(at, age int64) Capacity {
	total := Capacity{At: at}
	for i := 0; i < len(c.slots); {
		source, regions := c.slots[i].source, false
		var whole *slot // it comes first
		for ; i < len(c.slots) && c.slots[i].source == source; i++ {
			switch s := &c.slots[i]; {
			case s.tracked == 0 || at-s.at > age:
			case s.region == "" && age > 0:
				whole = s
			default:
				total.add(s)
				regions = true
			}
		}
		if whole != nil && !regions {
			total.add(whole)
		}
	}
	return total
}

func (c *Capacity) add(s *slot) {
	c.Rented += int64(s.rented)
	c.Tracked += int64(s.tracked)
	c.Changed = max(c.Changed, s.counts)
}

// Period is the utilization of a day or an hour: the mean of the shares at its instants.
type Period struct {
	Begins  int64
	Last    int64 // the last instant
	Ratio   assay.Nanos
	Changed int64 // when the newest reading behind it began to count
}

// Periods returns those of a step, a day or an hour, with an instant.
func Periods(capacities iter.Seq[Capacity], step int64) (periods []Period) {
	var current Period
	var mean index.RatioMean
	end := func() {
		var ok bool
		if current.Ratio, ok = mean.Mean(); ok {
			periods = append(periods, current)
		}
	}
	for c := range capacities {
		if begins := c.At - c.At%step; begins != current.Begins {
			end()
			current, mean = Period{Begins: begins}, index.RatioMean{}
		}
		mean.Add(c.Rented, c.Tracked)
		current.Last, current.Changed = c.At, max(current.Changed, c.Changed)
	}
	end()
	return periods
}
