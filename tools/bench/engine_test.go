package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakeEngine drives a program that prints the line, whatever it is asked for.
func fakeEngine(t *testing.T, line string) *engine {
	t.Helper()
	program := filepath.Join(t.TempDir(), "assay")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho '"+line+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &engine{options: options{assay: program, duration: time.Second}, hour: marketEnd}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestEngine_Load(t *testing.T) {
	t.Parallel()
	f := func(line, wantErr string) {
		t.Helper()
		got, err := fakeEngine(t, line).importFile(t.Context(), "data", "file", imported{added: 2000})
		wantError(t, err, wantErr)
		if err == nil && (got.count != 2000 || got.reported != 4000 || got.took <= 0) {
			t.Errorf("timing %+v", got)
		}
	}
	f("imported: 2,000 new, 0 known before, 0 rejected (0.5 s, 4,000 rows/s)", "")
	f("imported: 1,999 new, 0 known before, 1 rejected (0.5 s, 4,000 rows/s)", "want {added:2000")
	f("imported: 0 new, 2,000 known before, 0 rejected (0.5 s, 4,000 rows/s)", "want {added:2000")
	f("done", "no line")
}

func TestEngine_Verify(t *testing.T) {
	t.Parallel()
	f := func(line, wantErr string) {
		t.Helper()
		_, err := fakeEngine(t, line).verify(t.Context(), "data", 2000)
		wantError(t, err, wantErr)
	}
	f("verified: 36 values from 2,000 transactions, 1 signed day (0.5 s, 4,000 transactions/s)", "")
	f("verified: 36 values from 1,000 transactions, 1 signed day (0.5 s, 4,000 transactions/s)", "want 2000 transactions")
	f("verified: 0 values from 2,000 transactions, 1 signed day (0.5 s, 4,000 transactions/s)", "want 2000 transactions")
}

func TestEngine_PublishHour(t *testing.T) {
	t.Parallel()
	f := func(line, wantErr string) {
		t.Helper()
		_, err := fakeEngine(t, line).publishHour(t.Context(), "data", marketEnd)
		wantError(t, err, wantErr)
	}
	f("published: 36 values from a to b", "")
	f("published: 0 values from a to b", "no value was published for 2026-11-01T00:00:00Z")
}

// Otherwise a run that begins with an hour publishes nothing, and the server publishes what the run wants to measure.
func TestLastDueHour(t *testing.T) {
	t.Parallel()
	f := func(now, want string) {
		t.Helper()
		at, err := time.Parse(time.RFC3339, now)
		if got := lastDueHour(at).Format(time.RFC3339); err != nil || got != want {
			t.Errorf("%s, %v: %s, want %s", now, err, got, want)
		}
	}
	f("2026-11-18T23:00:00Z", "2026-11-18T21:00:00Z")
	f("2026-11-18T23:09:59Z", "2026-11-18T21:00:00Z")
	f("2026-11-18T23:10:00Z", "2026-11-18T22:00:00Z")
	f("2026-11-19T00:05:00+01:00", "2026-11-18T21:00:00Z")
	f("2026-11-18T23:59:59Z", "2026-11-18T22:00:00Z")
}

// What is published too early makes everything that follows late, and an hour cheap.
func TestEngine_Grow(t *testing.T) {
	t.Parallel()
	f := func(line, wantErr string) {
		t.Helper()
		e := fakeEngine(t, line)
		e.dir, e.market, e.sizes = t.TempDir(), newMarket(1), []int{50, 100}
		wantError(t, e.grow(t.Context(), "data", 0, 50), wantErr)
	}
	const imported = "imported: 50 new, 0 known before, 0 rejected (0.5 s, 100 rows/s)"
	f(imported+"\npublished: 36 values from a to b", "")
	f(imported+"\npublished: 0 values from a to b", "no value was published")
	f("imported: 49 new, 0 known before, 1 rejected (0.5 s, 98 rows/s)", "want {added:50")
}

// An hour that ends after the load was not published during it.
func TestEngine_PublishDuring(t *testing.T) {
	t.Parallel()
	load := &pendingLoad{done: make(chan struct{})}
	close(load.done)
	hours, err := fakeEngine(t, "published: 36 values from a to b").publishDuring(t.Context(), "data", marketEnd, load)
	if hours != 0 || err != nil {
		t.Errorf("%d hours, %v; want none", hours, err)
	}
}

func TestEngine_FailedCommandTellsWhy(t *testing.T) {
	t.Parallel()
	e := fakeEngine(t, "'; echo disk on fire >&2; exit 3; echo '")
	_, err := e.publish(t.Context(), "data", time.Time{}, marketEnd)
	wantError(t, err, "publish --dir data --to 2026-11-01T00:00:00Z: exit status 3\ndisk on fire")
}

func TestEngine_TakeHours(t *testing.T) {
	t.Parallel()
	e := &engine{options: options{hourRows: 10}, hour: marketEnd}
	one, three := e.nextHours(1), e.nextHours(3)
	if want := (period{marketEnd, marketEnd.Add(time.Hour), 10}); one != want {
		t.Errorf("got %v, want %v", one, want)
	}
	if want := (period{marketEnd.Add(time.Hour), marketEnd.Add(4 * time.Hour), 30}); three != want {
		t.Errorf("got %v, want %v", three, want)
	}
}

func TestOptions_CheckClock(t *testing.T) {
	t.Parallel()
	o := options{rounds: 5, sizes: []int{1, 2, 3}, duration: time.Second} // 15 hours and 48, and two
	f := func(hours time.Duration, wantErr string) {
		t.Helper()
		wantError(t, o.checkClock(marketEnd.Add(hours*time.Hour)), wantErr)
	}
	f(65, "")
	f(64, "the clock says 2026-11-03T16:00:00Z, and the run publishes hours until 2026-11-03T17:00:00Z")
}

func TestOptions_CheckDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := func(wantErr string, sizes ...int) {
		t.Helper()
		wantError(t, options{sizes: sizes}.checkDisk(dir), wantErr)
	}
	f("of free space, and the run needs 140000500 MB", 1, 2, 1e12) // the largest size decides
	f("of free space, and the run needs 650000500 MB", 1, 1e12, 1e12+1)
	wantError(t, options{sizes: []int{1}}.checkDisk(filepath.Join(dir, "missing")), "determine the free space")
	if got := (options{sizes: []int{1e6, 5e6, 20e6}}).diskNeed(); got < 3e9 || got > 4e9 {
		t.Errorf("the long run needs %s, which the documentation calls about 4 GB", megabytes(got))
	}
}
