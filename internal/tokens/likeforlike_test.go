package tokens

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
)

// sale is the use of a model: requests of a thousand tokens each, and cents for each of them.
type sale struct {
	model    string
	requests int64
	cents    int64
}

// market is sales, each on a day of its own week, so that no window has two of them.
type market [][]sale

func (m market) observed(first int64) (known []assay.Observed[assay.ModelDay]) {
	for week, sales := range m {
		for _, s := range sales {
			d := assay.ModelDay{
				Day: first + int64(week)*overWeek, Lab: "openai", Model: s.model, Family: "flagship",
				Requests: s.requests, InputTokens: s.requests * 1000, Dollars: assay.Nanos(s.requests*s.cents) * (assay.One / 100),
			}
			known = append(known, assay.Observed[assay.ModelDay]{Value: d, Key: d.Key()})
		}
	}
	return known
}

func by(method string) index.LikeForLike {
	rule := index.LikeForLike{Method: method, Base: assay.Day}
	if method == index.GEKS {
		rule.WindowDays = 365
	}
	return rule
}

func scheduleBy(rule index.LikeForLike) index.Schedule {
	m := index.Plain()
	m.LikeForLike = rule
	return index.Schedule{m}
}

// indices are those of a market's weeks.
func (m market) indices(rule index.LikeForLike) (list []string) {
	for _, c := range Costs(m.observed(assay.Day), labs(), scheduleBy(rule)) {
		if c.Family == AllModels {
			list = append(list, c.Index)
		}
	}
	return list
}

func (m market) last(rule index.LikeForLike) string {
	list := m.indices(rule)
	return list[len(list)-1]
}

// Half of every price is half of the index, however the requests move.
func TestLikeForLike_Proportional(t *testing.T) {
	t.Parallel()
	f := func(method, want string) {
		t.Helper()
		both := market{{{"a", 900, 10}, {"b", 100, 2}}, {{"a", 100, 5}, {"b", 900, 1}}}
		if got := both.last(by(method)); got != want {
			t.Errorf("%s: both prices halved are %s, want %s", method, got, want)
		}
		entry := market{{{"a", 100, 2}}, {{"a", 100, 1}, {"dear", 50, 40}}}
		if got := entry.last(by(method)); method != index.LMDI && got != "50" {
			t.Errorf("%s: the only price halved is %s as a dear model enters", method, got)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for range 200 {
			var m market
			prices := [4]int64{}
			for model := range prices {
				prices[model] = 1 + rng.Int64N(1000)
			}
			for _, factor := range []int64{3, 21} {
				var week []sale
				for model, price := range prices {
					week = append(week, sale{fmt.Sprint(model), 1 + scaled(rng, 6), price * factor})
				}
				m = append(m, week)
			}
			if got := m.last(by(method)); method != index.LMDI && got != "700" {
				t.Fatalf("%s: seven times the prices are %s", method, got)
			}
		}
	}
	f(index.SatoVartia, "50")
	f(index.GEKS, "50")
	f(index.LMDI, "56.558894") // as methodology 1.0.0 has it, which is why there are others
}

// The same state has the same index. A chain drifts: a sale and a rebound leave something behind.
func TestLikeForLike_Identity(t *testing.T) {
	t.Parallel()
	normal, stocks, empty := []sale{{"a", 100, 10}, {"b", 100, 10}},
		[]sale{{"a", 5000, 4}, {"b", 60, 10}}, []sale{{"a", 5, 10}, {"b", 100, 10}}
	bounce := market{normal, stocks, empty, normal}
	if got := bounce.last(by(index.GEKS)); got != "100" {
		t.Errorf("after a sale and a rebound the index is %s", got)
	}
	for _, method := range []string{index.SatoVartia, index.LMDI} {
		if got := bounce.last(by(method)); got == "100" {
			t.Errorf("%s does not drift: the test shows nothing", method)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		m := randomMarket(rng, 12)
		m = append(m, m[0])
		if got := m.last(by(index.GEKS)); got != "100" {
			t.Fatalf("the same state after twelve weeks is %s", got)
		}
	}
}

// randomMarket has the same three models in each week.
func randomMarket(rng *rand.Rand, weeks int) (m market) {
	for range weeks {
		var week []sale
		for model := range 3 {
			week = append(week, sale{fmt.Sprint(model), 1 + scaled(rng, 6), 1 + rng.Int64N(1000)})
		}
		m = append(m, week)
	}
	return m
}

// The change back is the inverse of the change.
func TestLikeForLike_TimeReversal(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		m := randomMarket(rng, 2)
		for _, method := range []string{index.SatoVartia, index.GEKS} {
			// In a chain the second change takes the first one back.
			there := append(m[:2:2], m[0])
			if got := there.indices(by(method)); got[2] != "100" {
				t.Fatalf("%s: there and back is %v", method, got)
			}
		}
	}
}

// A higher price makes the index higher.
func TestLikeForLike_Monotonic(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		// The shares in the cost stay, as they do when readers buy for the same money.
		low, high := market{{}, {}}, market{{}, {}}
		for model := range 3 {
			name, price := fmt.Sprint(model), 6*(1+rng.Int64N(100))
			requests := 60 * (1 + scaled(rng, 4))
			low[0] = append(low[0], sale{name, requests, price})
			high[0] = append(high[0], sale{name, requests, price})
			low[1] = append(low[1], sale{name, requests / 2, price * 2})
			high[1] = append(high[1], sale{name, requests / 3, price * 3})
		}
		for _, method := range []string{index.SatoVartia, index.GEKS} {
			if a, b := low.last(by(method)), high.last(by(method)); a != "200" || b != "300" {
				t.Fatalf("%s: twice the prices are %s, three times %s", method, a, b)
			}
		}
	}
}

// Other units of money and tokens, more of everything, another order and other names change nothing.
func TestLikeForLike_Units(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 10))
	for range 100 {
		m := randomMarket(rng, 6)
		for _, method := range []string{index.LMDI, index.SatoVartia, index.GEKS} {
			rule := by(method)
			want := fmt.Sprint(m.indices(rule))
			f := func(what string, change func(d *assay.ModelDay)) {
				t.Helper()
				known := m.observed(assay.Day)
				for i := range known {
					change(&known[i].Value)
					known[i].Key = known[i].Value.Key()
				}
				rng.Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
				var got []string
				for _, c := range Costs(known, labs(), scheduleBy(rule)) {
					if c.Family == AllModels {
						got = append(got, c.Index)
					}
				}
				if fmt.Sprint(got) != want {
					t.Fatalf("%s, %s: %v, want %s", method, what, got, want)
				}
			}
			f("another order", func(*assay.ModelDay) {})
			f("dollars times seven", func(d *assay.ModelDay) { d.Dollars *= 7 })
			f("tokens times three", func(d *assay.ModelDay) { d.InputTokens *= 3 })
			f("more of all", func(d *assay.ModelDay) {
				d.Requests, d.InputTokens, d.Dollars = d.Requests*5, d.InputTokens*5, d.Dollars*5
			})
			f("other names", func(d *assay.ModelDay) {
				d.Model = fmt.Sprint("x", 9-len(d.Model), strings.Repeat("z", int(d.Model[0]-'0')))
			})
		}
	}
}

// A day that is added after a day does not change its index, also if it is the base day.
func TestLikeForLike_Base(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(11, 12))
	m := randomMarket(rng, 80) // more than a window of a year
	for _, method := range []string{index.LMDI, index.SatoVartia, index.GEKS} {
		rule := by(method)
		if method == index.GEKS {
			rule.WindowDays = 140
		}
		const base = 30
		rule.Base = assay.Day + base*overWeek
		all := m.indices(rule)
		if all[base] != "100" || len(all) != len(m) {
			t.Fatalf("%s: the base day has %s", method, all[base])
		}
		for _, weeks := range []int{1, 20, base, base + 1, 60} {
			if part := m[:weeks].indices(rule); !slices.Equal(part, all[:weeks]) {
				t.Fatalf("%s: of %d weeks the indices are %v, with more weeks %v", method, weeks, part, all[:weeks])
			}
		}
	}
	// Before there is a day on or after the base, the first one is it.
	rule := by(index.SatoVartia)
	rule.Base = 1000 * assay.Day
	if got := m[:3].indices(rule); got[0] != "100" {
		t.Errorf("without the base day, the first is %s", got[0])
	}
}

// What a window cannot connect stays where it was.
func TestLikeForLike_NothingInCommon(t *testing.T) {
	t.Parallel()
	a, b, c := sale{"a", 100, 8}, sale{"b", 100, 32}, sale{"c", 100, 64}
	half := func(s sale) sale { s.cents /= 2; return s }
	for _, method := range []string{index.LMDI, index.SatoVartia, index.GEKS} {
		f := func(m market, want ...string) {
			t.Helper()
			if got := m.indices(by(method)); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %v, want %v", method, got, want)
			}
		}
		f(market{{a}, {b}, {half(b)}}, "100", "100", "50")
		f(market{{a}, {b}, {c}}, "100", "100", "100")
	}
	// Two models that were never sold together are compared through a third.
	bridge := market{{a, c}, {half(a), b}, {half(half(b)), half(half(c))}}
	if got := bridge.last(by(index.GEKS)); got != "19.842513" { // the third root of 1/4 · 1/4 · 1/2 · 1/4
		t.Errorf("through others it is %s", got)
	}
}

// The index of a market that no one would believe is a number too.
func TestLikeForLike_Large(t *testing.T) {
	t.Parallel()
	one := assay.ModelDay{Lab: "openai", Model: "m", Family: "flagship", Requests: 1e6, InputTokens: 1e12, Dollars: 1}
	two := one
	two.Requests, two.InputTokens, two.Dollars, one.Day, two.Day = 1, 1, assay.One-1, assay.Day, assay.Day+overWeek
	known := []assay.Observed[assay.ModelDay]{{Value: one, Key: one.Key()}, {Value: two, Key: two.Key()}}
	for _, method := range []string{index.LMDI, index.SatoVartia, index.GEKS} {
		costs := Costs(known, labs(), scheduleBy(by(method)))
		if got := costs[len(costs)-1].Index; got != "99999999900000000000000" {
			t.Errorf("%s: the index is %s", method, got)
		}
	}
}
