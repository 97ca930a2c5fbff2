package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestThousands(t *testing.T) {
	t.Parallel()
	f := func(v float64, want string) {
		t.Helper()
		if got := thousands(v); got != want {
			t.Errorf("thousands(%v) = %s, want %s", v, got, want)
		}
	}
	f(0, "0")
	f(999.4, "999")
	f(1000, "1,000")
	f(1234567.8, "1,234,568")
}

// fixed is a measurement with a known result.
type fixed struct{ good bool }

func (t fixed) print(w io.Writer) { fmt.Fprintln(w, "shown") }
func (t fixed) markdown() string  { return "written\n" }
func (t fixed) judge(v *verdicts) { v.add(t.good, "the word is %s", "good") }

func TestConclude(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "speed.md")
	const before = "# Speed\n<!-- bench:begin -->\nserver\n<!-- bench:end -->\n<!-- engine:begin -->\nold\n<!-- engine:end -->\n"
	f := func(good bool, wantOut, wantErr string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err := conclude(&out, options{update: path}, engineSection, fixed{good})
		wantError(t, err, wantErr)
		if out.String() != wantOut {
			t.Errorf("printed %q, want %q", out.String(), wantOut)
		}
		// The result is written, good or bad, and into its section only.
		got, err := os.ReadFile(path)
		if want := strings.Replace(before, "old", "written", 1); err != nil || string(got) != want {
			t.Errorf("the file is %q, %v; want %q", got, err, want)
		}
	}
	f(true, "shown\npass  the word is good\n", "")
	f(false, "shown\nFAIL  the word is good\n", "1 floors missed")
}

func TestMeasured(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 1, 0, 0, 0, time.FixedZone("east", 2*3600)) // still February in UTC
	got := heading(at, []string{"-engine", "-before", "/home/ann/assay", "-update", "docs/performance.md"}) + machineList("a CPU", "go1", "wrk 2")
	want := "Measured on 2026-02-28 by `go run ./tools/bench -engine -before assay -update docs/performance.md`:\n" +
		"- a CPU\n- go1, wrk 2\n\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
