package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

func newValue(series string, revision int, numbers string) store.NewValueRecord {
	return store.NewValueRecord{Rows: "rows", ValueRecord: assay.ValueRecord{
		Index: "otpi", Series: series, Day: 20_000 * assay.Day, Revision: revision, Numbers: numbers,
		Methodology: "2.0.0", KnownAt: 20_002 * assay.Day,
	}}
}

// Records are stored once, in the log too, and what was known for them is older than all that comes later.
func TestValueRecords(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		seen := mustCounters(t, db)
		if err := db.AddValueRecords(t.Context(), seen, []store.NewValueRecord{
			newValue("openai", 0, `{"indexPerMtok":5}`), newValue("google", 0, `{"indexPerMtok":6}`),
		}); err != nil {
			t.Fatal(err)
		}
		again := []store.NewValueRecord{newValue("openai", 1, `null`)}
		if err := db.AddValueRecords(t.Context(), seen, again); !errors.Is(err, store.ErrOvertaken) {
			t.Errorf("with others in between: %v", err)
		}
		if err := db.AddValueRecords(t.Context(), mustCounters(t, db), again); err != nil {
			t.Fatal(err)
		}
		got, err := db.ValueRecordsOf(t.Context(), "otpi", "openai", 20_000*assay.Day)
		if err != nil || len(got) != 2 || got[1].Number != 3 || got[1].Numbers != "null" || got[1].Hash != proof.Value(&got[1]) {
			t.Errorf("of openai there are %+v (%v)", got, err)
		}
		if got[0].Inputs == got[1].Inputs {
			t.Error("two records have the same commitment to the same rows: it can be recognized")
		}
		entries := logEntries(t, db)
		last := entries[len(entries)-1]
		if !strings.HasPrefix(last, `{"type":"value","index":"otpi","series":"openai","date":"2024-10-04","revision":1,"hash":"`) ||
			kinds(entries)[proof.ValueKind] != 3 {
			t.Errorf("the log ends with %s", last)
		}
		mustObserve(t, db, false, "a=1")
		if received := mustCounters(t, db).Observed[assay.FamilyCoding]; received <= 20_002*assay.Day {
			t.Errorf("a row was received at %d, before what the records know", received)
		}
	})
}

func mustAddValue(t *testing.T, db *store.DB) {
	t.Helper()
	one := []store.NewValueRecord{newValue("openai", 0, `{}`)}
	if err := db.AddValueRecords(t.Context(), mustCounters(t, db), one); err != nil {
		t.Fatal(err)
	}
}

// Someone changes the numbers of a record.
func TestValueRecords_Changed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAddValue(t, db)
		storetest.Exec(t, db, `UPDATE value_records SET numbers = 'null'`)
		err := db.EachValueRecord(t.Context(), 0, 1, func(*assay.ValueRecord) error { return nil })
		if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "otpi of openai, 2024-10-04, revision 0") {
			t.Errorf("reading it: %v", err)
		}
	})
}

// A methodology cannot take effect in the time of values that are final.
func TestAdoptMethodology_FinalValues(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	mustAddValue(t, db)
	adopt := func(version string, effective int64) error {
		file := assay.MethodologyFile{Version: version, Effective: effective, Text: version}
		return db.AdoptMethodology(t.Context(), file, 0)
	}
	if err := adopt("9", 20_001*assay.Day); !errors.Is(err, store.ErrTooLate) {
		t.Errorf("at the end of the day: %v", err)
	}
	if err := adopt("9", 20_001*assay.Day+1); err != nil {
		t.Errorf("after it: %v", err)
	}
}
