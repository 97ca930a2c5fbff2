package verify

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// marketReport is what there is to prove of the market.
var marketReport = Report{Transactions: 475, Records: 377, Manifests: 11, Unsigned: 2, PublicKeys: []string{base64.StdEncoding.EncodeToString(marketKey.Public().(ed25519.PublicKey))}}

func TestVerify_ProvesTheMarket(t *testing.T) {
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
	f(Options{Workers: 3, PublicKey: marketKey.Public().(ed25519.PublicKey)}, marketReport)
	f(Options{GPU: "H200"}, marketReport) // all are read, and one is computed
}

// The other tests damage what is in the market; so it must be in it.
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
	if err := db.EachLate(t.Context(), func(*store.Late) error { waiting++; return nil }); err != nil {
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
	f("values that are gone", count(func(r *store.Record) bool { return !r.HasValue }), 1)
	f("of the first methodology", count(func(r *store.Record) bool { return r.Methodology == "1.0.0" }), 100)
	f("of the second methodology", count(func(r *store.Record) bool { return r.Methodology == "1.1.0" }), 50)
	f("with outliers", count(func(r *store.Record) bool { return r.Adjusted.Winsorized > 0 }), 1)
	f("with capped providers", count(func(r *store.Record) bool { return r.Adjusted.Capped > 0 }), 1)
	f("with a withdrawn transaction", count(func(r *store.Record) bool { return r.Excluded.Withdrawn > 0 }), 1)
	f("with an unverified transaction", count(func(r *store.Record) bool { return r.Excluded.Unverified > 0 }), 1)
}

// Every period can be proven by itself, and what is damaged outside it does not matter to it.
func TestVerify_Periods(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	damaged := openMarket(t)
	hurt := first("H100 SXM", instant(7, 3), true)
	hour := hurt.ExecutedAt - hurt.ExecutedAt%assay.Hour
	storetest.Exec(t, damaged, `UPDATE segments SET checksum = checksum + 1 WHERE segment >> 32 = $1`, hour/assay.Hour)
	f := func(from, to int64, holds bool) {
		t.Helper()
		report, err := Database(t.Context(), db, Options{From: from, To: to})
		if err != nil || report.Records == 0 {
			t.Errorf("from %s to %s: %d records, %v", assay.FormatInstant(from), assay.FormatInstant(to), report.Records, err)
		}
		_, err = Database(t.Context(), damaged, Options{From: from, To: to})
		if holds != (err != nil) || holds && !strings.Contains(err.Error(), assay.FormatInstant(hour)) {
			t.Errorf("from %s to %s, damaged: %v", assay.FormatInstant(from), assay.FormatInstant(to), err)
		}
	}
	// Time is read in parts of four days from the fixing on which it begins; a period touches the parts it touches.
	f(instant(5, 0), instant(6, 0), true)
	f(instant(7, 0), instant(7, 9), true)
	f(instant(7, 22), instant(9, 0), false)
	f(instant(9, 12), instant(9, 13), false)
	f(instant(5, 0), 0, true)
	f(0, instant(7, 4), true)
	f(instant(8, 0), 0, false)
}

func TestVerify_NothingThere(t *testing.T) {
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

func TestVerify_AnotherKey(t *testing.T) {
	t.Parallel()
	_, err := Database(t.Context(), openMarket(t), Options{PublicKey: make([]byte, ed25519.PublicKeySize)})
	if !errors.Is(err, ErrDiffers) || !strings.Contains(err.Error(), "manifest of 2026-03-04, revision 0: it is signed with another key") {
		t.Error(err)
	}
}

// What comes while a verification runs is not its business, and must not look like a difference.
func TestVerify_WhileOthersWrite(t *testing.T) {
	t.Parallel()
	written := 0
	for n := int64(1); n < 500; n += n/4 + 1 { // more uses than a verification makes
		wrote := whileWriting(t, n, func(ctx context.Context, db *store.DB) {
			got, err := Database(ctx, db, Options{})
			if err != nil || got.Records < marketReport.Records {
				t.Fatalf("written at use %d: %+v, %v", n, got, err)
			}
		})
		if wrote {
			written++
		}
	}
	if written < 5 {
		t.Errorf("only %d verifications saw somebody write", written)
	}
}

// whileWriting does something with the market, and when it uses its context for the nth time, another process writes.
func whileWriting(t *testing.T, n int64, do func(ctx context.Context, db *store.DB)) (wrote bool) {
	t.Helper()
	db := openMarket(t)
	other := storetest.Another(t, db)
	var mu sync.Mutex
	over := false // a context may be used once more when all is over
	ctx := storetest.AtUse(t.Context(), n, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			wrote = true
			writeMore(t, other)
		}
	})
	do(ctx, db)
	mu.Lock()
	defer mu.Unlock()
	over = true
	return wrote
}

// writeMore does to the market all that changes the ledger.
func writeMore(t *testing.T, db *store.DB) {
	t.Helper()
	b := &marketBuilder{ctx: t.Context(), db: db, clock: marketEnd + assay.Day}
	b.publisher = publisherOf(b)
	b.receive(rentals(marketEnd, marketEnd+2*assay.Hour)...)
	b.receive(late("H100 SXM", instant(6, 9), 77))
	b.say(first("H100 SXM", instant(6, 11), true), false)
	b.restate("H100 SXM", instant(6, 0), instant(7, 21))
	b.publish(marketEnd + 2*assay.Hour)
	b.sign()
	if b.err != nil {
		t.Error(b.err)
	}
}

// The first difference in the order of time is the one that is named, however many workers look.
func TestVerify_NamesTheFirst(t *testing.T) {
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
		t.Errorf("%s: that is not the first transaction", want)
	}
}

func TestVerify_Progress(t *testing.T) {
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
