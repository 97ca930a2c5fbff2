package store_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// print returns a print of a line at a minute.
func print(gpu, region string, minute int64, value assay.Nanos) store.LinePrint {
	return store.LinePrint{
		Line:          assay.Line{GPU: gpu, Region: region},
		RealtimePrint: assay.RealtimePrint{At: minute * assay.Minute, Value: value, Transactions: 3, HourMicros: 5},
	}
}

func appendRealtime(t *testing.T, db *store.DB, upTo int64, prints ...store.LinePrint) {
	t.Helper()
	if err := db.AppendRealtime(t.Context(), prints, upTo*assay.Minute); err != nil {
		t.Fatal(err)
	}
}

func wantRealtime(t *testing.T, db *store.DB, after, upTo int64, want ...store.LinePrint) {
	t.Helper()
	got, err := db.Realtime(t.Context(), after, upTo)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("(%d, %d] has the prints\n%+v (%v), want\n%+v", after, upTo, got, err, want)
	}
}

func TestRealtime_InTheOrderOfTime(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		east, global := print("H100 SXM", "us-east", 100, 1), print("H100 SXM", assay.Global, 100, 2)
		other, next := print("H200", assay.Global, 100, math.MaxInt64), print("H100 SXM", assay.Global, 101, 4)
		appendRealtime(t, db, 101, next, other, east, global)
		wantRealtime(t, db, 0, math.MaxInt64, global, east, other, next)
		wantRealtime(t, db, 100*assay.Minute, 101*assay.Minute, next) // after the first bound, up to and including the second
		wantRealtime(t, db, 99*assay.Minute, 100*assay.Minute, global, east, other)
		if got := mustCounters(t, db).Realtime; got != 101*assay.Minute {
			t.Errorf("the counter is %d, want the newest minute", got)
		}
	})
}

// A minute is printed once. No other value or line is added later, since followers have read the minute.
func TestRealtime_Once(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		first := print("H100 SXM", assay.Global, 100, 1)
		appendRealtime(t, db, 100, first)
		appendRealtime(t, db, 100, print("H100 SXM", assay.Global, 100, 2),
			print("H200", assay.Global, 100, 2), print("H200", assay.Global, 99, 2))
		wantRealtime(t, db, 0, math.MaxInt64, first)
		appendRealtime(t, db, 99) // a slower publisher does not lower the counter
		if got := mustCounters(t, db).Realtime; got != 100*assay.Minute {
			t.Errorf("the counter is %d, want 100 minutes", got)
		}
		next := print("H200", assay.Global, 102, 3)
		appendRealtime(t, db, 102, print("H100 SXM", assay.Global, 100, 4), next)
		wantRealtime(t, db, 0, math.MaxInt64, first, next)
	})
}

func TestRealtime_KeptTwoDays(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		const twoDays = 2 * 24 * 60
		one, two := print("H100 SXM", assay.Global, 100, 1), print("H100 SXM", assay.Global, 101, 1)
		appendRealtime(t, db, 101, one, two)
		appendRealtime(t, db, 100+twoDays)
		wantRealtime(t, db, 0, math.MaxInt64, one, two)
		appendRealtime(t, db, 101+twoDays)
		wantRealtime(t, db, 0, math.MaxInt64, two)
		appendRealtime(t, db, 102+twoDays)
		wantRealtime(t, db, 0, math.MaxInt64)
	})
}

func TestRealtime_UnknownLine(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := func(gpu, region string) {
			t.Helper()
			prints := []store.LinePrint{print("H200", assay.Global, 100, 1), print(gpu, region, 100, 1)}
			err := db.AppendRealtime(t.Context(), prints, 100*assay.Minute)
			if err == nil || !strings.Contains(err.Error(), "not in the catalog") {
				t.Errorf("a print of %s in %s returns the error %v", gpu, region, err)
			}
			wantRealtime(t, db, 0, math.MaxInt64)
			if got := mustCounters(t, db).Realtime; got != 0 {
				t.Errorf("the counter is %d, although nothing was stored", got)
			}
		}
		f("h200", assay.Global)
		f("H200", "moon")
		f("H200", "")
	})
}
