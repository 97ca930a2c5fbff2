package verify

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// marketReport is the report of the whole market.
var marketReport = Report{
	Transactions: 475, Records: 377, Manifests: 11, Unsigned: 2,
	PublicKeys: []string{base64.StdEncoding.EncodeToString(marketKey.Public().(ed25519.PublicKey))},
}

func TestDatabase_ProvesTheMarket(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	f := func(o Options, want Report) {
		t.Helper()
		got, err := Database(t.Context(), db, o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the report (-want +got):\n%s", diff)
		}
	}
	f(Options{}, marketReport)
	publicKey := marketKey.Public().(ed25519.PublicKey)
	f(Options{Workers: 3, PublicKeys: [][]byte{make([]byte, ed25519.PublicKeySize), publicKey}}, marketReport)
	f(Options{GPU: "H200"}, marketReport) // all are read, only one is computed
}

// The other tests depend on this content of the market.
func TestMarket_HasEverything(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	ledger, err := db.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	records, err := db.AppendRecords(t.Context(), nil, math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	count := func(of func(r *store.Record) bool) (n int) {
		for i := range records {
			if of(&records[i]) {
				n++
			}
		}
		return n
	}
	waiting := 0
	err = db.EachLate(t.Context(), func(*store.Late) error {
		waiting++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f := func(what string, got, least int) {
		t.Helper()
		if got < least {
			t.Errorf("%s: %d, want %d at least", what, got, least)
		}
	}
	f("methodologies", len(ledger.Methodologies), 2)
	f("events", len(ledger.Events), 7)
	f("publications", len(ledger.Publications), 7)
	f("unsigned days", len(ledger.Unsigned), 1)
	f("late and waiting", waiting, 2)
	f("series", len(ledger.Chains), 12)
	f("first revisions", count(func(r *store.Record) bool { return r.Revision == 1 }), 10)
	f("second revisions", count(func(r *store.Record) bool { return r.Revision == 2 }), 1)
	f("withdrawn values", count(func(r *store.Record) bool { return !r.HasValue }), 1)
	f("of the first methodology", count(func(r *store.Record) bool { return r.Methodology == "1.0.0" }), 100)
	f("of the second methodology", count(func(r *store.Record) bool { return r.Methodology == "1.1.0" }), 50)
	f("with outliers", count(func(r *store.Record) bool { return r.Adjusted.Winsorized > 0 }), 1)
	f("with capped providers", count(func(r *store.Record) bool { return r.Adjusted.Capped > 0 }), 1)
	f("with a withdrawn transaction", count(func(r *store.Record) bool { return r.Excluded.Withdrawn > 0 }), 1)
	f("with an unverified transaction", count(func(r *store.Record) bool { return r.Excluded.Unverified > 0 }), 1)
}

// Every period can be proven alone, and damage outside it does not matter.
func TestDatabase_Periods(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	damaged := openMarket(t)
	hour := first("H100 SXM", instant(7, 3), true).ExecutedAt / assay.Hour * assay.Hour
	storetest.Exec(t, damaged, `UPDATE segments SET checksum = checksum + 1 WHERE segment >> 32 = $1`, hour/assay.Hour)
	for name, c := range map[string]struct {
		from, to int64
		affected bool // by the damage
	}{
		// Time is read in chunks of four days from the fixing at which it begins.
		"a day of the same chunk": {from: instant(5, 0), to: instant(6, 0), affected: true},
		"the damaged hour":        {from: instant(7, 0), to: instant(7, 9), affected: true},
		"later days":              {from: instant(7, 22), to: instant(9, 0)},
		"a later hour":            {from: instant(9, 12), to: instant(9, 13)},
		"from before the damage":  {from: instant(5, 0), affected: true},
		"up to the damaged hour":  {to: instant(7, 4), affected: true},
		"from after the damage":   {from: instant(8, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, err := Database(t.Context(), db, Options{From: c.from, To: c.to})
			if err != nil || report.Records == 0 {
				t.Errorf("intact: %d records, %v", report.Records, err)
			}
			_, err = Database(t.Context(), damaged, Options{From: c.from, To: c.to})
			if c.affected != (err != nil) || c.affected && !strings.Contains(err.Error(), assay.FormatInstant(hour)) {
				t.Errorf("damaged: %v", err)
			}
		})
	}
}

func TestDatabase_NothingPublished(t *testing.T) {
	t.Parallel()
	f := func(db *store.DB, from, to int64) {
		t.Helper()
		if report, err := Database(t.Context(), db, Options{From: from, To: to}); err != nil || report.Records != 0 {
			t.Errorf("%+v, %v", report, err)
		}
	}
	f(storetest.Open(t), 0, 0)
	f(openMarket(t), instant(1, 0), instant(2, 0))
	f(openMarket(t), instant(20, 0), instant(21, 0))
}

func TestDatabase_AnotherKey(t *testing.T) {
	t.Parallel()
	_, err := Database(t.Context(), openMarket(t), Options{PublicKeys: [][]byte{make([]byte, ed25519.PublicKeySize)}})
	const want = "manifest of 2026-03-04, revision 0: it is signed with another key"
	if !errors.Is(err, ErrDiffers) || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}

// Data that arrives while a verification runs is not a difference.
func TestDatabase_WhileOthersWrite(t *testing.T) {
	t.Parallel()
	whileWriting(t, 500, func(ctx context.Context, t *testing.T, db *store.DB) { // more uses than a verification makes
		got, err := Database(ctx, db, Options{})
		if err != nil || got.Records < marketReport.Records {
			t.Fatalf("%+v, %v", got, err)
		}
	})
}

// whileWriting calls work with a copy of the market, again and again. At the nth use of its context, another process
// writes to the database; n grows up to a limit.
func whileWriting(t *testing.T, limit int64, work func(ctx context.Context, t *testing.T, db *store.DB)) {
	t.Helper()
	var written atomic.Int64
	t.Cleanup(func() { // after all subtests
		if n := written.Load(); n < 5 && !t.Failed() {
			t.Errorf("only %d of the runs saw a write", n)
		}
	})
	for n := int64(1); n < limit; n += n/4 + 1 {
		t.Run(fmt.Sprintf("written at use %d", n), func(t *testing.T) {
			t.Parallel()
			db := openMarket(t)
			other := storetest.Another(t, db)
			var mu sync.Mutex
			over := false // a context may be used once more after the work is done
			ctx := storetest.AtUse(t.Context(), n, func() {
				mu.Lock()
				defer mu.Unlock()
				if !over {
					written.Add(1)
					writeMore(t, other)
				}
			})
			work(ctx, t, db)
			mu.Lock()
			defer mu.Unlock()
			over = true
		})
	}
}

// writeMore makes every change that a ledger can have.
func writeMore(t *testing.T, db *store.DB) {
	t.Helper()
	b := &marketBuilder{ctx: t.Context(), db: db, clock: marketEnd + assay.Day}
	b.publisher = publisherOf(b)
	b.receive(rentals(marketEnd, marketEnd+2*assay.Hour)...)
	b.receive(late("H100 SXM", instant(6, 9), 77))
	b.verify(first("H100 SXM", instant(6, 11), true), false)
	b.restate("H100 SXM", instant(6, 0), instant(7, 21))
	b.publish(marketEnd + 2*assay.Hour)
	b.sign()
	if b.err != nil {
		t.Error(b.err)
	}
}

// However many workers there are, the error names the first difference in the order of time.
func TestDatabase_NamesTheFirst(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	storetest.Exec(t, db, `UPDATE segments SET checksum = checksum + 1`)
	var want string
	for workers := range 4 {
		_, err := Database(t.Context(), db, Options{Workers: workers})
		if err == nil {
			t.Fatal("no error")
		}
		if want == "" {
			want = err.Error()
		}
		if err.Error() != want {
			t.Errorf("%d workers name %v, one names %s", workers, err, want)
		}
	}
	if !strings.Contains(want, assay.FormatInstant(marketStart)) {
		t.Errorf("%s: it does not name the first hour", want)
	}
}

func TestDatabase_Progress(t *testing.T) {
	t.Parallel()
	var done []float64
	o := Options{Workers: 2, Progress: func(d float64, _ int) { done = append(done, d) }}
	if _, err := Database(t.Context(), openMarket(t), o); err != nil {
		t.Fatal(err)
	}
	if n := len(done); n < 2 || done[n-1] != 1 {
		t.Errorf("the progress was %v, want steps up to 1", done)
	}
}

// If the search for a misplaced id fails, the error is that failure, and not a difference without a text.
func TestDatabase_InterruptedSearch(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	storetest.Exec(t, db, `DELETE FROM transaction_ids WHERE hash = (SELECT min(hash) FROM transaction_ids)`)
	interrupted := 0
	for n := int64(1); ; n += n/8 + 1 {
		_, err := Database(storetest.BreakAt(t, n), db, Options{})
		if !errors.Is(err, context.Canceled) {
			if !errors.Is(err, ErrDiffers) {
				t.Errorf("not interrupted: %v", err)
			}
			break
		}
		if errors.Is(err, ErrDiffers) {
			t.Errorf("interrupted at use %d: %v", n, err)
		}
		interrupted++
	}
	if interrupted < 5 {
		t.Errorf("interrupted only %d times", interrupted)
	}
}
