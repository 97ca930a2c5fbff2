package publish

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// A publisher whose connection goes silent in the middle of a version stops before the server gives the lock to another
// publisher. Its slots are published once, by the other.
func TestPostgres_SilentPublisherStopsFirst(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes as long as the timeout of a silent connection")
	}
	address := storetest.Postgres(t)
	wire := storetest.NewWire(t, address)
	db := storetest.OpenIn(t, address)
	mustAppend(t, db, rentals(start, end)...)
	first, _ := newPublisher(storetest.OpenIn(t, wire.Of(address)), end)
	second, _ := newPublisher(storetest.Another(t, db), end)

	type result struct {
		records int
		err     error
	}
	other := make(chan result, 1)
	stall := sync.OnceFunc(func() {
		wire.Stall()
		go func() {
			n, err := second.Backfill(t.Context(), start, end, nil)
			other <- result{n, err}
		}()
	})
	_, err := first.Backfill(t.Context(), start, end, func(int64) { stall() })
	if err == nil || !strings.Contains(err.Error(), "the publisher's lock was lost") {
		t.Errorf("the silent publisher ends with %v", err)
	}
	select {
	case r := <-other:
		t.Errorf("the other published %d records (%v) before the silent one stopped", r.records, r.err)
	default:
	}
	if got, err := db.Publications(t.Context(), 0, 1000); err != nil || len(got) != 0 {
		t.Errorf("there are %d publications already (%v)", len(got), err)
	}

	wire.Cut() // now the server notices, and releases the lock
	select {
	case r := <-other:
		if r.err != nil || r.records == 0 {
			t.Errorf("the other publishes %d records: %v", r.records, r.err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the other never gets the lock")
	}
	got := readWorld(t, db).coverage[store.CoverageKey{GPU: "H100 SXM", Grain: assay.Hourly}]
	if !slices.Equal(got, []store.Span{{From: start, To: end}}) {
		t.Errorf("covered is %v, want all from %d to %d", got, start, end)
	}
	wire.Mend()
	if n, err := first.Backfill(t.Context(), start, end, nil); err != nil || n != 0 {
		t.Errorf("reconnected, the first publishes %d records (%v), want none", n, err)
	}
}
