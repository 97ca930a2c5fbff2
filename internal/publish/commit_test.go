package publish

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
)

// lastPublication reads the newest publication, and how many there are.
func lastPublication(t *testing.T, db *store.DB) (last assay.Publication, n int) {
	t.Helper()
	ledger, err := db.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n = len(ledger.Publications)
	return ledger.Publications[n-1], n
}

// A version is dated ahead, and committed while at least half of that time is left. If writing takes longer, nothing is
// committed, and it is sealed again with a later date.
func TestCommit_DatedAhead(t *testing.T) {
	t.Parallel()
	f := func(writing, wantLeft int64) { // between two looks at the clock
		t.Helper()
		db := loaded(t)
		p, clock := newPublisher(db, end)
		p.Lead = time.Second
		p.Now = func() time.Time { return time.UnixMilli(clock.ms.Add(writing)) }
		ok(t)(p.Backfill(t.Context(), start, start+2*assay.Hour, nil))
		last, n := lastPublication(t, db)
		if left := last.PublishedAt - clock.ms.Load(); n != 1 || left < wantLeft {
			t.Errorf("writing takes %d ms: %d versions, committed %d ms before their date, want 1 and %d ms",
				writing, n, left, wantLeft)
		}
		records, err := db.AppendRecords(t.Context(), nil, start, end)
		if err != nil || len(records) == 0 {
			t.Fatalf("%d records (%v)", len(records), err)
		}
		for i := range records {
			if r := &records[i].Determination; r.PublishedAt != last.PublishedAt || proof.Record(r) != r.Hash {
				t.Fatalf("a record is dated %d or sealed wrongly; its version is dated %d", r.PublishedAt, last.PublishedAt)
			}
		}
	}
	f(1, 990)
	f(700, 1000)       // twice the lead
	f(40_000, -40_000) // too long for any lead: committed whenever it is ready
}

// A command that publishes ends when readers have what it published, and does not wait for a clock that was set back.
func TestSettle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := func(lead, ahead, want time.Duration) {
			t.Helper()
			p := &Publisher{Lead: lead, Now: time.Now, published: time.Now().Add(ahead).UnixMilli()}
			begun := time.Now()
			p.AwaitServed(t.Context())
			if waited := time.Since(begun); waited != want {
				t.Errorf("with a lead of %v and a version %v ahead it waits %v, want %v", lead, ahead, waited, want)
			}
		}
		f(time.Second, 700*time.Millisecond, 700*time.Millisecond)
		f(time.Second, -time.Hour, 0)
		f(time.Second, time.Hour, 0)
		f(0, time.Second, 0)
	})
}
