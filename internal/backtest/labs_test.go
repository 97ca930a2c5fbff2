package backtest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/internal/tokens"
)

// receive stores a day of a model, in March 2026, that was received at an instant.
func receive(t *testing.T, db *store.DB, at int64, lab, model string, day int, dollars string) {
	t.Helper()
	db.Now = func() time.Time { return time.UnixMilli(at) }
	key, body, err := tokens.Family.EncodeRow(tokens.Family.Row(assay.ModelDay{
		Day: marchUTC(day, 0), Lab: lab, Model: model, Family: "flagship",
		Requests: 100, InputTokens: 1_000_000, Dollars: decimal(dollars),
	}))
	if err != nil {
		t.Fatal(err)
	}
	rows := []store.Observation{{Key: key, Body: body}}
	if _, err := db.AppendObservations(t.Context(), assay.FamilyModels, rows, false); err != nil {
		t.Fatal(err)
	}
}

// A day that has not ended, a late row and a lab that is not in the catalog are on neither side. The candidate applies
// to days long before it takes effect.
func TestRun_Labs(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	settling := strings.Replace(index.PlainText(), `"1.0.0"`, `"1.1.0"`, 1) + "\n[settlement]\nafter = \"24h\"\n"
	m := mustMethodology(t, settling)
	file := assay.MethodologyFile{Version: m.Version, Effective: m.Effective, Text: settling}
	if err := db.AdoptMethodology(t.Context(), file, 0); err != nil {
		t.Fatal(err)
	}
	receive(t, db, marchUTC(6, 1), "openai", "a", 5, "2")
	receive(t, db, marchUTC(7, 1), "openai", "a", 6, "3")
	receive(t, db, marchUTC(7, 1), "acme", "a", 6, "3")
	receive(t, db, marchUTC(9, 1), "openai", "late", 6, "7")
	receive(t, db, marchUTC(9, 2), "anthropic", "c", 8, "1.23456")
	receive(t, db, marchUTC(9, 2), "openai", "a", 9, "4")

	o := Options{Candidate: mustMethodology(t, strings.Replace(candidateText, "= 4", "= 1", 1)), Index: "otpi"}
	got := mustRun(t, db, o)
	want := &Comparison{
		Candidate: "2.0.0", Index: "otpi", Published: []string{"1.1.0"},
		Series: []Series{
			{Name: "anthropic", Days: []Day{both(marchUTC(8, 0), "1.2346", "1.2")}},
			{Name: "openai", Days: []Day{both(marchUTC(5, 0), "2", "2"), both(marchUTC(6, 0), "3", "3")}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// The period leaves days out, but the index still begins with the first one.
	o = Options{Candidate: o.Candidate, Index: "workload-daily", Lab: "openai", Models: "flagship", From: marchUTC(6, 0)}
	want = &Comparison{
		Candidate: "2.0.0", Index: "workload-daily", Published: []string{"1.1.0"},
		Series: []Series{{Name: "openai/flagship", Days: []Day{both(marchUTC(6, 0), "150", "150")}}},
	}
	if diff := cmp.Diff(want, mustRun(t, db, o)); diff != "" {
		t.Errorf("single days (-want +got):\n%s", diff)
	}
}

// Without a methodology the API computes by 1.0.0, and so does a backtest, which adopts nothing.
func TestRun_LabsWithoutMethodology(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	f := func(o Options, want string) {
		t.Helper()
		o.Candidate = mustMethodology(t, candidateText)
		if _, err := Run(t.Context(), db, o); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	f(Options{Index: "otpi"}, "there are no days of models to compare")
	f(Options{Index: "memory"}, `there is no index "memory": must be one of workload, workload-daily, otpi, otpi-mix`)
	receive(t, db, marchUTC(6, 1), "openai", "a", 5, "2")
	if got := mustRun(t, db, Options{Index: "workload"}).BaseName(); got != "current values (1.0.0)" {
		t.Errorf("the base is %s", got)
	}
	f(Options{Index: "workload", To: marchUTC(5, 0)},
		"there are no days of models in this period; there are some from 2026-03-05 to 2026-03-05")
	if files, err := db.Methodologies(t.Context()); err != nil || len(files) > 0 {
		t.Errorf("%d methodologies are adopted, error %v", len(files), err)
	}
}

// An index has no upper bound, but what is compared and drawn has.
func TestLikeForLike_TooLarge(t *testing.T) {
	t.Parallel()
	f := func(value, want string) {
		t.Helper()
		_, err := likeForLike([]tokens.Cost{{Lab: "openai", Family: "flagship", Day: marchUTC(5, 0), Index: value}})
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: error %v, want %q", value, err, want)
		}
	}
	f("1000000000", "")
	f("1000000000.000001",
		"the index of openai/flagship is 1000000000.000001 on 2026-03-05: more than 1000000000 cannot be compared")
	f("1"+strings.Repeat("0", 30), "the index of openai/flagship is 1"+strings.Repeat("0", 30)+
		" on 2026-03-05: more than 1000000000 cannot be compared")
}
