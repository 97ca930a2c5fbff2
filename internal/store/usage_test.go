package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// One key's usage is found by an index: a request for it must not read the days of all other keys.
func TestUsage_ReadsOneKey(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		var rows []store.UsageCount
		for day := range int64(100) {
			for key := range 100 {
				rows = append(rows, store.UsageCount{
					Day: day * assay.Day, KeyID: fmt.Sprintf("key%03d", key), Route: "/api/otpi", Status: 200, Requests: 1,
				})
			}
		}
		if err := db.AddUsage(t.Context(), rows, nil); err != nil {
			t.Fatal(err)
		}
		got, err := db.Usage(t.Context(), store.UsageOf{KeyID: "key007"}, 10*assay.Day, 19*assay.Day)
		if err != nil || len(got) != 10 || got[0].Day != 10*assay.Day || got[0].KeyID != "key007" {
			t.Errorf("the usage is %+v (%v)", got, err)
		}
		for of, indexes := range map[store.UsageOf][]string{
			{KeyID: "key007"}: {"usage_by_key"},
			{AccountID: 7}:    {"usage_by_key", "keys_by_account"},
		} {
			if of.AccountID != 0 && storetest.IsPostgres(t, db) {
				continue // it looks at how many keys there are: none
			}
			plan := planOf(t, db, of)
			for _, index := range indexes {
				if !strings.Contains(plan, index) {
					t.Errorf("the usage of %+v is read without %s:\n%s", of, index, plan)
				}
			}
		}
	})
}

// planOf is how the database would read usage.
func planOf(t *testing.T, db *store.DB, of store.UsageOf) string {
	t.Helper()
	raw := storetest.Raw(t, db)
	defer raw.Close()
	explain := `EXPLAIN QUERY PLAN `
	if storetest.IsPostgres(t, db) {
		explain = `EXPLAIN `
		storetest.Exec(t, db, `ANALYZE`)
	}
	query, args := store.UsageQuery(of)
	rows, err := raw.QueryContext(t.Context(), explain+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var plan strings.Builder
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&plan, *values[len(values)-1].(*any))
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return plan.String()
}

func TestUsageTotals(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		use := func(day int64, key string, status int, requests int64) store.UsageCount {
			return store.UsageCount{Day: day * assay.Day, KeyID: key, Route: "/api/otpi", Status: status, Requests: requests}
		}
		err := db.AddUsage(t.Context(), []store.UsageCount{
			use(9, "a", 200, 100), use(10, "a", 200, 5), use(11, "a", 404, 2), use(11, "b", 500, 1), use(12, "b", 200, 100),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := db.UsageTotals(t.Context(), 10*assay.Day, 11*assay.Day)
		want := []store.UsageTotal{{KeyID: "a", Requests: 7, Failed: 2}, {KeyID: "b", Requests: 1, Failed: 1}}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("the totals are %+v (%v), want %+v", got, err, want)
		}
	})
}
