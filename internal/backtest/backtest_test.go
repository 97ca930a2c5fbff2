package backtest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// The market of the tests is in March 2026. New York changes its clocks on the 8th: days end at 21:00 UTC before, and
// at 20:00 after.
func marchUTC(day, hour int) int64 {
	return time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC).UnixMilli()
}

// candidateText is the methodology under test: no provider weighs more than half, so two are needed.
const candidateText = `
version   = "2.0.0"
effective = 2027-01-01T00:00:00Z
decimals  = 4
[fixing]
zone = "America/New_York"
time = "16:00"
[minimum]
transactions = 1
providers    = 2
[cap]
provider_share = 50
`

func mustMethodology(t *testing.T, text string) index.Methodology {
	t.Helper()
	m, err := index.ParseMethodology(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// adoptPlain adopts methodology 1.0.0.
func adoptPlain(ctx context.Context, db *store.DB) error {
	plain := index.Plain()
	return db.AdoptMethodology(ctx, assay.MethodologyFile{
		Version: plain.Version, Effective: plain.Effective, Text: index.PlainText(),
	}, 0)
}

func rental(id string, at int64, provider, price string, gpus int64) assay.Transaction {
	return assay.Transaction{
		Source: "test", ID: id, ExecutedAt: at, GPU: "H100 SXM", Region: "us-east", Price: decimal(price),
		GPUs: gpus, HourMicros: 1_000_000, Provider: provider, Verified: true,
	}
}

// marketFile is the file of a database with five published days of the H100 and one rental of the H200. It is made
// once.
var marketFile = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "assay-backtest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	db, err := store.Create(ctx, "sqlite://"+dir)
	if err != nil {
		return nil, err
	}
	err = errors.Join(adoptPlain(ctx, db), fillMarket(ctx, db), db.Close())
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, store.FileName))
})

func fillMarket(ctx context.Context, db *store.DB) error {
	other := rental("h200", marchUTC(5, 12), "Alder", "3", 1)
	other.GPU = "H200"
	_, err := db.AppendTransactions(ctx, []assay.Transaction{
		// 2.25, capped 2.5
		rental("1a", marchUTC(5, 12), "Alder", "2", 3), rental("1b", marchUTC(5, 13), "Birch", "3", 1),
		// 2, capped 2
		rental("2a", marchUTC(6, 12), "Alder", "2", 1), rental("2b", marchUTC(6, 13), "Birch", "2", 1),
		// 4, and one provider is not enough for the candidate
		rental("3a", marchUTC(7, 12), "Alder", "4", 1),
		// nothing on the 8th; 2.75, capped 2.5
		rental("5a", marchUTC(9, 12), "Alder", "3", 3), rental("5b", marchUTC(9, 13), "Birch", "2", 1),
		other,
	})
	if err != nil {
		return err
	}
	_, err = publisherOf(db).Backfill(ctx, marchUTC(4, 21), marchUTC(9, 20), nil)
	return err
}

func publisherOf(db *store.DB) *publish.Publisher {
	db.Now = func() time.Time { return time.UnixMilli(marchUTC(10, 0)) }
	return &publish.Publisher{Store: db, Now: db.Now, Log: slog.New(slog.DiscardHandler)}
}

// openMarket opens a copy of the market.
func openMarket(t *testing.T) *store.DB {
	t.Helper()
	file, err := marketFile()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, store.FileName), file, 0o600); err != nil {
		t.Fatal(err)
	}
	return storetest.OpenIn(t, dir)
}

func withdraw(t *testing.T, db *store.DB, id string) {
	t.Helper()
	v := assay.Verification{Source: "test", ID: id, Actor: "test", Reason: "a mistake"}
	if _, err := db.AddVerifications(t.Context(), v); err != nil {
		t.Fatal(err)
	}
}

func restate(t *testing.T, db *store.DB, from, to int64) {
	t.Helper()
	r := publish.Restatement{GPU: "H100 SXM", From: from, To: to, Reason: "a mistake", Actor: "test"}
	if _, err := publisherOf(db).Restate(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func mustRun(t *testing.T, db *store.DB, o Options) *Comparison {
	t.Helper()
	if o.Candidate.Version == "" {
		o.Candidate = mustMethodology(t, candidateText)
	}
	c, err := Run(t.Context(), db, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func decimal(text string) assay.Nanos {
	n, err := assay.ParseDecimal(text, 9)
	if err != nil {
		panic(err)
	}
	return assay.Nanos(n)
}

// both, onlyBase and neither make the days of a test.
func both(at int64, base, candidate string) Day {
	return Day{At: at, Base: decimal(base), Candidate: decimal(candidate), HasBase: true, HasCandidate: true}
}

func onlyBase(at int64, base string) Day { return Day{At: at, Base: decimal(base), HasBase: true} }

func neither(at int64) Day { return Day{At: at} }

func TestRun_AgainstPublishedValues(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	got := mustRun(t, db, Options{})
	if got.Candidate != "2.0.0" || got.Against != "" || cmp.Diff([]string{"1.0.0"}, got.Published) != "" {
		t.Errorf("%s against %q of %q, want 2.0.0 against the values of 1.0.0", got.Candidate, got.Against, got.Published)
	}
	if len(got.Series) != len(assay.DefaultCatalog().GPUs) {
		t.Errorf("%d GPUs, want those of the catalog", len(got.Series))
	}
	f := func(line Series, gpu string, want ...Day) {
		t.Helper()
		if diff := cmp.Diff(Series{Name: gpu, Days: want}, line); diff != "" {
			t.Errorf("%s (-want +got):\n%s", gpu, diff)
		}
	}
	f(got.Series[0], "H100 SXM",
		both(marchUTC(5, 21), "2.25", "2.5"), both(marchUTC(6, 21), "2", "2"), onlyBase(marchUTC(7, 21), "4"),
		neither(marchUTC(8, 20)), both(marchUTC(9, 20), "2.75", "2.5"))
	f(got.Series[1], "H200",
		onlyBase(marchUTC(5, 21), "3"), neither(marchUTC(6, 21)), neither(marchUTC(7, 21)),
		neither(marchUTC(8, 20)), neither(marchUTC(9, 20)))

	want := Summary{
		Days: 5, Base: 4, Candidate: 3, Moved: 2, Compared: 3,
		// +11.1111…, 0 and -9.0909…
		Mean: decimal("0.6734"), MeanAbsolute: decimal("6.734"), Largest: decimal("11.1111"), LargestAt: marchUTC(5, 21),
	}
	if diff := cmp.Diff(want, got.Series[0].Summary()); diff != "" {
		t.Errorf("summary of the H100 (-want +got):\n%s", diff)
	}
	want.Days, want.Base = 5*len(got.Series), 5
	if diff := cmp.Diff(want, got.Summary()); diff != "" {
		t.Errorf("summary of all (-want +got):\n%s", diff)
	}
}

func TestRun_InputsAsKnownNow(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	f := func(against, base, candidate string, stale int) {
		t.Helper()
		o := Options{Against: against, GPU: "H100 SXM", From: marchUTC(6, 0), To: marchUTC(7, 0)}
		got := mustRun(t, db, o)
		want := []Series{{Name: "H100 SXM", Days: []Day{both(marchUTC(6, 21), base, candidate)}, Stale: stale}}
		if diff := cmp.Diff(want, got.Series); diff != "" {
			t.Errorf("against %q (-want +got):\n%s", against, diff)
		}
		if got.Stale() != stale {
			t.Errorf("%d days are stale, want %d", got.Stale(), stale)
		}
	}
	f("", "2", "2", 0)
	f("1.0.0", "2", "2", 0)

	// After a late rental the published value stays, and the computed values change. Alder has 4 on average, Birch 2.
	late := []assay.Transaction{rental("late", marchUTC(6, 14), "Alder", "5", 2)}
	if _, err := db.AppendTransactions(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	f("", "2", "3", 1)
	f("1.0.0", "3.5", "3", 0)

	// After a restatement the newest revision counts.
	restate(t, db, marchUTC(5, 21), marchUTC(6, 21))
	f("", "3.5", "3", 0)

	// A withdrawn rental does not count, but the published value stays.
	withdraw(t, db, "late")
	f("", "3.5", "2", 1)
	f("1.0.0", "2", "2", 0)
}

// A withdrawn value is no value.
func TestRun_WithdrawnValue(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	withdraw(t, db, "3a")
	restate(t, db, marchUTC(6, 21), marchUTC(7, 21))
	got := mustRun(t, db, Options{GPU: "H100 SXM", From: marchUTC(7, 21), To: marchUTC(7, 22)})
	want := []Series{{Name: "H100 SXM", Days: []Day{neither(marchUTC(7, 21))}}}
	if diff := cmp.Diff(want, got.Series); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRun_RequestedDays(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	f := func(from, to int64, want ...int64) {
		t.Helper()
		var got []int64
		for _, d := range mustRun(t, db, Options{GPU: "H100 SXM", From: from, To: to}).Series[0].Days {
			got = append(got, d.At)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("days in [%s, %s) (-want +got):\n%s", assay.FormatInstant(from), assay.FormatInstant(to), diff)
		}
	}
	f(0, 0, marchUTC(5, 21), marchUTC(6, 21), marchUTC(7, 21), marchUTC(8, 20), marchUTC(9, 20))
	f(marchUTC(6, 21), 0, marchUTC(6, 21), marchUTC(7, 21), marchUTC(8, 20), marchUTC(9, 20))
	f(marchUTC(6, 22), marchUTC(8, 20), marchUTC(7, 21))
	f(0, marchUTC(8, 20)+1, marchUTC(5, 21), marchUTC(6, 21), marchUTC(7, 21), marchUTC(8, 20))
}

func TestRun_Rejected(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	f := func(o Options, want string) {
		t.Helper()
		_, err := Run(t.Context(), db, o)
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	candidate := mustMethodology(t, candidateText)
	f(Options{Candidate: candidate, Against: "1.1.0"}, `there is no version "1.1.0"; this database has 1.0.0`)
	f(Options{Candidate: candidate, From: marchUTC(10, 0)}, ErrNothingPublished.Error())
	f(Options{Candidate: candidate, GPU: "H300"}, ErrNothingPublished.Error())
	f(Options{Candidate: mustMethodology(t, strings.Replace(candidateText, "16:00", "15:00", 1))},
		"fixing: version 2.0.0 fixes days at 15:00 America/New_York and this database at 16:00 America/New_York, "+
			"so their days cannot be compared")
	f(Options{Candidate: mustMethodology(t, strings.Replace(candidateText, "America/New_York", "Europe/London", 1))},
		"fixing: version 2.0.0 fixes days at 16:00 Europe/London and this database at 16:00 America/New_York, "+
			"so their days cannot be compared")
}

// A backtest only reads.
func TestRun_ChangesNothing(t *testing.T) {
	t.Parallel()
	type state struct {
		Counters      store.Counters
		Methodologies int
		Records       int64
	}
	read := func(db *store.DB) state {
		t.Helper()
		counters, err := db.Counters(t.Context())
		files, err2 := db.Methodologies(t.Context())
		ledger, err3 := db.Ledger(t.Context())
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		return state{Counters: counters, Methodologies: len(files), Records: ledger.Records}
	}
	f := func(db *store.DB, want error) {
		t.Helper()
		before := read(db)
		_, err := Run(t.Context(), db, Options{Candidate: mustMethodology(t, candidateText)})
		if !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
		if diff := cmp.Diff(before, read(db)); diff != "" {
			t.Errorf("the database has changed (-before +after):\n%s", diff)
		}
	}
	db := openMarket(t)
	f(db, nil)
	f(storetest.Open(t), ErrNothingPublished) // a publisher would adopt a methodology here
}

func TestRun_Progress(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	var steps []float64
	seen := 0
	mustRun(t, db, Options{Progress: func(done float64, transactions int) {
		steps, seen = append(steps, done), transactions
	}})
	if len(steps) != 2 || steps[0] <= 0 || steps[0] >= 1 || steps[1] != 1 || seen != 8 {
		t.Errorf("progress %v with %d transactions, want two steps to 1, with 8", steps, seen)
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	f := func(want Summary, days ...Day) {
		t.Helper()
		for i := range days {
			days[i].At = int64(i + 1)
		}
		line := Series{Days: days}
		want.Days = len(days)
		if diff := cmp.Diff(want, line.Summary()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	f(Summary{})
	f(Summary{Base: 1}, onlyBase(0, "2"))
	f(Summary{Base: 1, Candidate: 1, Compared: 1}, both(0, "2", "2"))
	// The middle rounds to the even digit: 0.00005 and 0.00015.
	f(Summary{Base: 2, Candidate: 2, Moved: 1, Compared: 2, Largest: decimal("0.0001"), LargestAt: 1},
		both(0, "1", "1.000001"), both(0, "1", "1"))
	f(Summary{
		Base: 2, Candidate: 2, Moved: 1, Compared: 2,
		Mean: decimal("-0.0002"), MeanAbsolute: decimal("0.0002"), Largest: decimal("-0.0003"), LargestAt: 2,
	},
		both(0, "1", "1"), both(0, "1", "0.999997"))
	// Up and down cancel out in the mean; of two equal sizes the first is the largest.
	f(Summary{
		Base: 2, Candidate: 2, Moved: 2, Compared: 2, MeanAbsolute: decimal("10"), Largest: decimal("-10"), LargestAt: 1,
	},
		both(0, "2", "1.8"), both(0, "2", "2.2"))
	// There is no percentage of zero, but the day has moved.
	f(Summary{
		Base: 2, Candidate: 2, Moved: 2, Compared: 1,
		Mean: decimal("50"), MeanAbsolute: decimal("50"), Largest: decimal("50"), LargestAt: 2,
	},
		both(0, "0", "1"), both(0, "2", "3"))
	// Nor does one of nearly zero say anything, or fit.
	f(Summary{Base: 1, Candidate: 1, Moved: 1}, both(0, "0.000001", "1000000"))
}

// Among equal differences of several GPUs, the earliest day is the largest.
func TestSummary_AllGPUs(t *testing.T) {
	t.Parallel()
	c := Comparison{Series: []Series{{Days: []Day{both(2, "1", "2")}}, {Days: []Day{both(1, "2", "4")}}}}
	if s := c.Summary(); s.Largest != decimal("100") || s.LargestAt != 1 {
		t.Errorf("largest %s at %d, want 100 at 1", s.Largest, s.LargestAt)
	}
}
