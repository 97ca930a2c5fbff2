package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/tokens"
)

// A row that comes after its day is final is listed, and counts once it was restated.
func TestRestate_LateRowsOfAFamily(t *testing.T) {
	t.Parallel()
	needProgram(t)
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	assayIn(t, dir, "init --no-signing-key --dir data")

	day := time.Now().UTC().Add(-10 * 24 * time.Hour).Truncate(24 * time.Hour)
	model := assay.ModelDay{
		Day: day.UnixMilli(), Lab: "openai", Model: "gpt-6", Family: "flagship", Requests: 1, InputTokens: 1, Dollars: 1,
	}
	importTwoDaysAgo(t, filepath.Join(dir, "data"), model)
	before := day.Add(-24 * time.Hour).Format(time.DateOnly)
	write("late.csv", "date,lab,model,family,requests,input_tokens,output_tokens,dollars\n"+before+",openai,gpt-6,flagship,1,100,0,1\n")
	assayIn(t, dir, "import models --dir data late.csv")

	late := assayIn(t, dir, "late --dir data --family models")
	if !strings.Contains(late, "models,openai,"+before+"T00:00:00.000Z,"+before+" openai gpt-6,") || strings.Count(late, "\n") != 1 {
		t.Errorf("late are %s", late)
	}
	if got := assayIn(t, dir, "restate --dir data --family models --late --dry-run"); got != late {
		t.Errorf("a restatement would take %s", got)
	}
	got := assayIn(t, dir, "restate --dir data --family models --late --actor Ada --reason history")
	if want := "restated: 1 late row of models counts from now on (restatement 1)"; got != want {
		t.Errorf("restated: %q, want %q", got, want)
	}
	if got := assayIn(t, dir, "late --dir data --family models"); strings.Contains(got, "\n") {
		t.Errorf("after it are late %s", got)
	}
	if got := assayIn(t, dir, "audit-log --dir data"); !strings.Contains(got, "models.restate") {
		t.Errorf("the audit log is %s", got)
	}
	assayIn(t, dir, "verify --dir data")
}

// importTwoDaysAgo stores a model's day as if it had been imported two days ago.
func importTwoDaysAgo(t *testing.T, dir string, model assay.ModelDay) {
	t.Helper()
	db, err := store.Open(t.Context(), "sqlite://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.Now = func() time.Time { return time.Now().Add(-48 * time.Hour) }
	key, body, err := tokens.Family.EncodeRow(tokens.Family.Row(model))
	if err != nil {
		t.Fatal(err)
	}
	row := []store.Observation{{Key: key, Body: body}}
	if _, err := db.AppendObservations(t.Context(), assay.FamilyModels, row, false); err != nil {
		t.Fatal(err)
	}
}
