package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// A process that stops in the middle of a write transaction does not block other writers for long.
func TestPostgres_SilentWriter(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	other := storetest.OpenIn(t, address) // it makes the tables, for which a busy machine takes long
	silent := storetest.OpenIn(t, address+"&idle_in_transaction_session_timeout=1s")
	account := mustAccount(t, other, "ann@example.com")
	_, err := silent.ChangeGrants(t.Context(), account.ID, func([]assay.Grant, int64) (store.GrantChange, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := other.SetSetting(ctx, "color", "blue"); err != nil {
			t.Errorf("another write: %v", err)
		}
		return store.GrantChange{Add: assay.Grant{AccountID: account.ID, Plan: assay.PlanFull}}, nil
	})
	if err == nil {
		t.Error("the silent transaction was committed")
	}
}

// Only writers hold a lock, so a read may pause between two statements.
func TestPostgres_IdleSessions(t *testing.T) {
	t.Parallel()
	writing, reading := store.SessionSettings(t, openPostgres(t), "idle_in_transaction_session_timeout")
	if writing != "10s" || reading != "0" {
		t.Errorf("writing sessions may be idle for %s and reading ones for %s, want 10s and 0", writing, reading)
	}
}

// Compiling a statement would take longer than all statements of an import.
func TestPostgres_CompilesNothing(t *testing.T) {
	t.Parallel()
	f := func(name, address, want string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			writing, reading := store.SessionSettings(t, storetest.OpenIn(t, address), "jit")
			if writing != want || reading != want {
				t.Errorf("jit is %s for writing and %s for reading, want %s", writing, reading, want)
			}
		})
	}
	address := storetest.Postgres(t)
	f("by default", address, "off")
	f("unless the address says otherwise", address+"&jit=on", "on")
}
