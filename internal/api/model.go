package api

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/cache"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/web"
)

// modelKind is one kind of model: what the API makes of a family's observations to serve requests from. There is one
// model of all observations, built before the snapshot is swapped in, and for as_of one of those known at a moment.
type modelKind[T, M any] struct {
	name   string
	family *family.Definition[T]
	build  func(a *API, snap *snapshot.Snapshot, known knownRows[T]) M
	size   func(M) int // in bytes, roughly
}

// current returns the model of all observations.
func (k *modelKind[T, M]) current(a *API, snap *snapshot.Snapshot) M {
	observations, settlement := k.family.In(&snap.Observations), a.settlement(snap, k.family.Family)
	return family.Current(observations, k.name, settlement, func(known []assay.Observed[T]) M {
		return k.build(a, snap, knownRows[T]{known, observations.Changed(math.MaxInt64, settlement)})
	})
}

// knownRows are the observations that a model is made of, and when they changed last: two models of the same kind and
// instant are equal.
type knownRows[T any] struct {
	rows    []assay.Observed[T]
	changed int64
}

// settlement says which observations of a family count.
func (a *API) settlement(snap *snapshot.Snapshot, f assay.Family) (s family.Settlement) {
	schedule := a.schedule(snap)
	if !schedule.Settles() {
		return s
	}
	s.After = schedule.SettleAfter
	for _, r := range snap.Restatements {
		if r.Family == f {
			s.Restated = append(s.Restated, r)
		}
	}
	return s
}

// changed is when what counts of a family changed last, as of the requested moment.
func (k *modelKind[T, M]) changed(q *query) int64 {
	return k.family.In(&q.snap.Observations).Changed(q.known(), q.api.settlement(q.snap, k.family.Family))
}

// of returns the model of what was known at the requested moment.
func (k *modelKind[T, M]) of(q *query) (model M, err error) {
	observations, settlement := k.family.In(&q.snap.Observations), q.api.settlement(q.snap, k.family.Family)
	changed := observations.Changed(q.known(), settlement)
	if changed == observations.Changed(math.MaxInt64, settlement) {
		return k.current(q.api, q.snap), nil
	}
	key := pastKey{k.name, changed, q.snap.CatalogVersion, keyOfSchedule(q.snap)}
	count := func() int { return observations.Count(changed) }
	past, err := q.pastModel(key, count, func() pastModel {
		m := k.build(q.api, q.snap, knownRows[T]{observations.Known(changed, settlement), changed})
		return pastModel{m, k.size(m)}
	})
	if err != nil {
		return model, err
	}
	return past.model.(M), nil
}

// Building a model of a past moment can take thousands of times the work of any other read, and anyone may request one
// for each of many moments. So few are built at a time and others wait a little; those used last are kept; and a
// request that needs a new one counts as several, the more the larger the model.
const (
	maxPastBytes  = 64 << 20
	maxPastModels = 256
	maxPastQueue  = 32 // requests that wait
	maxPastWait   = 2 * time.Second

	observationsPerRequest = 2000 // how many are worth one more request
	maxPastCost            = 10   // requests
)

// pastKey identifies a model of a past moment: by what was known, and by what else it is made from.
type pastKey struct {
	name     string
	changed  int64 // when what counted then had changed last
	catalog  int64
	schedule scheduleKey
}

type pastModel struct {
	model any
	size  int
}

// pastModels holds the models of past moments of all families.
type pastModels struct {
	models   *cache.Cache[pastKey, pastModel]
	waiting  chan struct{} // has an entry for each request that waits or builds
	building chan struct{} // has an entry for each model that is being built
}

func newPastModels() *pastModels {
	limits := cache.Limits[pastModel]{
		Entries: maxPastModels, Bytes: maxPastBytes, Size: func(m pastModel) int { return m.size },
	}
	// Half of the cores stay free for other requests.
	builders := max(1, min(2, runtime.GOMAXPROCS(0)/2))
	return &pastModels{
		models:   cache.New[pastKey](limits),
		waiting:  make(chan struct{}, maxPastQueue+builders),
		building: make(chan struct{}, builders),
	}
}

// pastModel returns a model of a past moment, and builds it from so many observations if necessary.
func (q *query) pastModel(key pastKey, observations func() int, build func() pastModel) (pastModel, error) {
	past := q.api.past
	if !past.models.Has(key) {
		if more := min(observations()/observationsPerRequest, maxPastCost-1); more > 0 {
			if err := q.CountMore(more); err != nil {
				return pastModel{}, err
			}
		}
	}
	return past.models.Try(key, func() (pastModel, error) { return past.build(build) })
}

var errPastBusy = &assay.Error{
	Kind: assay.Unavailable, Code: "busy", RetryAfter: maxPastWait,
	Message: fmt.Sprintf("Too many requests for data of the past are waiting. Retry in %d seconds.",
		web.Seconds(maxPastWait)),
}

// build builds a model when few others are being built.
func (p *pastModels) build(build func() pastModel) (model pastModel, err error) {
	select {
	case p.waiting <- struct{}{}:
		defer func() { <-p.waiting }()
	default:
		return model, errPastBusy
	}
	patience := time.NewTimer(maxPastWait)
	defer patience.Stop()
	select {
	case p.building <- struct{}{}:
		defer func() { <-p.building }()
	case <-patience.C:
		return model, errPastBusy
	}
	return build(), nil
}

// sizeOf is how many bytes n values of a type take, without what they point to.
func sizeOf[T any](n int) int { return n * int(reflect.TypeFor[T]().Size()) }
