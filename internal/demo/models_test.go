package demo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/internal/tokens"
	"github.com/assaydata/assay/tools/testenv"
)

// modelHistory is the models' days of the two years before November 2026.
func modelHistory() (known []assay.Observed[assay.ModelDay]) {
	m := NewMarket(1, assay.DefaultCatalog())
	for day := marketAt(2024, 11, 1); day < marketAt(2026, 11, 1); day += assay.Day {
		for _, model := range m.AppendModels(nil, day) {
			known = append(known, assay.Observed[assay.ModelDay]{Value: model, Key: model.Key()})
		}
	}
	return known
}

func TestModels_ArePlausible(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	labs, known := assay.DefaultCatalog().Labs, modelHistory()
	models, seen := map[string]map[string]bool{}, map[string]bool{}
	for _, o := range known {
		if seen[o.Key] {
			t.Fatalf("%s appears twice", o.Key)
		}
		seen[o.Key] = true
		if models[o.Value.Lab] == nil {
			models[o.Value.Lab] = map[string]bool{}
		}
		models[o.Value.Lab][o.Value.Model] = true
	}
	for _, lab := range labs {
		if n := len(models[lab.Lab]); n < 6 || n > 30 {
			t.Errorf("%s has %d models in two years, want 6 to 30", lab.Lab, n)
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
	t.Parallel()
	testenv.OneGoroutine(t)
	families := map[string][]string{}
	moved := map[string][3]bool{}
	for _, c := range tokens.Costs(modelHistory(), assay.DefaultCatalog().Labs, index.Schedule{index.Plain()}) {
		if value, err := strconv.ParseFloat(c.Index, 64); err != nil || value < 5 || value > 200 {
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
		"anthropic": "[all fable haiku opus sonnet]",
		"openai":    "[all codex flagship image mini nano pro]",
		"google":    "[all flash image lite pro]",
	}
	for lab, names := range want {
		if got := fmt.Sprint(families[lab]); got != names {
			t.Errorf("%s has %s, want %s", lab, got, names)
		}
	}
}

// A demo that was prepared in two steps has the models' days of one that was prepared at once: all that have ended. So
// has one whose folder is from before the demo had models.
func TestModels_SameHistory(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	history := func(fed ...int64) []string {
		db := storetest.Open(t)
		d := openedDemo(t, db, 3, halfPast)
		for _, now := range fed {
			if err := d.bringFamilies(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			d.fed = now
		}
		return modelKeys(t, db)
	}
	want := history(halfPast)
	if first, last := want[0][:10], want[len(want)-1][:10]; first != "2026-03-05" || last != "2026-03-08" {
		t.Errorf("the days are %s to %s", first, last)
	}
	f := func(name string, got []string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			if !slices.Equal(got, want) {
				t.Errorf("%d models' days, want the %d that come at once", len(got), len(want))
			}
		})
	}
	halfPastMidnight := halfPast - 20*assay.Hour // the numbers of the day before have just come
	f("in two steps", history(halfPastMidnight, halfPast))
	f("repeated", history(halfPast, halfPast))

	old := storetest.Open(t)
	d := openedDemo(t, old, 3, halfPast)
	d.fed = halfPast - assay.Hour
	if err := d.bringFamilies(t.Context(), halfPast); err != nil {
		t.Fatal(err)
	}
	f("an old folder", modelKeys(t, old))
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
	known, labs := modelHistory(), assay.DefaultCatalog().Labs
	b.ReportMetric(float64(len(known)), "rows")
	for b.Loop() {
		tokens.Prices(known, labs, index.Schedule{index.Plain()})
		tokens.Costs(known, labs, index.Schedule{index.Plain()})
	}
}
