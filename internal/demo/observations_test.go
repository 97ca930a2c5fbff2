package demo

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

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

// observingDemo is a demo that has opened its store.
func observingDemo(t *testing.T, db *store.DB, days int, now int64) *Demo {
	t.Helper()
	d := newDemo(db, days, now)
	if _, err := d.open(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestObserve_TwoYears: every type on every weekday and every tool on every day, at prices and numbers that can be.
func TestObserve_TwoYears(t *testing.T) {
	db := storetest.Open(t)
	begin := assay.MonthsBack(halfPast, months)
	if err := observingDemo(t, db, 0, halfPast).observe(t.Context(), begin, halfPast); err != nil {
		t.Fatal(err)
	}
	catalog := assay.DefaultCatalog()
	readings, days := observed[assay.MemoryReading](t, db, assay.FamilyMemory), observed[assay.CodingDay](t, db, assay.FamilyCoding)
	weekdays, all := 0, 0
	for midnight := begin; midnight+memoryRead <= halfPast; midnight += assay.Day {
		if day := time.UnixMilli(midnight).UTC().Weekday(); day != time.Saturday && day != time.Sunday {
			weekdays++
		}
	}
	for midnight := begin - assay.Day; midnight+assay.Day+codingTold <= halfPast; midnight += assay.Day {
		all++
	}
	if len(readings) != weekdays*len(catalog.MemoryTypes) || len(days) != all*5 || weekdays < 500 {
		t.Errorf("%d readings and %d days, want %d and %d", len(readings), len(days), weekdays*len(catalog.MemoryTypes), all*5)
	}
	for key, r := range readings {
		if level := memoryLevels[r.MemoryID]; r.Price.Float() < 0.5*level || r.Price.Float() > 1.5*level {
			t.Errorf("%s costs %s, not about %v", key, r.Price, level)
		}
	}
	for key, d := range days {
		if d.PRs < 500 || d.PRs > 50_000 || d.Merged*2 < d.PRs || d.Merged > d.PRs || d.Commits < 2*d.PRs {
			t.Errorf("%s: %+v is not believable", key, d)
		}
	}
}

// TestObserve_GoesOn: what a running demo brings hour by hour is what one that starts later has at once.
func TestObserve_GoesOn(t *testing.T) {
	begin, end := halfPast-9*assay.Day, halfPast
	running, late := storetest.Open(t), storetest.Open(t)
	d := observingDemo(t, running, 9, halfPast)
	for from := begin; from < end; from += assay.Hour {
		if err := d.observe(t.Context(), from, from+assay.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if err := observingDemo(t, late, 9, halfPast).observe(t.Context(), begin, end); err != nil {
		t.Fatal(err)
	}
	f := func(same bool, what string, n int) {
		t.Helper()
		if !same || n == 0 {
			t.Errorf("%s are %d, and the same: %t", what, n, same)
		}
	}
	readings, days := observed[assay.MemoryReading](t, running, assay.FamilyMemory), observed[assay.CodingDay](t, running, assay.FamilyCoding)
	f(maps.Equal(readings, observed[assay.MemoryReading](t, late, assay.FamilyMemory)), "readings", len(readings))
	f(maps.Equal(days, observed[assay.CodingDay](t, late, assay.FamilyCoding)), "days", len(days))
}

// TestObserve_IsFed: preparing and feeding bring observations, and preparing again brings none twice.
func TestObserve_IsFed(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine and a lot of work: make unit runs it, without the race detector")
	}
	db := storetest.Open(t)
	mustPrepare(t, newDemo(db, 2, halfPast))
	first := len(observed[assay.MemoryReading](t, db, assay.FamilyMemory))
	later := newDemo(db, 2, halfPast)
	mustPrepare(t, later)
	if again := len(observed[assay.MemoryReading](t, db, assay.FamilyMemory)); again != first || first == 0 {
		t.Errorf("%d readings, and %d when it was prepared again", first, again)
	}
	later.hour = assay.StartOfDay(halfPast)
	if err := later.feed(t.Context(), halfPast+assay.Day); err != nil {
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
		t.Error("the day that ended is not told")
	}
}
