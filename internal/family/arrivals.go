package family

import (
	"math"
	"sort"

	"github.com/assaydata/assay"
)

// Arrival is an observation that was received: when, what series it enters into, and what instant it is about.
type Arrival struct {
	Received int64
	Series   string // empty in a family without series
	At       int64
}

// NewestArrival returns when the newest observation was received, or 0 without any.
func (o *Observations[T]) NewestArrival() int64 {
	items := o.all.Items()
	if len(items) == 0 {
		return 0
	}
	return items[len(items)-1].Received
}

// EachArrival calls f for each observation that was received at an instant or after it, in the order of receipt.
func (o *Observations[T]) EachArrival(from int64, f func(Arrival)) {
	items := o.all.Items()
	for i := sort.Search(len(items), func(i int) bool { return items[i].Received >= from }); i < len(items); i++ {
		a := Arrival{Received: items[i].Received, At: o.at(&items[i])}
		if o.slot != nil {
			a.Series = o.slot(&items[i].Value).Series
		}
		f(a)
	}
}

// EachCounting calls f for each observation that counts, with the instant from when on it does and the one that it is
// about.
func (o *Observations[T]) EachCounting(s Settlement, f func(counts, at int64)) {
	o.each(math.MaxInt64, s, func(observed *assay.Observed[T], late *Late[T]) {
		switch {
		case late == nil:
			f(observed.Received, o.at(observed))
		case late.Restated > 0:
			f(late.Restated, o.at(observed))
		}
	})
}
