package demo

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/tools/testenv"
)

func TestGenerators_EveryFamily(t *testing.T) {
	t.Parallel()
	for i, generate := range generators {
		t.Run(assay.Family(i).String(), func(t *testing.T) {
			t.Parallel()
			if generate == nil {
				t.Fatal("the demo has no rows of the family: add a generator to generators")
			}
			d := openedDemo(t, storetest.Open(t), 1, halfPast)
			for range generate(d, halfPast-4*assay.Day, halfPast) {
				return
			}
			t.Error("the generator made no row in four days")
		})
	}
}

// observed reads the observations of a family, by their keys; none may have been revised.
func observed[T any](t *testing.T, db *store.DB, family assay.Family) map[string]T {
	t.Helper()
	all := map[string]T{}
	err := db.EachObservation(t.Context(), family, 0, 1<<62, func(o store.Observation, revision int, _ int64) error {
		var value T
		err := json.Unmarshal(o.Body, &value)
		if _, known := all[o.Key]; known || revision != 0 {
			t.Errorf("%s was observed twice", o.Key)
		}
		all[o.Key] = value
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// openedDemo is a demo that has opened its store.
func openedDemo(t *testing.T, db *store.DB, days int, now int64) *Demo {
	t.Helper()
	d := newDemo(db, days, now)
	if _, err := d.open(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	return d
}

func mustBring(t *testing.T, d *Demo, family assay.Family, from, until int64) {
	t.Helper()
	if err := d.bring(t.Context(), family, from, until); err != nil {
		t.Fatal(err)
	}
}

// Every memory type has a plausible price on every weekday.
func TestMemory_TwoYears(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	db := storetest.Open(t)
	begin := assay.MonthsBack(halfPast, months)
	mustBring(t, openedDemo(t, db, 0, halfPast), assay.FamilyMemory, begin, halfPast)
	types := assay.DefaultCatalog().MemoryTypes
	readings := observed[assay.MemoryReading](t, db, assay.FamilyMemory)
	weekdays := 0
	for midnight := begin; midnight+memoryRead <= halfPast; midnight += assay.Day {
		if day := time.UnixMilli(midnight).UTC().Weekday(); day != time.Saturday && day != time.Sunday {
			weekdays++
		}
	}
	if len(readings) != weekdays*len(types) || weekdays < 500 {
		t.Errorf("%d readings, want %d", len(readings), weekdays*len(types))
	}
	for key, r := range readings {
		if level := memoryLevels[r.MemoryID]; int64(r.Price) < level/2 || int64(r.Price) > 2*level {
			t.Errorf("%s costs %s, not about %d", key, r.Price, level)
		}
	}
}

// Memory types move together, those of one category more.
func TestMemory_TypesCorrelate(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	types := assay.DefaultCatalog().MemoryTypes
	m := NewMarket(1, assay.DefaultCatalog())
	prices := map[string][]fixing{}
	for day := historyBegin; day < historyEnd; day += assay.Day {
		for _, r := range m.AppendMemory(nil, types, day) {
			prices[r.MemoryID] = append(prices[r.MemoryID], fixing{r.At, assay.Determination{Value: r.Price}})
		}
	}
	f := func(a, b string, low, high float64) {
		t.Helper()
		t.Run(a+" and "+b, func(t *testing.T) {
			if c := correlation(returns(prices[a]), returns(prices[b])); c < low || c > high {
				t.Errorf("daily returns correlate by %.2f, want %.1f to %.1f", c, low, high)
			}
		})
	}
	f("mem_ddr5_16gb", "mem_ddr4_16gb", 0.6, 0.97)
	f("mem_ddr5_16gb", "mem_ddr5_rdimm_32gb", 0.6, 0.97)
	f("mem_ddr5_16gb", "mem_slc_1gb", 0.2, 0.8)
}

// Every tool has plausible numbers on every day: more from year to year, fewer on weekends.
func TestCoding_TwoYears(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	db := storetest.Open(t)
	begin := assay.MonthsBack(halfPast, months)
	mustBring(t, openedDemo(t, db, 0, halfPast), assay.FamilyCoding, begin, halfPast)
	days := observed[assay.CodingDay](t, db, assay.FamilyCoding)
	want := 0
	for midnight := begin - assay.Day; midnight+assay.Day+codingAfter <= halfPast; midnight += assay.Day {
		want += 5
	}
	if len(days) != want {
		t.Errorf("%d days, want %d", len(days), want)
	}
	for key, d := range days {
		if d.PRs < 500 || d.PRs > 50_000 || d.Merged*2 < d.PRs || d.Merged > d.PRs || d.Commits < 2*d.PRs {
			t.Errorf("%s: %+v is not plausible", key, d)
		}
	}
	friday, saturday, early := days["2026-03-06 cc"].PRs, days["2026-03-07 cc"].PRs, days["2025-03-07 cc"].PRs
	if friday < saturday*5/4 || friday < early*5/4 {
		t.Errorf("%d pull requests on a Friday, %d on the Saturday after it, %d a year before", friday, saturday, early)
	}
}

// A demo that runs imports hour by hour what one that starts later imports at once.
func TestGenerators_StepByStep(t *testing.T) {
	t.Parallel()
	begin, end := halfPast-9*assay.Day, halfPast
	stepped, atOnce := storetest.Open(t), storetest.Open(t)
	d, direct := openedDemo(t, stepped, 9, halfPast), openedDemo(t, atOnce, 9, halfPast)
	families := []assay.Family{assay.FamilyMemory, assay.FamilyCoding, assay.FamilyModels}
	for _, family := range families {
		for from := begin; from < end; from += assay.Hour {
			mustBring(t, d, family, from, from+assay.Hour)
		}
		mustBring(t, direct, family, begin, end)
	}
	f := func(name string, n int, same bool) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			if !same || n == 0 {
				t.Errorf("%d rows, the same: %t", n, same)
			}
		})
	}
	memory := observed[assay.MemoryReading](t, stepped, assay.FamilyMemory)
	coding := observed[assay.CodingDay](t, stepped, assay.FamilyCoding)
	f("memory", len(memory), maps.Equal(memory, observed[assay.MemoryReading](t, atOnce, assay.FamilyMemory)))
	f("coding", len(coding), maps.Equal(coding, observed[assay.CodingDay](t, atOnce, assay.FamilyCoding)))
	models := observed[assay.ModelDay](t, stepped, assay.FamilyModels)
	f("models", len(models), maps.Equal(models, observed[assay.ModelDay](t, atOnce, assay.FamilyModels)))
}

// Feeding brings the families' rows as time passes.
func TestGenerators_AreFed(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	d := openedDemo(t, db, 2, halfPast)
	d.fed = halfPast
	if err := d.bringFamilies(t.Context(), halfPast); err != nil {
		t.Fatal(err)
	}
	if err := d.bringFamilies(t.Context(), halfPast+assay.Day); err != nil {
		t.Fatal(err)
	}
	newest := int64(0)
	for _, r := range observed[assay.MemoryReading](t, db, assay.FamilyMemory) {
		newest = max(newest, r.At)
	}
	if want := assay.StartOfDay(halfPast) + assay.Day + memoryRead; newest != want {
		t.Errorf("the newest reading is of %s, want %s", assay.FormatInstant(newest), assay.FormatInstant(want))
	}
	if days := observed[assay.CodingDay](t, db, assay.FamilyCoding); days["2026-03-09 cc"].PRs == 0 {
		t.Error("the day that ended has no metrics")
	}
}
