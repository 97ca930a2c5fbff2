package main

import (
	"testing"
	"time"
)

func TestComparison_CheckSane(t *testing.T) {
	t.Parallel()
	f := func(ratio float64, wantErr string) {
		t.Helper()
		c := comparison{scenario: scenario{name: "price"}, first: sample{rate: 100}, second: sample{rate: 9000}, ratio: ratio}
		wantError(t, c.checkSane(), wantErr)
	}
	f(1, "")
	f(0.1, "")
	f(0.011, "price: 100 and 9,000 requests a second, a ratio of 0.011")
	f(51, "a ratio of 51.000")
}

func TestReadScenarios(t *testing.T) {
	t.Parallel()
	all := readScenarios("k", marketEnd)
	if len(all) != 3 || all[0].name != "price" || all[0].key != "" || !all[2].gzip || all[2].key != "k" {
		t.Errorf("%+v: want the price without a key first, 90 days, and all hours with the key, compressed", all)
	}
}

// Fifty changes are enough to tell a p99, and all of their hours must have ended.
func TestOptions_Steps(t *testing.T) {
	t.Parallel()
	if got := (options{}).changeCount(); got < 50 {
		t.Errorf("%d changes, want at least 50", got)
	}
	wantError(t, checkHours(marketEnd.Add(52*time.Hour), 50), "")
	wantError(t, checkHours(marketEnd.Add(51*time.Hour), 50),
		"the clock says 2026-11-03T03:00:00Z, and the run publishes hours until 2026-11-03T04:00:00Z")
}
