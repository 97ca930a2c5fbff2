package index

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assaydata/assay"
)

// dollars reads prices as people write them.
func dollars(t *testing.T, texts ...string) (values []assay.Nanos) {
	t.Helper()
	for _, text := range texts {
		n, err := assay.ParseDecimal(text, 9)
		if err != nil {
			t.Fatalf("%s %v", text, err)
		}
		values = append(values, assay.Nanos(n))
	}
	return values
}

func TestMean(t *testing.T) {
	f := func(want string, values ...string) {
		t.Helper()
		if got := Plain().Mean(dollars(t, values...)).String(); got != want {
			t.Errorf("mean of %v: got %s, want %s", values, got, want)
		}
	}
	f("2", "2")
	f("2.5", "2", "3")
	f("1.3333", "1", "1", "2")
	f("1.6667", "1", "2", "2")
	f("2", "2", "2.0001")           // the middle goes down to the even digit
	f("2.0002", "2.0001", "2.0002") // and up to it
}

func TestMean_AgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	m := Plain()
	for i := range 2000 {
		m.Decimals = i % 10
		values := make([]assay.Nanos, 1+rng.IntN(30))
		total := new(big.Rat)
		for j := range values {
			values[j] = assay.Nanos(rng.Int64() >> (3 + rng.IntN(60))) // large enough to pass 64 bits in the sum
			total.Add(total, big.NewRat(int64(values[j]), 1))
		}
		want := slowRound(total.Quo(total, big.NewRat(int64(len(values)), 1)), assay.Unit(m.Decimals))
		if got := m.Mean(values); got != want {
			t.Fatalf("mean of %v to %d decimals: got %s, want %s", values, m.Decimals, got, want)
		}
	}
}

func TestDescribe(t *testing.T) {
	f := func(lowest, highest, deviation string, values ...string) {
		t.Helper()
		want := dollars(t, lowest, highest, deviation)
		got := Describe(dollars(t, values...))
		if got != (Stats{want[0], want[1], want[2], len(values)}) {
			t.Errorf("%v: got %+v, want %v", values, got, want)
		}
	}
	f("0", "0", "0")
	f("2.35", "2.35", "0", "2.35")
	f("2", "9", "2", "2", "4", "4", "4", "5", "5", "7", "9")
	f("1", "2", "0.5", "1", "2")
	f("1", "3", "0.816497", "3", "1", "2") // √(2/3)
	// A small spread far from zero, where squares of the values themselves would drown it.
	f("999999.9999", "1000000", "0.00005", "999999.9999", "1000000")
	// The middle of two millionths goes to the even one.
	f("1", "1.000001", "0", "1", "1.000001")
	f("1", "1.000003", "0.000002", "1", "1.000003")
}

// naiveDeviation is the standard deviation as a textbook computes it: the mean first, then the distances from it.
func naiveDeviation(values []assay.Nanos) float64 {
	var sum, squares float64
	for _, v := range values {
		sum += v.Float()
	}
	mean := sum / float64(len(values))
	for _, v := range values {
		squares += (v.Float() - mean) * (v.Float() - mean)
	}
	return math.Sqrt(squares / float64(len(values)))
}

func TestDescribe_AgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 2))
	for range 2000 {
		values := make([]assay.Nanos, 1+rng.IntN(25))
		level, spread := rng.Int64N(100*int64(assay.One)), 1+rng.Int64N(int64(assay.One))
		for i := range values {
			values[i] = assay.Nanos(level + rng.Int64N(spread))
		}
		got := Describe(values)
		if got.Min != slices.Min(values) || got.Max != slices.Max(values) || got.Samples != len(values) || got.StdDev%1000 != 0 {
			t.Fatalf("%v: got %+v", values, got)
		}
		if want := naiveDeviation(values); math.Abs(got.StdDev.Float()-want) > 0.5e-6+1e-10 {
			t.Fatalf("%v: got the deviation %s, want %.9f", values, got.StdDev, want)
		}
	}
}

func TestChangePct(t *testing.T) {
	f := func(now, before, want string) {
		t.Helper()
		v := dollars(t, now, before)
		if got := ChangePct(v[0], v[1]).String(); got != want {
			t.Errorf("from %s to %s: got %s, want %s", before, now, got, want)
		}
	}
	f("2", "2", "0")
	f("2.2", "2", "10")
	f("1.8", "2", "-10")
	f("6", "2", "200")
	f("1", "3", "-66.6667")
	f("4", "3", "33.3333")
	f("2.3514", "2.3471", "0.1832")
	f("900000", "0.01", "8999999900")
	// In the middle of two ten-thousandths, up and down.
	f("200.0001", "200", "0")
	f("200.0003", "200", "0.0002")
	f("199.9999", "200", "0")
	f("199.9997", "200", "-0.0002")
}
