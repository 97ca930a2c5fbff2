package main

import (
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// An operator may publish other indices, and no GPU prices: assay publish then makes the records of what is final.
func TestPublish_OtherIndices(t *testing.T) {
	needProgram(t)
	t.Parallel()
	dir := t.TempDir()
	mustRun(t, "init", "--dir", dir)
	now := time.Now()
	receive := func(ago time.Duration, rented int64, hours ...int64) {
		t.Helper()
		db, err := store.Open(t.Context(), "sqlite://"+dir)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.Now = func() time.Time { return now.Add(-ago) }
		day := assay.StartOfDay(now.UnixMilli()) - 9*assay.Day
		var batch []assay.UtilizationReading
		for _, hour := range hours {
			batch = append(batch, assay.UtilizationReading{
				Source: "desk", At: day + hour*assay.Hour, GPU: "H200", Region: "us-east", Rented: rented, Tracked: 10,
			})
		}
		if _, err := db.AppendUtilization(t.Context(), batch, true); err != nil {
			t.Fatal(err)
		}
	}
	publish := func(want string) {
		t.Helper()
		if got := mustRun(t, "publish", "--dir", dir); strings.TrimSpace(got) != want {
			t.Errorf("assay publish says %q, want %q", got, want)
		}
	}
	receive(72*time.Hour, 5, 10, 24)
	publish("recorded: 2 final values of other indices")
	publish("recorded: 0 final values of other indices")
	receive(time.Hour, 6, 10)
	publish("recorded: 0 final values of other indices")
	if got := mustRun(t, "late", "--family", "utilization", "--dir", dir); strings.Count(got, "H200") != 2 { // series and key
		t.Errorf("late is %q", got)
	}
	got := mustRun(t, "restate", "--family", "utilization", "--late", "--reason", "late", "--dir", dir)
	if !strings.Contains(got, "restated: 1 late row of utilization counts from now on") {
		t.Errorf("assay restate says %q", got)
	}
	if got := mustRun(t, "verify", "--dir", dir); !strings.Contains(got, "so are 4 records of other families") {
		t.Errorf("assay verify says %q", got)
	}
}
