package tokens

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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

func plain() index.Schedule { return index.Schedule{index.Plain()} }

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
		for _, c := range Costs(known, labs(), plain()) {
			name := c.Lab + " " + c.Family
			before, ok := last[name]
			last[name] = c
			if strings.HasPrefix(c.Index, "-") || c.Cents < 0 || c.Ktok < 0 {
				t.Fatalf("%+v", c)
			}
			if !ok {
				if c.Index != "100" || c.Price != 0 || c.Intensity != 0 || c.Mix != 0 {
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

func TestCosts_OrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 10 {
		known := randomUse(rng, func(int) int64 { return scaled(rng, 5) })
		costs, prices := Costs(known, labs(), plain()), Prices(known, labs(), plain())
		rng.Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
		if !slices.Equal(Costs(known, labs(), plain()), costs) || !slices.Equal(Prices(known, labs(), plain()), prices) {
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
			labs(), plain()) {
			if c.Index != "100" || c.Price != 0 {
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
		for i, c := range Costs(known, labs()[2:3], plain()) {
			if c.Family != AllModels {
				continue
			}
			if c.Cents < 0 || c.Cents > 1_000_000*assay.One || c.Ktok < 0 || c.Ktok > 100_000*assay.One {
				t.Fatalf("%+v", c)
			}
			if sum := c.Price + c.Intensity + c.Mix; i > 0 && sum != c.Cents-before {
				t.Fatalf("%+v adds up to %v, and the cost before was %v", c, sum, before)
			}
			before = c.Cents
		}
		for _, p := range Prices(known, labs(), plain()) {
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
	for _, c := range Costs(s.loaded, labs(), plain()) {
		got = append(got, c.Computed)
	}
	for _, p := range Prices(s.loaded, labs(), plain()) {
		got = append(got, p.Computed)
	}
	// all, lite and pro of the 1st, all and pro of the 20th; the prices know no free model and no other day.
	if want := []int64{30, 30, 20, 30, 20, 20, 10}; !slices.Equal(got, want) {
		t.Errorf("the rows were computed at %v, want %v", got, want)
	}
}
