package verify

import (
	"cmp"
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

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// marketReport is the report of the whole market.
var marketReport = Report{
	Transactions: 481, Records: 373, Manifests: 11,
	Unsigned:   []UnsignedDay{{instant(9, 0), Republished}, {instant(10, 0), NotEnded}},
	PublicKeys: []string{base64.StdEncoding.EncodeToString(marketKey.Public().(ed25519.PublicKey))},
}

func TestDatabase_ProvesTheMarket(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	f := func(o Options, want Report) {
		t.Helper()
		want.LogEntries, want.Anchors, want.Values = logSize(t, db), marketAnchors, 21
		got, err := Database(t.Context(), db, o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("the report (-want +got):\n%s", diff)
		}
	}
	f(Options{}, marketReport)
	publicKey := marketKey.Public().(ed25519.PublicKey)
	either := Signatures{PublicKeys: [][]byte{make([]byte, ed25519.PublicKeySize), publicKey}}
	f(Options{Workers: 3, Signatures: either}, marketReport)
	f(Options{rows: 20}, marketReport) // every day in many groups
	f(Options{rows: 60, Workers: 3}, marketReport)
}

// Filters read only what they name, and the report counts only that.
func TestDatabase_Filters(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	transactions, err := db.AppendWindow(t.Context(), nil, math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	records, err := db.AppendRecords(t.Context(), nil, math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	ledger := ledgerOf(t, db)
	schedule, err := scheduleOf(ledger.Methodologies)
	if err != nil {
		t.Fatal(err)
	}
	f := func(o Options) {
		t.Helper()
		from, to := o.From, cmp.Or(o.To, math.MaxInt64)
		var want Report
		for _, tr := range transactions {
			hour, day := schedule.NextSlot(assay.Hourly, tr.ExecutedAt), schedule.NextSlot(assay.Daily, tr.ExecutedAt)
			inPeriod := hour >= from && hour < to || day >= from && day < to
			if inPeriod && (o.GPU == "" || tr.GPU == o.GPU) {
				want.Transactions++
			}
		}
		for _, r := range records {
			if r.At >= from && r.At < to && (o.GPU == "" || r.GPU == o.GPU) {
				want.Records++
			}
		}
		for _, rows := range []int{0, 30} {
			o.rows = rows
			got, err := Database(t.Context(), db, o)
			if err != nil {
				t.Fatal(err)
			}
			if got.Transactions != want.Transactions || got.Records != want.Records || want.Records == 0 {
				t.Errorf("%+v: %d transactions and %d records, want %d and %d",
					o, got.Transactions, got.Records, want.Transactions, want.Records)
			}
		}
	}
	f(Options{GPU: "H200"})
	f(Options{From: instant(5, 0), To: instant(6, 0)})
	f(Options{From: instant(5, 3), To: instant(5, 4)})
	f(Options{From: instant(7, 0)})
	f(Options{To: instant(7, 0)})
	f(Options{GPU: "H100 SXM", From: instant(5, 10), To: instant(7, 22)})
}

// A filter leaves out what it does not name, and nothing of what it names: not even that the day's manifest lists it.
func TestDatabase_FilterByGPU(t *testing.T) {
	t.Parallel()
	f := func(name, statement, want string) {
		t.Helper()
		db := openMarket(t)
		storetest.Exec(t, db, statement)
		for _, rows := range []int{0, 30} {
			_, err := Database(t.Context(), db, Options{GPU: "H200", rows: rows})
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s, %d rows: %v, want %q", name, rows, err, want)
			}
		}
	}
	const of = ` WHERE series_id IN (SELECT series_id FROM series JOIN gpus USING (gpu_id) WHERE gpu_name = `
	f("a wrong chain of another GPU", `UPDATE records SET sequence = sequence + 1000`+of+`'B200')`, "")
	f("a wrong chain", `UPDATE records SET sequence = sequence + 1000`+of+`'H200')`, "the chain")
	f("a wrong hash of another GPU", `UPDATE records SET body = body || x'00'`+of+`'B200')`, "B200")
	f("a record of another GPU is missing", `DELETE FROM records`+of+`'B200')`, "B200")
}

// Damage is found in a day that is split, too.
func TestDatabase_Split(t *testing.T) {
	t.Parallel()
	for _, missing := range []string{
		"segments WHERE segment = (SELECT max(segment) FROM segments)", "records WHERE sequence = 7", "points WHERE revision = 1",
		"verifications WHERE event = 7", "corrections WHERE correction = 6", "receipts WHERE receipt = 21",
		"transaction_ids WHERE hash = (SELECT max(hash) FROM transaction_ids)",
	} {
		db := openMarket(t)
		storetest.Exec(t, db, `DELETE FROM `+missing)
		_, err := Database(t.Context(), db, Options{rows: 30})
		if !errors.Is(err, ErrDiffers) && !errors.Is(err, store.ErrDamaged) {
			t.Errorf("without %s: %v", missing, err)
		}
	}
}

// The other tests depend on this content of the market.
func TestMarket_HasEverything(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	ledger := ledgerOf(t, db)
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
	notices, err := db.Notices(t.Context(), 0, math.MaxInt64)
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
	f("events", len(ledger.Verifications), 7)
	f("corrections", len(ledger.Corrections), 5)
	f("publications", len(ledger.Publications), 7)
	f("unsigned days", len(ledger.Unsigned), 1)
	f("late and waiting", waiting, 2)
	f("series", len(ledger.Chains), 12)
	f("first revisions", count(func(r *store.Record) bool { return r.Revision == 1 }), 10)
	f("second revisions", count(func(r *store.Record) bool { return r.Revision == 2 }), 1)
	f("withdrawn values", count(func(r *store.Record) bool { return !r.HasValue }), 1)
	f("of the first methodology", count(func(r *store.Record) bool { return r.Methodology == "1.0.0" }), 100)
	f("of the second methodology", count(func(r *store.Record) bool { return r.Methodology == "1.1.0" }), 40)
	f("by a fallback", count(func(r *store.Record) bool { return r.Fallback != "" }), 1)
	f("with evidence", count(func(r *store.Record) bool { return strings.Contains(r.Volumes, "invoice") }), 10)
	f("with a judgement", count(func(r *store.Record) bool { return strings.Contains(r.Volumes, "judgement") }), 1)
	f("notices", len(notices), 10)
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
		"an earlier day":         {from: instant(5, 0), to: instant(6, 0)},
		"the damaged hour":       {from: instant(7, 0), to: instant(7, 9), affected: true},
		"later days":             {from: instant(7, 22), to: instant(9, 0)},
		"a later hour":           {from: instant(9, 12), to: instant(9, 13)},
		"from before the damage": {from: instant(5, 0), affected: true},
		"up to the damaged hour": {to: instant(7, 4), affected: true},
		"from after the damage":  {from: instant(8, 0)},
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
	another := Signatures{PublicKeys: [][]byte{make([]byte, ed25519.PublicKeySize)}}
	_, err := Database(t.Context(), openMarket(t), Options{Signatures: another})
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
	b := &marketBuilder{ctx: t.Context(), db: db, clock: marketEnd + assay.Hour}
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
