package publish

import (
	"cmp"
	"crypto/ed25519"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/tools/testenv"
)

// outcome is everything about the published values that can be proven.
type outcome struct {
	world        world
	transactions []assay.Transaction
	records      []store.Record
	ledger       store.Ledger
}

// publishAll imports a market in two parts, publishes it, adds a late row, withdraws a row, restates and signs.
func publishAll(t *testing.T, db *store.DB) (o outcome) {
	t.Helper()
	db.Now = func() time.Time { return time.UnixMilli(end) } // also when the methodology is adopted
	p, clock := newPublisher(db, end)
	db.Now, p.Key = clock.now, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	all := rentals(start, end)
	mustAppend(t, db, all[:len(all)/2]...)
	mustAppend(t, db, all[len(all)/3:]...)
	ok(t)(p.Backfill(t.Context(), start, end, nil))
	late := lateRow("late", start+assay.Hour/2)
	mustAppend(t, db, late)
	mustVerify(t, db, all[0].ID, false)
	restate(t, p, "H100 SXM", start, end)
	if err := p.Sign(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.world = readWorld(t, db)
	var err error
	if o.transactions, err = db.AppendWindow(t.Context(), nil, math.MinInt64, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	if o.records, err = db.AppendRecords(t.Context(), nil, math.MinInt64, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(o.records, func(a, b store.Record) int { // the ids of the series are in random order
		return cmp.Or(
			cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Region, b.Region), cmp.Compare(a.Grain, b.Grain),
			cmp.Compare(a.Sequence, b.Sequence),
		)
	})
	if o.ledger, err = db.Ledger(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Every log has its own name and salt, so the hashes differ.
	o.ledger.Log.Origin, o.ledger.Log.KeyEvents = "", ""
	for i := range o.ledger.Log.Checkpoints {
		o.ledger.Log.Checkpoints[i].Note = ""
	}
	return o
}

// The same market has the same values, record hashes and signed manifests in both databases.
func TestPublished_EqualOnBothEngines(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	postgres := publishAll(t, storetest.OpenIn(t, storetest.Postgres(t)))
	sqlite := publishAll(t, storetest.Open(t))
	if len(sqlite.ledger.Manifests) == 0 || len(sqlite.records) == 0 {
		t.Fatal("nothing was signed or published")
	}
	f := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s of PostgreSQL are\n%+v, those of SQLite\n%+v", what, got, want)
		}
	}
	f("the values", postgres.world, sqlite.world)
	f("the transactions", postgres.transactions, sqlite.transactions)
	f("the records", postgres.records, sqlite.records)
	f("the manifests", postgres.ledger.Manifests, sqlite.ledger.Manifests)
	f("the ledgers", postgres.ledger, sqlite.ledger)
}
