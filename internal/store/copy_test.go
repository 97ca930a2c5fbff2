package store_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// A copy has all that was there, and can be gone on with.
func TestCopyTo(t *testing.T) {
	from := storetest.Open(t)
	mustAppend(t, from, rentals(300)...)
	mustPublish(t, from, hours("H100 SXM", 0, 5))
	signDay(t, from, 0)
	mustAccount(t, from, "ann@example.com")
	storetest.EachAddress(t, func(t *testing.T, address string) {
		to := storetest.OpenIn(t, address)
		if err := from.CopyTo(t.Context(), to, func(string, int) {}); err != nil {
			t.Fatal(err)
		}
		f := func(what string, read func(db *store.DB) (any, error)) {
			t.Helper()
			want, err := read(from)
			got, errGot := read(to)
			if err != nil || errGot != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("the %s of the copy are\n%+v (%v), want\n%+v (%v)", what, got, errGot, want, err)
			}
		}
		f("ledger", func(db *store.DB) (any, error) { return db.Ledger(t.Context()) })
		f("transactions", func(db *store.DB) (any, error) {
			return db.AppendWindow(t.Context(), nil, math.MinInt64, math.MaxInt64)
		})
		f("records", func(db *store.DB) (any, error) {
			return db.AppendRecords(t.Context(), nil, math.MinInt64, math.MaxInt64)
		})
		f("register", func(db *store.DB) (any, error) { return db.Register(t.Context()) })
		f("log", func(db *store.DB) (any, error) { return db.AuditLog(t.Context(), store.AuditFilter{}) })
		f("catalog", func(db *store.DB) (any, error) { return db.Catalog(t.Context()) })
		// What comes next gets numbers that are free.
		mustAccount(t, to, "bob@example.com")
		next := rental("next")
		next.Source, next.Provider = "another", "Zed"
		wantAppended(t, mustAppend(t, to, append([]assay.Transaction{next}, rentals(300)...)...), store.Appended{Inserted: 1, Duplicates: 300})
		if err := from.CopyTo(t.Context(), to, func(string, int) {}); !errors.Is(err, store.ErrNotEmpty) {
			t.Errorf("a copy onto a copy gives the error %v, want %v", err, store.ErrNotEmpty)
		}
	})
}

// No table is forgotten.
func TestCopyTo_AllTables(t *testing.T) {
	raw := storetest.Raw(t, storetest.Open(t))
	defer raw.Close()
	rows, err := raw.QueryContext(t.Context(), `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'migrations' ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var want []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
	}
	if got := slices.Sorted(slices.Values(store.CopiedTables())); rows.Err() != nil || !slices.Equal(got, want) {
		t.Errorf("a copy takes the tables\n%q, there are\n%q (%v)", got, want, rows.Err())
	}
}
