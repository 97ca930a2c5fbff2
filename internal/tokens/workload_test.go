package tokens

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
)

// randomUse is some weeks of a few labs and models that come and go, with holes, extreme numbers and free models.
func randomUse(rng *rand.Rand, price func(model int) int64) (known []assay.Observed[assay.ModelDay]) {
	for d := range int64(40) {
		for lab := range 2 {
			for model := range 5 {
				if rng.IntN(3) == 0 || d > 15 && d < 24 {
					continue
				}
				m := assay.ModelDay{
					Day: d * assay.Day, Lab: labs()[lab].Lab, Model: fmt.Sprint("m", model), Family: fmt.Sprint("f", model%2),
					Requests: 1 + scaled(rng, 6), InputTokens: 1 + scaled(rng, 10), OutputTokens: scaled(rng, 9),
				}
				m.Dollars = assay.Nanos((m.InputTokens + m.OutputTokens) * price(model))
				m.Free = m.Dollars == 0
				known = append(known, assay.Observed[assay.ModelDay]{Value: m, Key: m.Key(), Received: rng.Int64N(1000)})
			}
		}
	}
	return known
}

// scaled is a number of up to so many digits, each number of digits as likely as the others.
func scaled(rng *rand.Rand, digits int) int64 {
	return rng.Int64N(int64(math.Pow10(1 + rng.IntN(digits))))
}

func TestCosts_EffectsAddUp(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		known := randomUse(rng, func(int) int64 { return scaled(rng, 5) })
		last := map[string]Cost{}
		for _, c := range Costs(known, labs()) {
			name := c.Lab + " " + c.Family
			before, ok := last[name]
			last[name] = c
			if c.Index < 0 || c.Cents < 0 || c.Ktok < 0 {
				t.Fatalf("%+v", c)
			}
			if !ok {
				if c.Index != 100*assay.One || c.Price != 0 || c.Intensity != 0 || c.Mix != 0 {
					t.Fatalf("the first day is %+v", c)
				}
				continue
			}
			if c.Price+c.Intensity+c.Mix != c.Cents-before.Cents {
				t.Fatalf("%v + %v + %v is not %v - %v", c.Price, c.Intensity, c.Mix, c.Cents, before.Cents)
			}
		}
	}
}

// The effects add up before any rounding, and the rest that goes to the largest is a matter of rounding only.
func TestDecompose(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		before, now := make([]use, 6), make([]use, 6)
		for _, side := range [][]use{before, now} {
			for i := range side {
				if rng.IntN(4) > 0 {
					side[i] = use{1 + scaled(rng, 5), 1 + scaled(rng, 8), scaled(rng, 12)}
				}
			}
			side[0].requests++
		}
		from, _ := average(before)
		to, _ := average(now)
		e := decompose(before, now)
		size := math.Abs(e.price) + math.Abs(e.intensity) + math.Abs(e.mix)
		if off := math.Abs(e.price + e.intensity + e.mix - (to - from).Float()); off > 1e-9+1e-13*size {
			t.Fatalf("%+v is not %v", e, to-from)
		}
		if math.IsNaN(e.logPrice) || math.IsInf(e.logPrice, 0) || math.Signbit(e.logPrice) != math.Signbit(e.price) {
			t.Fatalf("%+v moves the index the other way", e)
		}
		var c Cost
		c.setEffects(e, to-from)
		for _, pair := range [][2]float64{
			{c.Price.Float(), e.price},
			{c.Intensity.Float(), e.intensity},
			{c.Mix.Float(), e.mix},
		} {
			if math.Abs(pair[0]-pair[1]) > 3e-9+1e-13*size {
				t.Fatalf("%+v became %+v", e, c)
			}
		}
	}
}

func TestCosts_OrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 10 {
		known := randomUse(rng, func(int) int64 { return scaled(rng, 5) })
		costs, prices := Costs(known, labs()), Prices(known, labs(), index.Schedule{index.Plain()})
		rng.Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
		if !slices.Equal(Costs(known, labs()), costs) || !slices.Equal(Prices(known, labs(), index.Schedule{index.Plain()}), prices) {
			t.Fatal("another order gives other rows")
		}
	}
}

func TestCosts_UnchangedPricesKeepTheIndex(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	moved := false
	for range 10 {
		for _, c := range Costs(randomUse(rng, func(model int) int64 { return []int64{0, 1, 70, 901, 12345}[model] }),
			labs()) {
			if c.Index != 100*assay.One || c.Price != 0 {
				t.Fatalf("the prices stayed, and the row is %+v", c)
			}
			moved = moved || c.Mix != 0 && c.Intensity != 0
		}
	}
	if !moved {
		t.Error("nothing but prices stayed: nothing was tested")
	}
}

// What an import takes at most and at least, side by side and one after the other, stays inside the numbers.
func TestCosts_Extremes(t *testing.T) {
	t.Parallel()
	ends := []assay.ModelDay{
		{Requests: 1, InputTokens: 99_999_999, Dollars: 9_999_999_999_999},
		{Requests: 1, InputTokens: 1, Dollars: assay.One - 1},
		{Requests: 1, InputTokens: 99_999_999, Dollars: 1},
		{Requests: 1e12, InputTokens: 1e15, OutputTokens: 1e15, Dollars: 1e17},
		{Requests: 1e12, InputTokens: 1, Dollars: 1},
		{Requests: 1e12, InputTokens: 1e15, OutputTokens: 1e15, Free: true},
	}
	rng := rand.New(rand.NewPCG(11, 12))
	for range 200 {
		var known []assay.Observed[assay.ModelDay]
		for d := range int64(20) {
			for model := range 4 {
				m := ends[rng.IntN(len(ends))]
				m.Day, m.Lab, m.Model, m.Family = d*assay.Day, "google", fmt.Sprint(model), "pro"
				known = append(known, assay.Observed[assay.ModelDay]{Value: m, Key: m.Key()})
			}
		}
		var before assay.Nanos
		for i, c := range Costs(known, labs()[2:3]) {
			if c.Family != AllModels {
				continue
			}
			if c.Cents < 0 || c.Cents > 1_000_000*assay.One || c.Ktok < 0 || c.Ktok > 100_000*assay.One || c.Index < 0 {
				t.Fatalf("%+v", c)
			}
			if sum := c.Price + c.Intensity + c.Mix; i > 0 && sum != c.Cents-before {
				t.Fatalf("%+v adds up to %v, and the cost before was %v", c, sum, before)
			}
			before = c.Cents
		}
		for _, p := range Prices(known, labs(), index.Schedule{index.Plain()}) {
			if p.Value < 0 || p.Value > 1_000_000*assay.One {
				t.Fatalf("%+v", p)
			}
		}
	}
}

// A row is as new as the newest observation that it was made of, and the index is made of all before.
func TestComputed(t *testing.T) {
	t.Parallel()
	s := &script{}
	for i, row := range [][]string{
		{"2026-01-01", "google", "a", "pro", "1", "1", "1", "1"},
		{"2026-01-01", "google", "b", "lite", "1", "1", "1", "0", "free"},
		{"2026-01-20", "google", "a", "pro", "1", "1", "1", "1"},
	} {
		if err := s.load(row); err != nil {
			t.Fatal(err)
		}
		s.loaded[i].Received = []int64{20, 30, 10}[i]
	}
	var got []int64
	for _, c := range Costs(s.loaded, labs()) {
		got = append(got, c.Computed)
	}
	for _, p := range Prices(s.loaded, labs(), index.Schedule{index.Plain()}) {
		got = append(got, p.Computed)
	}
	// all, lite and pro of the 1st, all and pro of the 20th; the prices know no free model and no other day.
	if want := []int64{30, 30, 20, 30, 20, 20, 10}; !slices.Equal(got, want) {
		t.Errorf("the rows were computed at %v, want %v", got, want)
	}
}

func TestLogMean(t *testing.T) {
	t.Parallel()
	f := func(a, b, want float64) {
		t.Helper()
		for _, got := range []float64{logMean(a, b), logMean(b, a)} {
			if math.Abs(got-want) > 1e-14*want {
				t.Errorf("the mean of %v and %v is %v, want %v", a, b, got, want)
			}
		}
	}
	f(1, 1, 1)
	f(3, 3, 3)
	f(2, 1, 1/math.Ln2)
	f(1e9, 1, (1e9-1)/math.Log(1e9))
	f(1.1, 1, 0.1000000000000000055511/math.Log1p(0.1000000000000000888178)) // 1.1 is no float
	f(1+1e-9, 1, 1+0.5e-9)
	for x := 1.0; x < 1.3; x += 0.001 {
		if got, want := logMean(x, 1), (x-1)/math.Log1p(x-1); x > 1 && math.Abs(got-want) > 1e-14 {
			t.Errorf("the mean of %v and 1 is %v, want %v", x, got, want)
		}
	}
}

func TestExp(t *testing.T) {
	t.Parallel()
	for x := -30.0; x < 30; x += 0.0137 {
		if got, want := exp(x), math.Exp(x); math.Abs(got-want) > 4e-16*want {
			t.Errorf("e^%v is %v, want %v", x, got, want)
		}
	}
	if exp(0) != 1 || exp(1e9) != exp(700) || math.IsInf(exp(700), 0) || exp(-1e9) <= 0 {
		t.Error("the ends are not numbers")
	}
	if indexValue(1e9) != 1e18 || indexValue(-1e9) != 0 || nanos(-1e30) != -1e15 {
		t.Errorf("beyond the bounds are %v, %v and %v", indexValue(1e9), indexValue(-1e9), nanos(-1e30))
	}
}
