package family

import (
	"math"
	"slices"
	"testing"

	"github.com/assaydata/assay"
)

// numbers is a family of plain numbers.
var numbers = &Definition[int]{At: func(o *assay.Observed[int]) int64 { return o.Received }}

func observed(key string, revision int, received int64, value int) assay.Observed[int] {
	return assay.Observed[int]{Value: value, Key: key, Revision: revision, Received: received}
}

// with returns the observations with more of them.
func with(o *Observations[int], added ...assay.Observed[int]) *Observations[int] {
	return o.With(numbers.BatchOf(added...)).(*Observations[int])
}

func none() *Observations[int] { return numbers.NoObservations().(*Observations[int]) }

func TestObservations_AtAnyMoment(t *testing.T) {
	t.Parallel()
	first := with(none(), observed("b", 0, 10, 1), observed("a", 0, 10, 2))
	later := with(first, observed("b", 1, 20, 3), observed("c", 0, 20, 4))
	f := func(o *Observations[int], moment, received int64, want ...int) {
		t.Helper()
		var got []int
		for _, k := range o.Known(moment, Settlement{}) {
			got = append(got, k.Value)
		}
		if !slices.Equal(got, want) || o.Received(moment) != received {
			t.Errorf("at %d are known %v of receipt %d, want %v of %d", moment, got, o.Received(moment), want, received)
		}
	}
	f(first, 9, 0)
	f(first, 10, 10, 2, 1)
	f(first, math.MaxInt64, 10, 2, 1)
	f(later, 19, 10, 2, 1)
	f(later, 20, 20, 2, 3, 4)
	f(later, math.MaxInt64, 20, 2, 3, 4)
	f(none(), 5, 0)
	if first.Latest() != 10 || later.Latest() != 20 {
		t.Errorf("the latest are of %d and %d, want 10 and 20", first.Latest(), later.Latest())
	}
}

// A model is built once from all observations, and again when there are more.
func TestCurrent_BuildsOnce(t *testing.T) {
	t.Parallel()
	o := with(none(), observed("a", 0, 10, 1))
	builds := 0
	build := func(known []assay.Observed[int]) int { builds++; return len(known) }
	for range 3 {
		if got := Current(o, "length", Settlement{}, build); got != 1 || builds != 1 {
			t.Errorf("the model is %d after %d builds, want 1 and 1", got, builds)
		}
	}
	if got := Current(o, "words", Settlement{}, func([]assay.Observed[int]) string { return "one" }); got != "one" {
		t.Errorf("the model of another name is %q", got)
	}
	if got := Current(with(o, observed("b", 0, 20, 2)), "length", Settlement{}, build); got != 2 || builds != 2 {
		t.Errorf("with one more the model is %d after %d builds, want 2 and 2", got, builds)
	}
}

func TestObservations_WithoutModels(t *testing.T) {
	t.Parallel()
	o := with(none(), observed("a", 0, 10, 1))
	builds := 0
	build := func([]assay.Observed[int]) int { builds++; return builds }
	Current(o, "model", Settlement{}, build)
	again := o.WithoutModels().(*Observations[int])
	if got := Current(again, "model", Settlement{}, build); got != 2 || again.Latest() != 10 {
		t.Errorf("the model is that of build %d and the latest %d, want 2 and 10", got, again.Latest())
	}
}

func TestBatch_Add(t *testing.T) {
	t.Parallel()
	b := numbers.NewBatch()
	if err := b.Add("a", []byte("7"), 2, 30); err != nil {
		t.Fatal(err)
	}
	if err := b.Add("b", []byte(`"x"`), 0, 30); err == nil {
		t.Error("a text was decoded as a number")
	}
	o := none().With(b).(*Observations[int])
	want := []assay.Observed[int]{observed("a", 2, 30, 7)}
	if known := o.Known(math.MaxInt64, Settlement{}); !slices.Equal(known, want) {
		t.Errorf("the observations are %+v", known)
	}
}
