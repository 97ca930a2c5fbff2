package store_test

import (
	"math"
	"slices"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

func TestRestatements(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustObserve(t, db, false, "a=1")
		received := mustCounters(t, db).Observed[assay.FamilyCoding]
		var want []assay.Restatement
		for _, r := range []assay.Restatement{
			{Family: assay.FamilyCoding, From: 1, To: 2, Reason: "late", Actor: "Ada"},
			{Family: assay.FamilyModels, From: assay.Earliest, To: assay.Latest, Reason: "all of it"},
		} {
			made, err := db.AddRestatement(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			r.Number, r.At = int64(len(want)+1), made.At
			if made != r || made.Family == assay.FamilyCoding && made.At <= received {
				t.Errorf("made %+v, want %+v", made, r)
			}
			want = append(want, made)
		}
		got, err := db.Restatements(t.Context(), 0, math.MaxInt64)
		if err != nil || !slices.Equal(got, want) || mustCounters(t, db).Restatements != 2 {
			t.Errorf("there are %+v (%v), want %+v", got, err, want)
		}
		got, err = db.Restatements(t.Context(), 1, 2)
		if err != nil || !slices.Equal(got, want[1:]) {
			t.Errorf("after the first there are %+v (%v), want %+v", got, err, want[1:])
		}
		storetest.Exec(t, db, `UPDATE restatements SET to_at = 3 WHERE restatement = 1`)
		if _, err := db.Restatements(t.Context(), 0, 1); err == nil {
			t.Error("a changed one is not noticed")
		}
	})
}
