package publish

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/tools/testenv"
)

var global = assay.Line{GPU: "H100 SXM", Region: assay.Global}

func realtime(t *testing.T, p *Publisher) {
	t.Helper()
	if err := p.Realtime(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func printsOf(t *testing.T, db *store.DB, line assay.Line) (prints []assay.RealtimePrint) {
	t.Helper()
	all, err := db.Realtime(t.Context(), 0, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Line == line {
			prints = append(prints, p.RealtimePrint)
		}
	}
	return prints
}

// plainPrints computes the prints directly: all H100s of the 60 minutes before each minute.
func plainPrints(all []assay.Transaction, first, last int64) (prints []assay.RealtimePrint) {
	for at := first; at <= last; at += assay.Minute {
		p := assay.RealtimePrint{At: at}
		var inside []assay.Transaction
		for _, x := range all {
			if x.GPU == global.GPU && x.ExecutedAt >= at-assay.Hour && x.ExecutedAt < at && x.Verified {
				inside = append(inside, x)
				p.Transactions++
				p.HourMicros += x.GPUs * x.HourMicros
			}
		}
		if p.Transactions > 0 {
			p.Value = average(inside, global.GPU)
			prints = append(prints, p)
		}
	}
	return prints
}

func wantPrints(t *testing.T, db *store.DB, want []assay.RealtimePrint) {
	t.Helper()
	got := printsOf(t, db, global)
	if !slices.Equal(got, want) {
		t.Errorf("there are %d prints, want %d:\n%+v, want\n%+v", len(got), len(want), got, want)
	}
}

// Minute by minute, after a gap of hours, and called twice: every minute of the last day has one print.
func TestRealtime_TrailingHour(t *testing.T) {
	t.Parallel()
	noon := instant(6, 12, 0)
	all := rentals(noon-2*assay.Hour, noon+6*assay.Hour)
	for i := range all {
		all[i].ExecutedAt += int64(i%7) * assay.Minute / 2 // some on the minute, some between
	}
	all = slices.DeleteFunc(all, func(x assay.Transaction) bool { // a gap of more than an hour
		return x.ExecutedAt > noon+assay.Hour && x.ExecutedAt < noon+3*assay.Hour
	})
	db := storetest.Open(t)
	mustAppend(t, db, all...)
	p, c := newPublisher(db, noon)
	for _, at := range []int64{
		noon, noon + 1, noon + assay.Minute - 1, noon + assay.Minute, noon + 2*assay.Minute, noon + 5*assay.Hour, noon,
	} {
		c.ms.Store(at)
		realtime(t, p)
		realtime(t, p)
	}
	wantPrints(t, db, plainPrints(all, noon-assay.Day+assay.Minute, noon+5*assay.Hour))
	east := printsOf(t, db, assay.Line{GPU: "H100 SXM", Region: "us-east"})
	if !slices.Equal(east, printsOf(t, db, global)) { // all H100s are there
		t.Errorf("us-east has other prints: %+v", east)
	}
	if other := printsOf(t, db, assay.Line{GPU: "H200", Region: "us-east"}); len(other) != 0 {
		t.Errorf("H200s without a region have prints in us-east: %+v", other)
	}
}

// Missed prints are made as far back as the API shows them, and no further.
func TestRealtime_LongGap(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	db := loaded(t)
	all := rentals(start, end)
	first, later := instant(6, 12, 0), instant(9, 12, 0)
	p, c := newPublisher(db, first)
	realtime(t, p)
	c.ms.Store(later)
	realtime(t, p)
	want := plainPrints(all, later-assay.Day+assay.Minute, later) // the earlier prints are too old to be kept
	wantPrints(t, db, want)
}

// Missed prints are stored in pieces, so that other writers get in between. What is stored stays when the rest fails.
func TestRealtime_Pieces(t *testing.T) {
	t.Parallel()
	db := loaded(t)
	later := instant(9, 12, 0)
	p, _ := newPublisher(db, later)
	p.pieceSize = 100
	stop := later - 3*assay.Hour
	storetest.Exec(t, db, `CREATE TRIGGER full BEFORE INSERT ON realtime WHEN NEW.at > `+fmt.Sprint(stop)+`
		BEGIN SELECT RAISE(ABORT, 'no room'); END`)
	if err := p.Realtime(t.Context()); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("the prints end with %v", err)
	}
	prints := printsOf(t, db, global)
	if last := prints[len(prints)-1].At; last > stop || last < stop-assay.Hour {
		t.Errorf("before it failed, prints to %s were stored, want nearly to %s",
			assay.FormatInstant(last), assay.FormatInstant(stop))
	}
	storetest.Exec(t, db, `DROP TRIGGER full`)
	realtime(t, p)
	wantPrints(t, db, plainPrints(rentals(start, end), later-assay.Day+assay.Minute, later))
}

// A withdrawn rental does not count in later prints; earlier prints stay.
func TestRealtime_Withdrawn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testRealtimeWithdrawn)
}

func testRealtimeWithdrawn(t *testing.T, db *store.DB) {
	noon := instant(6, 12, 0)
	all := rentals(noon-assay.Hour, noon)
	mustAppend(t, db, all...)
	p, c := newPublisher(db, noon)
	realtime(t, p)
	before := printsOf(t, db, global)
	last := slices.IndexFunc(all, func(x assay.Transaction) bool {
		return x.GPU == global.GPU && x.ExecutedAt > noon-assay.Hour
	})
	mustVerify(t, db, all[last].ID, false)
	all[last].Verified = false
	c.ms.Store(noon + assay.Minute)
	realtime(t, p)
	wantPrints(t, db, append(before, plainPrints(all, noon+assay.Minute, noon+assay.Minute)...))
}

// Below the methodology's minimum, no print is made.
func TestRealtime_Minimum(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testRealtimeMinimum)
}

func testRealtimeMinimum(t *testing.T, db *store.DB) {
	noon := instant(6, 12, 0)
	all := rentals(noon-assay.Hour, noon+assay.Hour)
	mustAppend(t, db, all...)
	adopt(t, db, noon+20*assay.Minute, `transactions = 1`, `transactions = 4`)
	p, _ := newPublisher(db, noon+2*assay.Hour)
	realtime(t, p)
	want := slices.DeleteFunc(plainPrints(all, noon-assay.Hour, noon+2*assay.Hour), func(x assay.RealtimePrint) bool {
		return x.At >= noon+20*assay.Minute && x.Transactions < 4
	})
	wantPrints(t, db, want)
}
