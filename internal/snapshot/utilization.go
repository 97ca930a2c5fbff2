package snapshot

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sort"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/appendonly"
)

// reading is a utilization reading of a line. There are millions: the numbers of GPUs fit 32 bits.
type reading struct {
	at, received    int64
	rented, tracked uint32
	feed            int32 // in feeds
}

// readings are the utilization readings of a line, ordered by instant, then by receipt.
type readings struct {
	appendonly.List[reading]
	feeds *feeds
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

// Utilization is the capacity of a line at one instant, summed over sources and regions.
type Utilization struct {
	At              int64
	Rented, Tracked int64
	Received        int64 // when the newest part of it was received
}

// LongestCarry is the most that a reading may count after its instant.
const LongestCarry = 7 * assay.Day

// Carry says how long a reading counts, at an instant, unless its feed has reported since; 0: only at its own instant.
// It is at most LongestCarry.
type Carry func(at int64) int64

// Utilization returns the instants in [from, to] with a reading that was received up to known, oldest first, each with
// the sum of the readings that count then.
func (l *Line) Utilization(from, to, known int64, carry Carry) iter.Seq[Utilization] {
	all := l.utilization.Items()
	begin := from
	if carry != nil {
		begin = max(from, LongestCarry) - LongestCarry
	}
	first := sort.Search(len(all), func(i int) bool { return all[i].at >= begin })
	return func(yield func(Utilization) bool) {
		sum := newCapacity(l.utilization.feeds)
		for i := first; i < len(all) && all[i].at <= to; {
			at, any := all[i].at, false
			for ; i < len(all) && all[i].at == at; i++ {
				if all[i].received <= known {
					sum.add(&all[i])
					any = true
				}
			}
			if !any || at < from {
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

// capacity adds up what the feeds have reported last.
type capacity struct {
	slots []slot  // those of one source follow each other
	of    []int32 // by the number of a feed: its slot
}

// slot is the last reading of a feed.
type slot struct {
	feed
	reading // without GPUs if there was none yet
}

func newCapacity(f *feeds) *capacity {
	if f == nil {
		return &capacity{}
	}
	c := &capacity{slots: make([]slot, len(f.list)), of: make([]int32, len(f.list))}
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

func (c *capacity) add(r *reading) { c.slots[c.of[r.feed]].reading = *r }

// at sums up the readings that are not older than age. What a source reports without a region does not count beside its
// regions: it is the same capacity.
func (c *capacity) at(at, age int64) Utilization {
	u := Utilization{At: at}
	for i := 0; i < len(c.slots); {
		source, regions := c.slots[i].source, false
		var whole *slot // it comes first
		for ; i < len(c.slots) && c.slots[i].source == source; i++ {
			switch s := &c.slots[i]; {
			case s.tracked == 0 || at-s.at > age:
			case s.region == "" && age > 0:
				whole = s
			default:
				u.add(s)
				regions = true
			}
		}
		if whole != nil && !regions {
			u.add(whole)
		}
	}
	return u
}

func (u *Utilization) add(s *slot) {
	u.Rented += int64(s.rented)
	u.Tracked += int64(s.tracked)
	u.Received = max(u.Received, s.received)
}

// addUtilization adds each new reading to the global line of its GPU model and to the line of its region, if it has
// one.
func (s *Snapshot) addUtilization(added []assay.UtilizationReading) {
	if len(added) == 0 {
		return
	}
	s.feeds = s.feeds.with(added)
	byLine := map[assay.Line][]reading{}
	for i := range added {
		r := &added[i]
		one := reading{
			at: r.At, received: r.Received, rented: uint32(r.Rented), tracked: uint32(r.Tracked),
			feed: s.feeds.numbers[feed{r.Source, r.Region}],
		}
		global := assay.Line{GPU: r.GPU, Region: assay.Global}
		byLine[global] = append(byLine[global], one)
		if r.Region != "" && r.Region != assay.Global {
			region := assay.Line{GPU: r.GPU, Region: r.Region}
			byLine[region] = append(byLine[region], one)
		}
	}
	for name, added := range byLine {
		if line, ok := s.lines[name]; ok {
			next := *line
			next.utilization = line.utilization.merged(added)
			next.utilization.feeds = s.feeds
			s.lines[name] = &next
		}
	}
}

// merged returns the readings with more of them. It shares the array unless a new reading lies before its end.
func (r readings) merged(added []reading) readings {
	slices.SortFunc(added, reading.compare)
	present := r.Items()
	if n := len(present); n == 0 || added[0].compare(present[n-1]) >= 0 {
		return readings{List: r.With(added)}
	}
	all := slices.Concat(present, added)
	slices.SortFunc(all, reading.compare)
	return readings{List: appendonly.List[reading]{}.With(all)}
}

// compare is a total order, so that results do not depend on the order of arrival.
func (r reading) compare(o reading) int {
	return cmp.Or(cmp.Compare(r.at, o.at), cmp.Compare(r.received, o.received), cmp.Compare(r.rented, o.rented),
		cmp.Compare(r.tracked, o.tracked))
}
