package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/store/storetest"
)

// Connections may stay open but carry no data. Every call then ends with its context, and works again when the network
// does. Connecting alone would take minutes here, so a call that ignores its context does not end in time.
func TestPostgres_SilentNetwork(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t) + "&connect_timeout=600"
	wire := storetest.NewWire(t, address)
	db := storetest.OpenIn(t, wire.Of(address))
	for name, call := range map[string]func(context.Context) error{
		"Ping":       db.Ping,
		"Counters":   func(ctx context.Context) error { _, err := db.Counters(ctx); return err },
		"Head":       func(ctx context.Context) error { _, _, err := db.Head(ctx); return err },
		"Directory":  func(ctx context.Context) error { _, err := db.Directory(ctx); return err },
		"SetSetting": func(ctx context.Context) error { return db.SetSetting(ctx, "a", "b") },
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(t.Context()); err != nil {
				t.Error(err)
			}
			wire.Stall()
			for _, connection := range []string{"that worked before", "that is new"} {
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				ended := make(chan error, 1)
				go func() { ended <- call(ctx) }()
				select {
				case err := <-ended:
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("with a connection %s: %v, want %v", connection, err, context.DeadlineExceeded)
					}
				case <-time.After(waitTimeout):
					t.Fatalf("with a connection %s the call does not end with its context", connection)
				}
				cancel()
			}
			wire.Mend()
			if err := call(t.Context()); err != nil {
				t.Errorf("after the silence: %v", err)
			}
		})
	}
	changed := db.Changed()
	if err := storetest.Another(t, db).SetSetting(t.Context(), "a", "c"); err != nil {
		t.Fatal(err)
	}
	storetest.Await(t, changed)
}
