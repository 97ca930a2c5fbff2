package snapshot

import (
	"math"
	"slices"
	"testing"

	"github.com/assaydata/assay"
)

func observed(key string, revision int, received int64, value int) assay.Observed[int] {
	return assay.Observed[int]{Value: value, Key: key, Revision: revision, Received: received}
}

func receivedAt(o *assay.Observed[int]) int64 { return o.Received }

func TestObservations_AtAnyMoment(t *testing.T) {
	o := newObservations(receivedAt).with([]assay.Observed[int]{observed("b", 0, 10, 1), observed("a", 0, 10, 2)})
	later := o.with([]assay.Observed[int]{observed("b", 1, 20, 3), observed("c", 0, 20, 4)})
	f := func(o Observations[int], moment, received int64, want ...int) {
		t.Helper()
		builds := 0
		for range 3 {
			got := Model(&o, moment, func(known []assay.Observed[int]) []int {
				builds++
				var values []int
				for _, k := range known {
					values = append(values, k.Value)
				}
				return values
			})
			if !slices.Equal(got, want) || o.Received(moment) != received {
				t.Errorf("at %d the model is %v of receipt %d, want %v of %d", moment, got, o.Received(moment), want, received)
			}
		}
		if builds > 1 {
			t.Errorf("at %d the model was made %d times", moment, builds)
		}
	}
	f(o, 9, 0)
	f(o, 10, 10, 2, 1)
	f(o, math.MaxInt64, 10, 2, 1)
	f(later, 19, 10, 2, 1)
	f(later, 20, 20, 2, 3, 4)
	f(later, math.MaxInt64, 20, 2, 3, 4)
	f(newObservations(receivedAt), 5, 0)
	if o.Latest() != 10 || later.Latest() != 20 {
		t.Errorf("the latest are of %d and %d, want 10 and 20", o.Latest(), later.Latest())
	}
}

// Whoever asks for many past moments fills no memory, and the model of now stays.
func TestObservations_PastIsBounded(t *testing.T) {
	o := newObservations(receivedAt)
	for i := range int64(100) {
		o = o.with([]assay.Observed[int]{observed("a", int(i), i+1, int(i))})
	}
	builds := 0
	build := func(known []assay.Observed[int]) int { builds++; return len(known) }
	Model(&o, math.MaxInt64, build)
	for i := range int64(100) {
		Model(&o, i, build)
	}
	if n := len(o.models.made); n > pastModels+1 {
		t.Errorf("%d models are kept, want at most %d", n, pastModels+1)
	}
	if before := builds; Model(&o, math.MaxInt64, build) != 1 || builds != before {
		t.Error("the model of now was made again")
	}
}
