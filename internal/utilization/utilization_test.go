package utilization

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assaydata/assay"
)

const region = "us-east"

// line is a line of the GPU model of the tests.
func line(region string) assay.Line { return assay.Line{GPU: gpu, Region: region} }

func TestCapacities(t *testing.T) {
	t.Parallel()
	s := Lines{}.With([]assay.UtilizationReading{
		{Source: "a", At: 100, GPU: gpu, Region: region, Rented: 1, Tracked: 2, Received: 110},
		{Source: "b", At: 100, GPU: gpu, Region: region, Rented: 3, Tracked: 4, Received: 150},
		{Source: "a", At: 100, GPU: gpu, Region: "us-west", Rented: 5, Tracked: 10, Received: 110},
		{Source: "c", At: 200, GPU: gpu, Rented: 0, Tracked: 10, Received: 210},
		{Source: "c", At: 200, GPU: "gone", Region: "mars", Rented: 1, Tracked: 1, Received: 210},
	})
	old := s
	s = s.With([]assay.UtilizationReading{
		{Source: "d", At: 150, GPU: gpu, Region: region, Rented: 7, Tracked: 7, Received: 300},
	})
	f := func(s Lines, region string, from, to, known int64, want ...Capacity) {
		t.Helper()
		if got := slices.Collect(s.Capacities(line(region), from, to, known, nil)); !slices.Equal(got, want) {
			t.Errorf("%s [%d, %d] known at %d: got %v, want %v", region, from, to, known, got, want)
		}
	}
	f(s, assay.Global, math.MinInt64, math.MaxInt64, math.MaxInt64, Capacity{100, 9, 16, 150},
		Capacity{150, 7, 7, 300}, Capacity{200, 0, 10, 210})
	f(s, assay.Global, 100, 150, 300, Capacity{100, 9, 16, 150}, Capacity{150, 7, 7, 300})
	f(s, assay.Global, 101, 149, 300)
	f(s, assay.Global, 0, 999, 110, Capacity{100, 6, 12, 110})
	f(s, assay.Global, 0, 999, 299, Capacity{100, 9, 16, 150}, Capacity{200, 0, 10, 210})
	f(s, assay.Global, 0, 999, 109)
	f(s, region, 0, 999, 999, Capacity{100, 4, 6, 150}, Capacity{150, 7, 7, 300})
	f(s, "us-west", 0, 999, 999, Capacity{100, 5, 10, 110})
	f(s, "eu-west", 0, 999, 999)
	f(old, assay.Global, 0, 999, 999, Capacity{100, 9, 16, 150}, Capacity{200, 0, 10, 210})
	for u := range s.Capacities(line(assay.Global), 0, 999, 999, nil) {
		if u.At != 100 {
			t.Error("it yields more to a reader that has stopped")
		}
		break
	}
}

// A reading counts until its feed reports again, or the limit has passed, and no capacity counts twice.
func TestCapacities_Carried(t *testing.T) {
	t.Parallel()
	const limit = 100
	s := Lines{}.With([]assay.UtilizationReading{
		// A large region is full, and five seconds later a small one is empty.
		{Source: "a", At: 1000, GPU: gpu, Region: region, Rented: 1000, Tracked: 1000, Received: 1001},
		{Source: "a", At: 1005, GPU: gpu, Region: "us-west", Rented: 0, Tracked: 10, Received: 1006},
		// The same source reports everything as well: that is not more capacity.
		{Source: "a", At: 1006, GPU: gpu, Rented: 1000, Tracked: 1010, Received: 1007},
		{Source: "b", At: 1050, GPU: gpu, Rented: 45, Tracked: 90, Received: 1051},
		// The large region reports again after the limit has passed for the small one.
		{Source: "a", At: 1110, GPU: gpu, Region: region, Rented: 500, Tracked: 1000, Received: 1111},
		{Source: "b", At: 1300, GPU: gpu, Rented: 9, Tracked: 90, Received: 1301},
	})
	f := func(region string, from, known int64, want ...Capacity) {
		t.Helper()
		got := slices.Collect(s.Capacities(line(region), from, 9999, known, func(int64) int64 { return limit }))
		if !slices.Equal(got, want) {
			t.Errorf("%s from %d, known at %d: got %v, want %v", region, from, known, got, want)
		}
	}
	f(assay.Global, 0, 9999, Capacity{1000, 1000, 1000, 1001}, Capacity{1005, 1000, 1010, 1006},
		Capacity{1006, 1000, 1010, 1006}, Capacity{1050, 1045, 1100, 1051}, Capacity{1110, 545, 1090, 1111},
		Capacity{1300, 9, 90, 1301})
	f(assay.Global, 1050, 1051, Capacity{1050, 1045, 1100, 1051}) // what came before counts
	f(assay.Global, 1050, 1006)                                   // nothing was known of then
	f("us-west", 0, 9999, Capacity{1005, 0, 10, 1006})
	f(region, 0, 9999, Capacity{1000, 1000, 1000, 1001}, Capacity{1110, 500, 1000, 1111})
}

// TestCapacities_InWhateverPortions: how readings come does not matter.
func TestCapacities_InWhateverPortions(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 4))
	all := make([]assay.UtilizationReading, 300)
	for i := range all {
		all[i] = assay.UtilizationReading{
			Source: fmt.Sprint(i), At: rng.Int64N(50), GPU: gpu, Region: []string{"", region, "us-west"}[rng.IntN(3)],
			Rented: rng.Int64N(9), Tracked: 9, Received: rng.Int64N(100),
		}
	}
	whole := Lines{}.With(all)
	parts := Lines{}
	for _, i := range rng.Perm(len(all)) {
		parts = parts.With(all[i : i+1])
	}
	for known := int64(0); known <= 100; known += 10 {
		carry := Carry(nil)
		if known%20 == 0 {
			carry = func(int64) int64 { return 7 }
		}
		for _, r := range []string{assay.Global, region} {
			one := slices.Collect(whole.Capacities(line(r), 0, 99, known, carry))
			two := slices.Collect(parts.Capacities(line(r), 0, 99, known, carry))
			if !slices.Equal(one, two) {
				t.Fatalf("%s known at %d: %v and %v", r, known, one, two)
			}
		}
	}
}
