package store_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// added has one more entry for every list of a catalog.
var added = assay.Catalog{
	GPUs:        []assay.GPU{{Name: "MI300X", Free: true}},
	Regions:     []string{"sa-east"},
	Labs:        []assay.Lab{{Lab: "cohere", Label: "Cohere"}},
	MemoryTypes: []assay.MemoryType{{ID: "mem_hbm3_24gb", MemoryType: "HBM3 24GB", Category: "module"}},
	CodingProducts: []assay.CodingProduct{
		{ID: "jules-prs", Label: "Jules PRs", Category: "prs", Kind: "count", Tools: []string{"jules"}},
		{
			ID: "cc-vs-jules", Label: "Claude vs Jules", Category: "merge", Kind: "pct", Compare: true,
			SeriesLabels: []string{"Claude Merge", "Jules Merge"}, Tools: []string{"cc", "jules"},
		},
	},
}

func TestAddToCatalog(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		defaults := assay.DefaultCatalog()
		want, err := defaults.With(added)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.AddToCatalog(t.Context(), added); err != nil {
			t.Fatal(err)
		}
		if got := mustCatalog(t, storetest.Another(t, db)); !reflect.DeepEqual(got, want) {
			t.Errorf("the catalog is\n%+v, want\n%+v", got, want)
		}
		if got := mustCounters(t, db).Catalog; got != 2 {
			t.Errorf("the counter is %d, want 2", got)
		}
	})
}

// An invalid entry adds nothing, not even the valid entries beside it.
func TestAddToCatalog_Refused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		counters := mustCounters(t, db)
		err := db.AddToCatalog(t.Context(), assay.Catalog{GPUs: []assay.GPU{{Name: "MI300X"}, {Name: "h200"}}})
		want := `GPU "h200" differs only in case from "H200", which is in the catalog`
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if got := mustCatalog(t, db); !reflect.DeepEqual(got, assay.DefaultCatalog()) {
			t.Errorf("the catalog is %+v, want the default", got)
		}
		if got := mustCounters(t, db); got != counters {
			t.Errorf("the counters are %+v, want %+v", got, counters)
		}
	})
}

func TestCatalog_SetFree(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		want, counter := assay.DefaultCatalog(), int64(1)
		f := func(err error) {
			t.Helper()
			counter++
			if err != nil {
				t.Fatal(err)
			}
			if got := mustCatalog(t, db); !reflect.DeepEqual(got, want) || mustCounters(t, db).Catalog != counter {
				t.Errorf("catalog %d is %+v, want %d, %+v", mustCounters(t, db).Catalog, got, counter, want)
			}
		}
		want.GPUs[1].Free = false
		f(db.SetGPUFree(t.Context(), "H200", false))
		want.GPUs[5].Free = true
		f(db.SetGPUFree(t.Context(), "RTX PRO 6000 WS", true))
		want.GPUs[1].Free = true
		f(db.SetGPUFree(t.Context(), "H200", true))
		want.Labs[0].Free = false
		f(db.SetLabFree(t.Context(), "anthropic", false))
		want.Labs[10].Free = true
		f(db.SetLabFree(t.Context(), "meta-llama", true))

		refused := func(err error, want string) {
			t.Helper()
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %s…", err, want)
			}
			if got := mustCounters(t, db).Catalog; got != counter {
				t.Errorf("the counter rose from %d to %d", counter, got)
			}
		}
		refused(db.SetGPUFree(t.Context(), "h200", true),
			`GPU "h200" is not in the catalog: allowed are H100 SXM, H200, A100 SXM4`)
		refused(db.SetLabFree(t.Context(), "Anthropic", true),
			`lab "Anthropic" is not in the catalog: allowed are anthropic, openai`)
	})
}

// An added GPU accepts transactions at once.
func TestCatalog_AddedGPUAcceptsTransactions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		x := rental("t1")
		x.GPU, x.Region = "MI300X", "sa-east"
		if _, err := db.AppendTransactions(t.Context(), []assay.Transaction{x}); err == nil {
			t.Error("a GPU that is not in the catalog was accepted")
		}
		if err := db.AddToCatalog(t.Context(), added); err != nil {
			t.Fatal(err)
		}
		if got, err := db.AppendTransactions(t.Context(), []assay.Transaction{x}); err != nil || got.Inserted != 1 {
			t.Errorf("appended %+v (%v)", got, err)
		}
	})
}
