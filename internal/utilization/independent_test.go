package utilization

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/index/indextest"
)

// This test computes the utilization again, from its definition: instant by instant, over all readings, with rational
// numbers. It shares no code with the package.

// otherwise is what the values follow from.
type otherwise struct {
	readings []assay.UtilizationReading // in the order of receipt
	after    int64                      // until an instant is final
	age      int64                      // how long a reading counts
	restated assay.Restatement
}

// counts says from when on a reading does: late if its model was read, then or later, so long before.
func (o *otherwise) counts(r *assay.UtilizationReading) (at int64, ok bool) {
	for i := range o.readings {
		q := &o.readings[i]
		if q.At >= r.At && q.Received+o.after <= r.Received {
			restated := r.Received <= o.restated.At && r.At >= o.restated.From && r.At < o.restated.To
			return o.restated.At, restated
		}
	}
	return r.Received, true
}

// known are the readings of a line that count at a moment.
func (o *otherwise) known(region string, moment int64) (list []assay.UtilizationReading) {
	for i := range o.readings {
		r := o.readings[i]
		if at, ok := o.counts(&r); ok && at <= moment && (region == assay.Global || r.Region == region) {
			list = append(list, r)
		}
	}
	return list
}

// share is the share at an instant.
func (o *otherwise) share(known []assay.UtilizationReading, at int64) *big.Rat {
	last := map[feed]assay.UtilizationReading{}
	regions := map[string]bool{}
	for _, r := range known {
		if r.At > at || at-r.At > o.age {
			continue
		}
		if before, ok := last[feed{r.Source, r.Region}]; !ok || r.At > before.At || r.At == before.At &&
			r.Revision > before.Revision {
			last[feed{r.Source, r.Region}] = r
		}
		regions[r.Source] = regions[r.Source] || r.Region != ""
	}
	rented, tracked := int64(0), int64(0)
	for f, r := range last {
		if f.region != "" || !regions[f.source] {
			rented, tracked = rented+r.Rented, tracked+r.Tracked
		}
	}
	return big.NewRat(rented, tracked)
}

// ratios are the utilization of periods, in millionths.
func (o *otherwise) ratios(region string, moment, step int64) map[int64]int64 {
	known := o.known(region, moment)
	instants := map[int64][]int64{}
	for _, r := range known {
		if begins := r.At / step * step; !slices.Contains(instants[begins], r.At) {
			instants[begins] = append(instants[begins], r.At)
		}
	}
	ratios := map[int64]int64{}
	for begins, list := range instants {
		sum := new(big.Rat)
		for _, at := range list {
			sum.Add(sum, o.share(known, at))
		}
		ratios[begins] = indextest.HalfEven(sum.Mul(sum, big.NewRat(1_000_000, int64(len(list)))))
	}
	return ratios
}

func TestPeriods_ComputedOtherwise(t *testing.T) {
	t.Parallel()
	values := 100_000
	if testing.Short() {
		values = 10_000
	}
	rng := rand.New(rand.NewPCG(7, 8))
	for compared := 0; compared < values; {
		o := otherwise{after: assay.Day, age: assay.Hour * rng.Int64N(30)}
		revisions := map[string]int{}
		received := int64(100 * assay.Day)
		for range 80 {
			received += rng.Int64N(3 * assay.Hour)
			r := assay.UtilizationReading{
				Source: []string{"exchange", "broker"}[rng.IntN(2)], Region: []string{"", region, "us-west"}[rng.IntN(3)],
				GPU: gpu, At: received - rng.Int64N(30)*20*assay.Minute, Tracked: 1 + rng.Int64N(1<<rng.IntN(30)),
				Received: received,
			}
			if rng.IntN(8) == 0 && len(o.readings) > 0 { // another revision, or one long after
				old := o.readings[rng.IntN(len(o.readings))]
				r.Source, r.Region, r.At = old.Source, old.Region, old.At
			}
			r.Rented = rng.Int64N(r.Tracked + 1)
			r.Revision = revisions[r.Key()]
			revisions[r.Key()]++
			o.readings = append(o.readings, r)
			received++
		}
		o.restated = assay.Restatement{From: 101 * assay.Day, To: 103 * assay.Day, At: received - assay.Day}
		compared += o.compare(t, rng)
		if t.Failed() {
			return
		}
	}
}

// compare compares the periods of all lines at some moments, and returns how many.
func (o *otherwise) compare(t *testing.T, rng *rand.Rand) (compared int) {
	t.Helper()
	settler := NewSettler(family.Settlement{After: func(int64) int64 { return o.after }})
	half := slices.IndexFunc(o.readings, func(r assay.UtilizationReading) bool { return r.Received > o.restated.At })
	lines := Lines{}.With(settler.Settle(slices.Clone(o.readings[:half])))
	lines = lines.With(settler.Restate([]assay.Restatement{o.restated}))
	lines = lines.With(settler.Settle(slices.Clone(o.readings[half:])))
	carry := func(int64) int64 { return o.age }
	first, last := o.readings[0].Received, o.readings[len(o.readings)-1].Received
	for _, moment := range []int64{first + rng.Int64N(last-first), o.restated.At - 1, last} {
		for _, r := range []string{assay.Global, region, "us-west"} {
			for _, step := range []int64{assay.Day, assay.Hour} {
				want := o.ratios(r, moment, step)
				got := Periods(lines.Capacities(line(r), 0, last, moment, carry), step)
				if len(got) != len(want) {
					t.Fatalf("%s at %d: %d periods, want %d", r, moment, len(got), len(want))
				}
				for _, p := range got {
					if int64(p.Ratio) != 1000*want[p.Begins] {
						t.Fatalf("%s at %d, the period of %d is %s, want %d millionths", r, moment, p.Begins, p.Ratio, want[p.Begins])
					}
				}
				compared += len(got)
			}
		}
	}
	return compared
}
