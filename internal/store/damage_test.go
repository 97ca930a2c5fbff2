package store_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// wantDamaged reads everything and wants to hear of the hour that a rental was executed in.
func wantDamaged(t *testing.T, db *store.DB, what string) {
	t.Helper()
	_, err := db.AppendWindow(t.Context(), nil, math.MinInt64, math.MaxInt64)
	if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "transactions of receipt ") {
		t.Errorf("%s: the error is %v, want one that names transactions", what, err)
	}
}

// Whichever bit of a segment flips: the reading names it.
func TestAppendWindow_FlippedBits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine and a lot of work: make unit runs it, without the race detector")
	}
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"), rental("b"))
		for _, column := range []string{"segment", "rows", "checksum"} {
			for _, bit := range []int{0, 1, 2, 9, 20, 31, 32, 40, 52, 62, 63} {
				if column == "segment" && bit > 40 {
					continue // the hour would be beyond all years, and is not read; Verify counts what is gone
				}
				if column == "segment" && bit >= 32 && storetest.IsPostgres(t, db) {
					continue // an hour of a month that has no table
				}
				flip := fmt.Sprintf(`UPDATE segments SET %[1]s = (%[1]s | $1) - (%[1]s & $1)`, column)
				storetest.Exec(t, db, flip, int64(1)<<bit)
				wantDamaged(t, db, fmt.Sprintf("bit %d of %s", bit, column))
				storetest.Exec(t, db, flip, int64(1)<<bit)
			}
		}
		body := store.SegmentBody(t, db)
		for i := range body {
			damaged := slices.Clone(body)
			damaged[i] ^= 1 << (i % 8)
			storetest.Exec(t, db, `UPDATE segments SET body = $1`, damaged)
			wantDamaged(t, db, fmt.Sprintf("byte %d of the body", i))
			storetest.Exec(t, db, `UPDATE segments SET body = $1`, body[:i])
			wantDamaged(t, db, fmt.Sprintf("%d bytes of the body", i))
		}
		storetest.Exec(t, db, `UPDATE segments SET body = $1`, body)
		window(t, db, math.MinInt64, math.MaxInt64) // all is well again
	})
}

func TestAppendWindow_ChangedNames(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"))
		f := func(table, column, was, is string) {
			t.Helper()
			change := fmt.Sprintf(`UPDATE %s SET %s = $1 WHERE %[2]s = $2`, table, column)
			storetest.Exec(t, db, change, is, was)
			wantDamaged(t, db, table)
			storetest.Exec(t, db, change, was, is)
			window(t, db, math.MinInt64, math.MaxInt64)
		}
		f("gpus", "gpu_name", "H100 SXM", "H100 SXN")
		f("regions", "region", "us-east", "us-eas")
		f("sources", "source", "exchange", "Exchange")
		f("providers", "provider", "Acme", "Acme ")
	})
}

// A column may turn into another type, and a name may be gone.
func TestAppendWindow_OtherTypes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"))
		f := func(table, column string, value any) {
			t.Helper()
			storetest.Exec(t, db, `CREATE TABLE kept AS SELECT * FROM `+table)
			storetest.Exec(t, db, `UPDATE `+table+` SET `+column+` = $1`, value)
			wantDamaged(t, db, column)
			storetest.Exec(t, db, `DELETE FROM `+table)
			storetest.Exec(t, db, `INSERT INTO `+table+` SELECT * FROM kept`)
			storetest.Exec(t, db, `DROP TABLE kept`)
		}
		if !storetest.IsPostgres(t, db) { // which refuses to keep them
			f("segments", "rows", 2.5)
			f("segments", "checksum", "none")
			f("segments", "body", "text")
			f("segments", "body", 7)
		}
		f("sources", "source_id", 99)
		f("providers", "provider_id", 99)
	})
}

// A short head of a chain must stop the publisher with a word, not end the program.
func TestState_DamagedHead(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPublish(t, db, hours("H100 SXM", 0, 1))
		for _, head := range []any{[]byte("short"), nil, make([]byte, 33)} {
			storetest.Exec(t, db, `UPDATE series SET head = $1`, head)
			if _, err := db.State(t.Context()); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "H100 SXM global hourly") {
				t.Errorf("with the head %x State gives the error %v", head, err)
			}
			if _, err := db.Chains(t.Context()); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "H100 SXM global hourly") {
				t.Errorf("with the head %x Chains gives the error %v", head, err)
			}
		}
		storetest.Exec(t, db, `UPDATE series SET grain = 'weekly'`)
		if _, err := db.State(t.Context()); err == nil {
			t.Error("a grain that there is not goes unnoticed")
		}
	})
}
