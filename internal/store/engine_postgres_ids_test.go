package store_test

import (
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// The ids of a batch are looked up in parts and inserted together. Every part has known and new ids, and the last one
// is not full.
func TestPostgres_KnownAmongNew(t *testing.T) {
	t.Parallel()
	db := openPostgres(t)
	all := rentals(20_000)
	var odd []assay.Transaction
	for i := 1; i < len(all); i += 2 {
		odd = append(odd, all[i])
	}
	wantAppended(t, mustAppend(t, db, odd...), store.Appended{Inserted: 10_000})
	all[1].GPUs++ // a conflict
	wantAppended(t, mustAppend(t, db, all...), store.Appended{Inserted: 10_000, Duplicates: 9_999, Conflicts: []int{1}})
	wantAppended(t, mustAppend(t, db, all...), store.Appended{Duplicates: 19_999, Conflicts: []int{1}})
	wantCount(t, db, 20_000)
}
