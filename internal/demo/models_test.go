package demo

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/internal/tokens"
)

// twoYears are the models' days of the two years before November 2026.
func twoYears() (known []assay.Observed[assay.ModelDay]) {
	m := NewMarket(1, assay.DefaultCatalog())
	for day := marketAt(2024, 11, 1); day < marketAt(2026, 11, 1); day += assay.Day {
		for _, model := range m.AppendModels(nil, day) {
			known = append(known, assay.Observed[assay.ModelDay]{Value: model, Key: model.Key()})
		}
	}
	return known
}

func TestModels_AreBelievable(t *testing.T) {
	labs, known := assay.DefaultCatalog().Labs, twoYears()
	models, seen := map[string]map[string]bool{}, map[string]bool{}
	for _, o := range known {
		if seen[o.Key] {
			t.Fatalf("%s stands twice", o.Key)
		}
		seen[o.Key] = true
		if models[o.Value.Lab] == nil {
			models[o.Value.Lab] = map[string]bool{}
		}
		models[o.Value.Lab][o.Value.Model] = true
	}
	for _, lab := range labs {
		if n := len(models[lab.Lab]); n < 6 || n > 30 {
			t.Errorf("%s has %d models in two years: few come and go", lab.Lab, n)
		}
	}
	prices := tokens.Prices(known, labs, index.Schedule{index.Plain()})
	if days := 730; len(prices) != days*len(labs) {
		t.Errorf("%d prices, want one a lab and day", len(prices))
	}
	for i, p := range prices {
		if p.Value < assay.One/50 || p.Value > 12*assay.One {
			t.Errorf("the price of %s is %v", p.Lab, p.Value)
		}
		if i >= len(labs) {
			if before := prices[i-len(labs)].Value; p.Value < before/10*6 || p.Value > before/10*13 {
				t.Errorf("the price of %s goes from %v to %v in a day", p.Lab, before, p.Value)
			}
		}
	}
}

func TestModels_CostsMove(t *testing.T) {
	families := map[string][]string{}
	moved := map[string][3]bool{}
	for _, c := range tokens.Costs(twoYears(), assay.DefaultCatalog().Labs) {
		if c.Index < 5*assay.One || c.Index > 200*assay.One {
			t.Fatalf("%+v", c)
		}
		if !slices.Contains(families[c.Lab], c.Family) {
			families[c.Lab] = append(families[c.Lab], c.Family)
		}
		was := moved[c.Lab]
		moved[c.Lab] = [3]bool{was[0] || c.Price != 0, was[1] || c.Intensity != 0, was[2] || c.Mix != 0}
	}
	for _, lab := range assay.DefaultCatalog().Labs {
		if moved[lab.Lab] != [3]bool{true, true, true} || len(families[lab.Lab]) < 4 {
			t.Errorf("%s has the families %v and moves by %v", lab.Lab, families[lab.Lab], moved[lab.Lab])
		}
	}
	want := map[string]string{
		"anthropic": "[all fable haiku opus sonnet]", "openai": "[all codex flagship image mini nano pro]", "google": "[all flash image lite pro]",
	}
	for lab, names := range want {
		if got := fmt.Sprint(families[lab]); got != names {
			t.Errorf("%s has %s, want %s", lab, got, names)
		}
	}
}

// A demo that was prepared in two steps has the models' days of one that was prepared at once: all that have ended.
func TestModels_Feed(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine and a lot of work: make unit runs it, without the race detector")
	}
	once, twice := storetest.Open(t), storetest.Open(t)
	mustPrepare(t, newDemo(once, 3, halfPast))
	mustPrepare(t, newDemo(twice, 3, halfPast-20*assay.Hour)) // half past midnight: the day before has just come
	later := newDemo(twice, 3, halfPast)
	mustPrepare(t, later)
	mustPrepare(t, newDemo(twice, 3, halfPast)) // again, for nothing
	// A folder of a demo that knew no models yet gets their history.
	old := storetest.Open(t)
	known := newDemo(old, 3, halfPast)
	known.catalog, known.fed = assay.DefaultCatalog(), halfPast-assay.Hour
	known.market = NewMarket(known.Seed, known.catalog)
	from, err := known.toldUntil(t.Context(), halfPast)
	if err == nil {
		err = known.tell(t.Context(), from, halfPast)
	}
	if err != nil {
		t.Fatal(err)
	}
	got, want := modelKeys(t, twice), modelKeys(t, once)
	if history := modelKeys(t, old); !slices.Equal(history, want) {
		t.Errorf("an old folder gets %d models' days, a new one %d", len(history), len(want))
	}
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("two steps gave %d models' days, one %d, or others", len(got), len(want))
	}
	if first, last := want[0][:10], want[len(want)-1][:10]; first != "2026-03-05" || last != "2026-03-08" {
		t.Errorf("they are of %s to %s", first, last)
	}
}

func modelKeys(t *testing.T, db *store.DB) (keys []string) {
	t.Helper()
	err := db.EachObservation(t.Context(), assay.FamilyModels, 0, 1<<62, func(o store.Observation, _ int, _ int64) error {
		keys = append(keys, o.Key)
		var m assay.ModelDay
		return json.Unmarshal(o.Body, &m)
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	return keys
}

func BenchmarkModels_TwoYears(b *testing.B) {
	known, labs := twoYears(), assay.DefaultCatalog().Labs
	b.ReportMetric(float64(len(known)), "rows")
	for b.Loop() {
		tokens.Prices(known, labs, index.Schedule{index.Plain()})
		tokens.Costs(known, labs)
	}
}
