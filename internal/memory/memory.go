// Package memory turns price readings of memory types into daily points. It is pure: the same readings, in any order,
// give the same points.
//
// A point stands at the fixing of a weekday, 16:00 in New York, if there is a reading after the previous weekday's
// fixing and up to its own, so weekend readings count for Monday. A weekday without a reading has no point: nothing is
// carried forward. A point has its price, the change since the previous point, and the highest and lowest price of the
// seven days that end at its fixing.
//
// The methodology says what the price is: the last reading, as in version 1.0.0, or the median over the sources, which
// no source can move alone. In a median each source counts once, with its last reading, unless that is too old. Of
// three sources or more, those that are too far from the middle are excluded, from high and low too.
package memory

import (
	"cmp"
	"maps"
	"math"
	"math/big"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
)

// Point is the price of a memory type at a fixing.
type Point struct {
	At        int64 // the fixing
	Price     assay.Nanos
	High, Low assay.Nanos // of the seven days that end with the fixing
	ChangePct assay.Nanos // since the previous point; 0 without one
	ReadAt    int64       // when the newest reading that counts was made
	Received  int64       // when we learned of the last one that counts

	Sources  int    // that count, in a median
	Excluded string // sources that are too far from the others, by name, each followed by a line end
}

// ExcludedSources is how many sources were excluded.
func (p *Point) ExcludedSources() int { return strings.Count(p.Excluded, "\n") }

// Series is the points of a memory type, oldest first.
type Series []Point

// fixings are those of methodology 1.0.0 whatever the GPU index uses: memory points always stand at 16:00 in New York.
// Not every command of the program needs them.
var fixings = sync.OnceValue(func() *index.Methodology {
	m := index.Plain()
	return &m
})

// Build computes the series of every memory type, by id. A fixing follows the methodology in effect then.
func Build(readings []assay.Observed[assay.MemoryReading], schedule index.Schedule) map[string]Series {
	byType := map[string][]reading{}
	for i := range readings {
		r := &readings[i]
		byType[r.Value.MemoryID] = append(byType[r.Value.MemoryID],
			reading{at: r.Value.At, source: r.Value.Source, price: r.Value.Price, received: r.Received})
	}
	all := make(map[string]Series, len(byType))
	for id, list := range byType {
		slices.SortFunc(list, func(a, b reading) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.source, b.source))
		})
		all[id] = series(list, schedule)
	}
	return all
}

type reading struct {
	at       int64
	source   string
	price    assay.Nanos
	received int64
	excluded bool // by a fixing
}

// series computes the points of readings, which are ordered by instant; no two of a source share one.
func series(readings []reading, schedule index.Schedule) (points Series) {
	first := 0 // reading of the seven days
	for i := 0; i < len(readings); i++ {
		at := weekdayFixing(readings[i].at)
		for i+1 < len(readings) && readings[i+1].at <= at {
			i++
		}
		for week := weekBefore(at); readings[first].at <= week; {
			first++
		}
		p := Point{At: at, Price: readings[i].price, ReadAt: readings[i].at, Received: readings[i].received}
		if rule := schedule.At(at).Memory; rule.Median {
			if !p.median(readings[:i+1], rule) {
				continue
			}
		}
		p.High, p.Low = extremes(readings[first : i+1])
		if n := len(points); n > 0 {
			p.ChangePct = index.ChangePct(p.Price, points[n-1].Price)
		}
		points = append(points, p)
	}
	return points
}

// median sets the price to the median over the sources; ok is false if the last readings of all are too old. The
// readings are ordered by instant.
func (p *Point) median(readings []reading, rule index.MemoryRule) (ok bool) {
	last := map[string]*reading{}
	for i := len(readings) - 1; i >= 0 && readings[i].at >= p.At-rule.MaxAge.Milliseconds(); i-- {
		if _, ok := last[readings[i].source]; !ok {
			last[readings[i].source] = &readings[i]
		}
	}
	if len(last) == 0 {
		return false
	}
	all := slices.Collect(maps.Values(last))
	slices.SortFunc(all, func(a, b *reading) int {
		return cmp.Or(cmp.Compare(a.price, b.price), cmp.Compare(a.source, b.source))
	})
	const enough = 3 // with two sources, none says which of them is wrong
	if rule.Outliers > 0 && len(all) >= enough {
		// Those in the middle are never excluded.
		var excluded []string
		low := all[(len(all)-1)/2].price * assay.Nanos(index.Whole-rule.Outliers)
		high := all[len(all)/2].price * assay.Nanos(index.Whole+rule.Outliers)
		all = slices.DeleteFunc(all, func(r *reading) bool {
			r.excluded = r.price*index.Whole < low || r.price*index.Whole > high // no product is above 2e17
			if r.excluded {
				excluded = append(excluded, r.source+"\n")
			}
			return r.excluded
		})
		slices.Sort(excluded)
		p.Excluded = strings.Join(excluded, "")
	}
	p.Price, p.Sources, p.ReadAt, p.Received = middle(all), len(all), 0, 0
	for _, r := range all {
		p.ReadAt, p.Received = max(p.ReadAt, r.at), max(p.Received, r.received)
	}
	return true
}

// middle is the median of prices in their order, rounded half-even.
func middle(sorted []*reading) assay.Nanos {
	low, high := sorted[(len(sorted)-1)/2].price, sorted[len(sorted)/2].price
	return assay.Nanos(assay.DivideHalfEven(big.NewInt(int64(low+high)), big.NewInt(2)))
}

// weekdayFixing returns the first weekday fixing at or after an instant. A fixing falls on the same date in New York
// and in UTC.
func weekdayFixing(ms int64) int64 {
	at := fixings().NextSlot(assay.Daily, ms-1)
	for {
		if day := time.UnixMilli(at).UTC().Weekday(); day != time.Saturday && day != time.Sunday {
			return at
		}
		at = fixings().NextSlot(assay.Daily, at)
	}
}

// weekBefore returns the fixing of the same weekday one week earlier. If the clocks changed in between, that is an hour
// more or less than seven times 24 hours.
func weekBefore(at int64) int64 {
	const clockChange = 2 * assay.Hour // more than the clocks ever change
	return fixings().LastSlot(assay.Daily, at-7*assay.Day+clockChange)
}

// extremes are the highest and the lowest of the readings that no fixing has excluded.
func extremes(readings []reading) (high, low assay.Nanos) {
	low = math.MaxInt64
	for _, r := range readings {
		if !r.excluded {
			high, low = max(high, r.price), min(low, r.price)
		}
	}
	return high, low
}

// Settled returns how many points are past their fixing at a moment. The others may still change with every reading.
func (s Series) Settled(moment int64) int { return s.before(moment + 1) }

// Range returns the positions [i, j) of the points with fixings in [from, to].
func (s Series) Range(from, to int64) (i, j int) {
	i = s.before(from)
	return i, max(i, s.before(to+1))
}

// before returns how many points stand before an instant.
func (s Series) before(at int64) int {
	return sort.Search(len(s), func(i int) bool { return s[i].At >= at })
}
