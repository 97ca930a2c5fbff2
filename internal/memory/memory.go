// Package memory turns price readings of memory types into daily points. It is pure: the same readings, in any order, give
// the same points.
//
// A point stands at the fixing of a weekday, 16:00 in New York. It is the last reading at or before that fixing and after
// the fixing of the weekday before, so what was read over the weekend belongs to Monday. A weekday without a reading has
// no point: nothing is carried forward. Beside its price a point tells how far it is from the point before, and the highest
// and the lowest reading of the seven days that end at its fixing.
package memory

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
)

// Point is the price of a memory type on a weekday.
type Point struct {
	At        int64 // the fixing
	Price     assay.Nanos
	High, Low assay.Nanos // of the seven days that end at the fixing
	ChangePct assay.Nanos // since the point before; 0 when there is none
	ReadAt    int64       // when the price was read
	Received  int64       // when we learned of it
}

// Series is the points of a memory type, oldest first.
type Series []Point

// fixings are those of methodology 1.0.0, whatever the index of GPUs follows: memory's stand at 16:00 in New York always.
var fixings = index.Plain()

// Build makes the series of every memory type, by its id.
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

// series makes the points of readings in the order of time, of which no two are of one instant.
func series(readings []reading) (points Series) {
	first := 0 // of the seven days
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

// weekdayFixing is the first fixing of a weekday that is not before an instant. The day of a fixing is the same in New York
// and in UTC.
func weekdayFixing(ms int64) int64 {
	at := fixings.NextSlot(assay.Daily, ms-1)
	for {
		if day := time.UnixMilli(at).UTC().Weekday(); day != time.Saturday && day != time.Sunday {
			return at
		}
		at = fixings.NextSlot(assay.Daily, at)
	}
}

// weekBefore is the fixing of the same weekday a week earlier. Where the clocks were changed in between, that is an hour
// more or less than seven times 24.
func weekBefore(at int64) int64 {
	const changed = 2 * assay.Hour
	return fixings.LastSlot(assay.Daily, at-7*assay.Day+changed)
}

func extremes(readings []reading) (high, low assay.Nanos) {
	high, low = readings[0].price, readings[0].price
	for _, r := range readings[1:] {
		high, low = max(high, r.price), min(low, r.price)
	}
	return high, low
}

// Settled is how many points have had their fixing at a moment: the others may still change with every reading.
func (s Series) Settled(moment int64) int { return s.before(moment + 1) }

// Range gives the points [i, j) whose fixings lie in [from, to].
func (s Series) Range(from, to int64) (i, j int) {
	i = s.before(from)
	return i, max(i, s.before(to+1))
}

// before is how many points stand before an instant.
func (s Series) before(at int64) int {
	return sort.Search(len(s), func(i int) bool { return s[i].At >= at })
}
