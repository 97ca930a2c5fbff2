package publish

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// A publisher whose connection falls silent in the middle of a step stops before the server gives the lock to
// another: what it has computed is published once, by the other.
func TestPostgres_SilentPublisherStopsFirst(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes as long as silence is waited for")
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
		t.Errorf("the silent publisher ends with the error %v", err)
	}
	select {
	case r := <-other:
		t.Errorf("the other has published %d records (%v) before the silent one has stopped", r.records, r.err)
	default:
	}
	if got, err := db.Publications(t.Context(), 0, 1000); err != nil || len(got) != 0 {
		t.Errorf("there are %d publications already (%v)", len(got), err)
	}

	wire.Cut() // now the server notices, and lets go of the lock
	select {
	case r := <-other:
		if r.err != nil || r.records == 0 {
			t.Errorf("the other publishes %d records: %v", r.records, r.err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the other never gets the lock")
	}
	if got := readWorld(t, db).coverage[store.CoverageKey{GPU: "H100 SXM", Grain: assay.Hourly}]; len(got) != 1 || got[0] != (store.Span{From: start, To: end}) {
		t.Errorf("covered is %v, want all from %d to %d", got, start, end)
	}
	wire.Mend()
	if n, err := first.Backfill(t.Context(), start, end, nil); err != nil || n != 0 {
		t.Errorf("back again, the first publishes %d records (%v), and nothing is left", n, err)
	}
}
