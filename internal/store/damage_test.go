package store_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// wantDamaged reads everything and wants to hear of one row.
func wantDamaged(t *testing.T, db *store.DB, what, row string) {
	t.Helper()
	_, err := db.AppendWindow(t.Context(), nil, math.MinInt64, math.MaxInt64)
	if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "transaction "+row) {
		t.Errorf("%s: the error is %v, want one that names transaction %s", what, err, row)
	}
}

// Whichever bit of a number flips, also one that no good row has: the reading names the row.
func TestAppendWindow_FlippedBits(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine and a lot of work: make unit runs it, without the race detector")
	}
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		other := rental("good")
		other.ExecutedAt--
		mustAppend(t, db, other, rental("bad"))
		f := func(column string) {
			t.Helper()
			for _, bit := range []int{0, 1, 2, 9, 10, 19, 20, 23, 31, 32, 36, 37, 40, 52, 62, 63} { // in and around the packed widths
				mask := int64(1) << bit
				flip := fmt.Sprintf(`UPDATE transactions SET %[1]s = (%[1]s | $1) - (%[1]s & $1) WHERE id = 'bad'`, column)
				storetest.Exec(t, db, flip, mask)
				wantDamaged(t, db, fmt.Sprintf("bit %d of %s", bit, column), "bad")
				storetest.Exec(t, db, flip, mask)
			}
			window(t, db, math.MinInt64, math.MaxInt64) // all is well again
		}
		f("executed_at")
		f("source_id")
		f("gpu_id")
		f("region_id")
		f("provider_id")
		f("price_nanos")
		f("gpus")
		f("hour_micros")
		f("verified")
		f("receipt")
		f("checksum")
	})
}

func TestAppendWindow_ChangedTexts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"))
		f := func(table, column, was, is, row string) {
			t.Helper()
			change := fmt.Sprintf(`UPDATE %s SET %s = $1 WHERE %[2]s = $2`, table, column)
			storetest.Exec(t, db, change, is, was)
			wantDamaged(t, db, table, row)
			storetest.Exec(t, db, change, was, is)
			window(t, db, math.MinInt64, math.MaxInt64)
		}
		f("transactions", "id", "a", "b", "b")
		f("transactions", "id", "a", "", "")
		f("gpus", "gpu_name", "H100 SXM", "H100 SXN", "a")
		f("regions", "region", "us-east", "us-eas", "a")
		f("sources", "source", "exchange", "Exchange", "a")
		f("providers", "provider", "Acme", "Acme ", "a")
	})
}

// A column may turn into another type, and a name may be gone.
func TestAppendWindow_OtherTypes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"))
		f := func(column string, value any) {
			t.Helper()
			storetest.Exec(t, db, `CREATE TABLE kept AS SELECT * FROM transactions`)
			storetest.Exec(t, db, `UPDATE transactions SET `+column+` = $1`, value)
			_, err := db.AppendWindow(t.Context(), nil, math.MinInt64, math.MaxInt64)
			if !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%s = %v gives the error %v, want %v", column, value, err, store.ErrDamaged)
			}
			storetest.Exec(t, db, `DELETE FROM transactions`)
			storetest.Exec(t, db, `INSERT INTO transactions SELECT * FROM kept`)
			storetest.Exec(t, db, `DROP TABLE kept`)
		}
		f("id", []byte("a"))
		f("price_nanos", 2.5)
		f("price_nanos", "a lot")
		f("gpus", 1.5)
		f("checksum", "none")
		f("verified", "yes")
		f("source_id", 99)
		f("region_id", 99)
		f("gpu_id", 99)
		f("provider_id", 99)
	})
}

// A short head of a chain must stop the publisher with a word, not end the program.
func TestState_DamagedHead(t *testing.T) {
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
