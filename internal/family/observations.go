package family

import (
	"math"
	"sort"
	"sync"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/appendonly"
)

// Observations holds every observation received of one family, in the order of receipt, and the models built from all
// of them. It is immutable.
type Observations[T any] struct {
	all    appendonly.List[assay.Observed[T]]
	at     func(*assay.Observed[T]) int64
	slot   func(*T) Slot
	latest int64
	models *sync.Map // by name, functions that build a model once and return it
}

// AnyObservations is Observations without its type parameter.
type AnyObservations interface {
	// Latest returns the newest instant that an observation is about, or 0 without any.
	Latest() int64
	// With returns the observations with a batch of the same family, received later than all before.
	With(b Batch) AnyObservations
	// WithoutModels returns the same observations with no model built yet.
	WithoutModels() AnyObservations
	// Count returns how many observations were known at a moment, all revisions included.
	Count(moment int64) int
	// NewestArrival returns when the newest observation was received, or 0 without any.
	NewestArrival() int64
	// EachArrival calls f for each observation that was received at an instant or after it, in the order of receipt.
	EachArrival(from int64, f func(Arrival))
	// EachCounting calls f for each observation that counts, with the instant from when on it does and the one that it is
	// about.
	EachCounting(s Settlement, f func(counts, at int64))
	// Settled returns up to which slot each series is final at a moment, and when more will be; 0 for never.
	Settled(moment int64, s Settlement) (final map[string]int64, next int64)
	// EachLateRow calls f for each late row that was received up to a moment, in the order of receipt.
	EachLateRow(moment int64, s Settlement, f func(LateRow))
}

// Set holds the observations of every family.
type Set [assay.NumFamilies]AnyObservations

// In returns the family's observations in a set.
func (d *Definition[T]) In(s *Set) *Observations[T] { return s[d.Family].(*Observations[T]) }

// NoObservations returns the family's observations before the first one.
func (d *Definition[T]) NoObservations() AnyObservations {
	return &Observations[T]{at: d.At, slot: d.Slot, models: new(sync.Map)}
}

// Latest returns the newest instant that an observation is about, or 0 without any.
func (o *Observations[T]) Latest() int64 { return o.latest }

// With returns the observations with a batch of the same family.
func (o *Observations[T]) With(b Batch) AnyObservations {
	added := b.(*batch[T]).observed
	if len(added) == 0 {
		return o
	}
	next := &Observations[T]{all: o.all.With(added), at: o.at, slot: o.slot, latest: o.latest, models: new(sync.Map)}
	for i := range added {
		next.latest = max(next.latest, o.at(&added[i]))
	}
	return next
}

// WithoutModels returns the same observations with no model built yet.
func (o *Observations[T]) WithoutModels() AnyObservations {
	next := *o
	next.models = new(sync.Map)
	return &next
}

// Received returns when the newest observation known at a moment was received, or 0 if there was none.
func (o *Observations[T]) Received(moment int64) int64 {
	i := o.Count(moment)
	if i == 0 {
		return 0
	}
	return o.all.Items()[i-1].Received
}

// Count returns how many observations were known at a moment, all revisions included.
func (o *Observations[T]) Count(moment int64) int {
	items := o.all.Items()
	return sort.Search(len(items), func(i int) bool { return items[i].Received > moment })
}

// Current returns what build makes of all observations that count. It is built only once: for one name, the settlement
// and build must always be the same.
func Current[T, M any](o *Observations[T], name string, s Settlement, build func([]assay.Observed[T]) M) M {
	built, ok := o.models.Load(name)
	if !ok {
		built, _ = o.models.LoadOrStore(name, sync.OnceValue(func() M { return build(o.Known(math.MaxInt64, s)) }))
	}
	return built.(func() M)()
}
