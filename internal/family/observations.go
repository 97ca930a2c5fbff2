package family

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/appendonly"
	"github.com/assaydata/assay/internal/cache"
)

// Observations holds every observation received of one family, in the order of receipt, and the models built from them.
// It is immutable.
type Observations[T any] struct {
	all    appendonly.List[assay.Observed[T]]
	at     func(*assay.Observed[T]) int64
	latest int64
	models *models
}

// AnyObservations is Observations without its type parameter.
type AnyObservations interface {
	// Latest returns the newest instant that an observation is about, or 0 without any.
	Latest() int64
	// With returns the observations with a batch of the same family, received later than all before.
	With(b Batch) AnyObservations
	// WithoutModels returns the same observations with no model built yet.
	WithoutModels() AnyObservations
}

// Set holds the observations of every family.
type Set [assay.NumFamilies]AnyObservations

// In returns the family's observations in a set.
func (d *Definition[T]) In(s *Set) *Observations[T] { return s[d.Family].(*Observations[T]) }

// NoObservations returns the family's observations before the first one.
func (d *Definition[T]) NoObservations() AnyObservations {
	return &Observations[T]{at: d.At, models: newModels()}
}

// models holds what was built from the observations of a family: the current model, and those of a few past moments by
// the newest receipt they were built from. Requests for past moments never displace the current model.
type models struct {
	once    sync.Once
	current any
	past    *cache.Cache[int64, any]
}

// maxPastModels is how many models of past moments stay in memory.
const maxPastModels = 8

func newModels() *models {
	return &models{past: cache.New[int64](cache.Limits[any]{Entries: maxPastModels})}
}

// Latest returns the newest instant that an observation is about, or 0 without any.
func (o *Observations[T]) Latest() int64 { return o.latest }

// With returns the observations with a batch of the same family.
func (o *Observations[T]) With(b Batch) AnyObservations {
	added := b.(*batch[T]).observed
	if len(added) == 0 {
		return o
	}
	next := &Observations[T]{all: o.all.With(added), at: o.at, latest: o.latest, models: newModels()}
	for i := range added {
		next.latest = max(next.latest, o.at(&added[i]))
	}
	return next
}

// WithoutModels returns the same observations with no model built yet.
func (o *Observations[T]) WithoutModels() AnyObservations {
	next := *o
	next.models = newModels()
	return &next
}

// Received returns when the newest observation known at a moment was received, or 0 if there was none.
func (o *Observations[T]) Received(moment int64) int64 {
	i := o.known(moment)
	if i == 0 {
		return 0
	}
	return o.all.Items()[i-1].Received
}

// known returns how many observations were known at a moment.
func (o *Observations[T]) known(moment int64) int {
	items := o.all.Items()
	return sort.Search(len(items), func(i int) bool { return items[i].Received > moment })
}

// Known returns the newest revision of every observation known at a moment, in the order of their keys.
func (o *Observations[T]) Known(moment int64) []assay.Observed[T] {
	positions := map[string]int{}
	var known []assay.Observed[T]
	for _, observed := range o.all.Items()[:o.known(moment)] {
		if i, ok := positions[observed.Key]; ok {
			known[i] = observed
		} else {
			positions[observed.Key] = len(known)
			known = append(known, observed)
		}
	}
	slices.SortFunc(known, func(a, b assay.Observed[T]) int { return cmp.Compare(a.Key, b.Key) })
	return known
}

// Model returns what build makes of the observations known at a moment, and builds it only once. A family has one type
// of model, so build is always the same function.
func Model[T, M any](o *Observations[T], moment int64, build func([]assay.Observed[T]) M) M {
	received := o.Received(moment)
	if received < o.Received(math.MaxInt64) {
		return o.models.past.Get(received, func() any { return build(o.Known(received)) }).(M)
	}
	o.models.once.Do(func() { o.models.current = build(o.Known(received)) })
	return o.models.current.(M)
}
