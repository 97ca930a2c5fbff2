package snapshot

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"github.com/assaydata/assay"
)

// Observations are everything that was received of a family, in the order of receipt, with what is made of it.
type Observations[T any] struct {
	all    list[assay.Observed[T]]
	about  func(*assay.Observed[T]) int64 // the instant that an observation is about
	latest int64
	models *models
}

// models are what was made of the observations of a family, by the newest receipt they were made of. Those of now are kept
// for good; of past moments a few are.
type models struct {
	mu   sync.Mutex
	made map[int64]*model
	past []int64 // in the order of their making
}

type model struct {
	once  sync.Once
	value any
}

// pastModels is how many models of past moments are kept.
const pastModels = 8

func newObservations[T any](about func(*assay.Observed[T]) int64) Observations[T] {
	return Observations[T]{about: about, models: newModels()}
}

func newModels() *models { return &models{made: map[int64]*model{}} }

// Latest is the newest instant that an observation is about; 0 without any.
func (o *Observations[T]) Latest() int64 { return o.latest }

// with adds observations that were received later than all that are there.
func (o Observations[T]) with(added []assay.Observed[T]) Observations[T] {
	if len(added) == 0 {
		return o
	}
	o.all, o.models = o.all.with(added), newModels()
	for i := range added {
		o.latest = max(o.latest, o.about(&added[i]))
	}
	return o
}

// unmade is the same observations with nothing made of them yet.
func (o Observations[T]) unmade() Observations[T] {
	o.models = newModels()
	return o
}

// Received is when the newest observation came that was known at a moment; 0 when there was none.
func (o *Observations[T]) Received(moment int64) int64 {
	i := o.known(moment)
	if i == 0 {
		return 0
	}
	return o.all.items[i-1].Received
}

// known is how many observations were known at a moment.
func (o *Observations[T]) known(moment int64) int {
	return sort.Search(len(o.all.items), func(i int) bool { return o.all.items[i].Received > moment })
}

// Known gives the newest revision of every observation that was known at a moment, in the order of their keys.
func (o *Observations[T]) Known(moment int64) []assay.Observed[T] {
	places := map[string]int{}
	var known []assay.Observed[T]
	for _, observed := range o.all.items[:o.known(moment)] {
		if place, ok := places[observed.Key]; ok {
			known[place] = observed
		} else {
			places[observed.Key] = len(known)
			known = append(known, observed)
		}
	}
	slices.SortFunc(known, func(a, b assay.Observed[T]) int { return cmp.Compare(a.Key, b.Key) })
	return known
}

// Model gives what build makes of the observations that were known at a moment, making it once. A family has one kind of
// model, so build is always the same.
func Model[T, M any](o *Observations[T], moment int64, build func([]assay.Observed[T]) M) M {
	received := o.Received(moment)
	m := o.models.at(received, received == o.Received(1<<62))
	m.once.Do(func() { m.value = build(o.Known(received)) })
	return m.value.(M)
}

// at gives the place of a model.
func (m *models) at(received int64, newest bool) *model {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.made[received]
	if found == nil {
		found = &model{}
		m.made[received] = found
		if !newest {
			m.past = append(m.past, received)
			if len(m.past) > pastModels {
				delete(m.made, m.past[0])
				m.past = m.past[1:]
			}
		}
	}
	return found
}
