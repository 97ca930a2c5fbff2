// Package memory turns price readings of memory types into daily points. It is pure: the same readings, in any order,
// give the same points.
//
// A point stands at the fixing of a weekday, 16:00 in New York. It is the last reading after the previous weekday's
// fixing and up to its own, so weekend readings count for Monday. A weekday without a reading has no point: nothing is
// carried forward. A point has its price, the change since the previous point, and the highest and lowest reading of
// the seven days that end at its fixing.
package memory

import (
	"cmp"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
)

// Point is the price of a memory type on a weekday.
type Point struct {
	At        int64 // the fixing
	Price     assay.Nanos
	High, Low assay.Nanos // of the seven days that end at the fixing
	ChangePct assay.Nanos // since the previous point; 0 without one
	ReadAt    int64       // when the source read the price
	Received  int64       // when we learned of it
}

// Series is the points of a memory type, oldest first.
type Series []Point

// fixings are those of methodology 1.0.0 whatever the GPU index uses: memory points always stand at 16:00 in New York.
// Not every command of the program needs them.
var fixings = sync.OnceValue(func() *index.Methodology {
	m := index.Plain()
	return &m
})

// Build computes the series of every memory type, by id.
func Build(readings []assay.Observed[assay.MemoryReading]) map[string]Series {
	byType := map[string][]reading{}
	for i := range readings {
		r := &readings[i]
		byType[r.Value.MemoryID] = append(byType[r.Value.MemoryID], reading{r.Value.At, r.Value.Price, r.Received})
	}
	all := make(map[string]Series, len(byType))
	for id, list := range byType {
		slices.SortFunc(list, func(a, b reading) int { return cmp.Compare(a.at, b.at) })
		all[id] = series(list)
	}
	return all
}

type reading struct {
	at       int64
	price    assay.Nanos
	received int64
}

// series computes the points of readings, which are ordered by instant; no two share an instant.
func series(readings []reading) (points Series) {
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
		p.High, p.Low = extremes(readings[first : i+1])
		if n := len(points); n > 0 {
			p.ChangePct = index.ChangePct(p.Price, points[n-1].Price)
		}
		points = append(points, p)
	}
	return points
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

func extremes(readings []reading) (high, low assay.Nanos) {
	high, low = readings[0].price, readings[0].price
	for _, r := range readings[1:] {
		high, low = max(high, r.price), min(low, r.price)
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
