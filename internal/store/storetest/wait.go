package storetest

import (
	"context"
	"testing"
	"time"
)

// Run runs the loops until the test ends, or the returned function is called, and waits for their end.
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

// patience guards against hanging. It is far beyond what anything takes, also on a busy machine: a test does not fail
// because something was slow.
const patience = time.Minute

// Eventually waits until it is so.
func Eventually(t testing.TB, what string, isSo func() bool) {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	deadline := time.After(patience)
	for !isSo() {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// Await waits for a channel of store.DB.Changed.
func Await(t testing.TB, changed <-chan struct{}) {
	t.Helper()
	select {
	case <-changed:
	case <-time.After(patience):
		t.Fatal("no change was noticed")
	}
}

// CutConnections ends the connections of a database of PostgreSQL, as a restart of the server does.
func CutConnections(t testing.TB, address string) {
	t.Helper()
	ExecAt(t, address, `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`)
}
