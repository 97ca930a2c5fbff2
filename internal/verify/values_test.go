package verify

import (
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// changeValues changes the records of values as someone would who also makes their hashes and the log again.
func changeValues(t *testing.T, db *store.DB, change func(r *assay.ValueRecord)) {
	t.Helper()
	var list []assay.ValueRecord
	err := db.EachValueRecord(t.Context(), 0, 1000, func(r *assay.ValueRecord) error {
		list = append(list, *r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		r := &list[i]
		change(r)
		r.Hash = proof.Value(r)
		storetest.Exec(t, db, `UPDATE value_records SET numbers = $1, methodology = $2, known_at = $3, hash = $4, inputs = $5
			WHERE value_record = $6`, r.Numbers, r.Methodology, r.KnownAt, r.Hash[:], r.Inputs[:], r.Number)
	}
	rewriteLog(t, db)
}

// Records that do not follow from what was received are found, also if their hashes and the log are made again.
func TestDatabase_ForgedValues(t *testing.T) {
	t.Parallel()
	f := func(want string, change func(r *assay.ValueRecord)) {
		t.Helper()
		db := openMarket(t)
		changeValues(t, db, change)
		_, err := Database(t.Context(), db, Options{})
		wantDiffers(t, err, want)
	}
	f(`llm-coding of aider/commits, 2026-03-08, revision 0: the record has {"value":80,`, func(r *assay.ValueRecord) {
		if r.Number == 1 {
			r.Numbers = `{"value":80,"changePct":null,"weekChangePct":null}`
		}
	})
	// One that a restatement has replaced.
	f("llm-coding of aider/merge, 2026-03-08, revision 0: the record has", func(r *assay.ValueRecord) {
		if r.Series == "aider/merge" && r.Revision == 0 {
			r.Numbers = `{"value":31,"changePct":null,"weekChangePct":null}`
		}
	})
	f("llm-coding of aider/prs, 2026-03-09, revision 0: the record has methodology 1.0.0", func(r *assay.ValueRecord) {
		if r.Series == "aider/prs" && r.Day == instant(9, 0) {
			r.Methodology = "1.0.0"
		}
	})
	f("llm-coding of aider/prs, 2026-03-09, revision 0: the record was made from other rows", func(r *assay.ValueRecord) {
		if r.Series == "aider/prs" && r.Day == instant(9, 0) {
			r.Inputs[0]++
		}
	})
	f("utilization of H200/us-east, 2026-03-15, revision 0: the record has", func(r *assay.ValueRecord) {
		if r.Series == "H200/us-east" && r.Revision == 0 {
			r.Numbers = `{"utilization_ratio":0.25,"hour_00":0.5}`
		}
	})
	f("utilization of H200/global, 2026-03-15, revision 1: the record was made from other rows", func(r *assay.ValueRecord) {
		if r.Series == "H200/global" && r.Revision == 1 {
			r.Inputs[0]++
		}
	})
	f("it was made before record", func(r *assay.ValueRecord) {
		if r.Number == 9 {
			r.KnownAt = instant(1, 0)
		}
	})
}

// A record that is missing is missed.
func TestDatabase_ValueWithoutRecord(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	storetest.Exec(t, db, `DELETE FROM value_records WHERE value_record = 21`) // one of several that were made at once
	storetest.Exec(t, db, `UPDATE counters SET value = value - 1 WHERE name = 'value_records'`)
	rewriteLog(t, db)
	_, err := Database(t.Context(), db, Options{})
	wantDiffers(t, err, "it was final at")
}

// A late row changes no value until it was restated; then there is a revision, and where there was a value there may be
// none.
func TestDatabase_RestatedValues(t *testing.T) {
	t.Parallel()
	f := func(index, series string, day int64, want ...string) {
		t.Helper()
		list, err := openMarket(t).ValueRecordsOf(t.Context(), index, series, day)
		if err != nil || len(list) != len(want) {
			t.Fatalf("%s has %d records (%v), want %d", series, len(list), err, len(want))
		}
		for i := range list {
			if list[i].Numbers != want[i] || list[i].Revision != i {
				t.Errorf("%s, revision %d, is %s, want %s", series, list[i].Revision, list[i].Numbers, want[i])
			}
		}
	}
	f("llm-coding", "aider/prs", instant(8, 0), `{"value":10,"changePct":null,"weekChangePct":null}`,
		`{"value":12,"changePct":null,"weekChangePct":null}`, `{"value":0,"changePct":null,"weekChangePct":null}`)
	f("llm-coding", "aider/merge", instant(8, 0), `{"value":30,"changePct":null,"weekChangePct":null}`,
		`{"value":25,"changePct":null,"weekChangePct":null}`, `null`)
	f("llm-coding", "aider/commits", instant(9, 0), `{"value":8,"changePct":0,"weekChangePct":null}`)
	f("utilization", "H200/us-east", instant(15, 0), `{"utilization_ratio":0.25,"hour_00":0.25}`,
		`{"utilization_ratio":0.75,"hour_00":0.75}`)
	f("utilization", "H200/global", instant(15, 0), `{"utilization_ratio":0.25,"hour_00":0.25}`,
		`{"utilization_ratio":0.75,"hour_00":0.75}`)
}
