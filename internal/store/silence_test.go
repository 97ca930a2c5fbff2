package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/store/storetest"
)

// TestPostgres_SilentNetwork is about connections that stay and over which nothing comes: whatever is bounded ends when it
// should, and all goes on once the network does.
func TestPostgres_SilentNetwork(t *testing.T) {
	address := storetest.Postgres(t)
	wire := storetest.NewWire(t, address)
	db := storetest.OpenIn(t, wire.Of(address))
	calls := map[string]func(context.Context) error{
		"Ping":       db.Ping,
		"Counters":   func(ctx context.Context) error { _, err := db.Counters(ctx); return err },
		"Head":       func(ctx context.Context) error { _, _, err := db.Head(ctx); return err },
		"Register":   func(ctx context.Context) error { _, err := db.Register(ctx); return err },
		"SetSetting": func(ctx context.Context) error { return db.SetSetting(ctx, "a", "b") },
	}
	const bound, slack = 200 * time.Millisecond, 3 * time.Second // on a busy machine; without a bound it would be 5 seconds or more
	for name, call := range calls {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wire.Stall()
		for _, connection := range []string{"that was good before", "that has yet to be made"} {
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			began := time.Now()
			err := call(ctx)
			cancel()
			if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > bound+slack {
				t.Errorf("%s in silence, with a connection %s: %v after %v, want the end of the bound %v", name, connection, err, took, bound)
			}
		}
		wire.Mend()
		if err := call(t.Context()); err != nil {
			t.Errorf("%s after the silence: %v", name, err)
		}
	}
	changed := db.Changed()
	if err := storetest.Another(t, db).SetSetting(t.Context(), "a", "c"); err != nil {
		t.Fatal(err)
	}
	storetest.Await(t, changed)
}
