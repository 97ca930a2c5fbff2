package storetest

import (
	"context"
	"testing"
	"time"
)

// Run runs the loops until the test ends or stop is called, and waits until they have returned.
func Run(t testing.TB, loops ...func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	for _, loop := range loops {
		go func() { done <- loop(ctx) }()
	}
	running := len(loops)
	stop = func() {
		cancel()
		for ; running > 0; running-- {
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		}
	}
	t.Cleanup(stop)
	return stop
}

// waitTimeout ends a test that hangs. It is much longer than any step takes on a busy machine, so that no test fails
// because something was slow.
const waitTimeout = time.Minute

// Eventually waits until a condition holds. The description of the condition is for the failure message.
func Eventually(t testing.TB, description string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(waitTimeout)
	for !holds() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("timed out waiting until %s", description)
		}
	}
}

// Await waits until a channel of store.DB.Changed is closed.
func Await(t testing.TB, changed <-chan struct{}) {
	t.Helper()
	select {
	case <-changed:
	case <-time.After(waitTimeout):
		t.Fatal("no change was noticed")
	}
}

// CutConnections ends the connections to a PostgreSQL database, as a restart of the server does.
func CutConnections(t testing.TB, address string) {
	t.Helper()
	ExecAt(t, address, `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`)
}
