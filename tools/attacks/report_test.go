//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReport_Table(t *testing.T) {
	t.Parallel()
	rows := []row{{
		attack: attack{item: 7, name: "150 rotations"},
		before: harmIf(true, "%d active keys", 151), after: harmIf(false, "%d active keys", 2),
	}}
	const both = "| # | attack | before | now |\n|--:|---|---|---|\n| 7 | 150 rotations | 151 active keys | 2 active keys |\n"
	if got := table(rows, true); got != both {
		t.Errorf("with an earlier program:\n%s\nwant:\n%s", got, both)
	}
	const one = "| # | attack | now |\n|--:|---|---|\n| 7 | 150 rotations | 2 active keys |\n"
	if got := table(rows, false); got != one {
		t.Errorf("without an earlier program:\n%s\nwant:\n%s", got, one)
	}
}

func TestReport_Harm(t *testing.T) {
	t.Parallel()
	document := filepath.Join(t.TempDir(), "security.md")
	o := options{update: document, before: "old"}
	harmless := row{attack: attack{item: 1, name: "a flood"}, before: harmIf(true, "slow"), after: harmIf(false, "fast")}
	harmful := row{attack: attack{item: 2, name: "a guess"}, after: harmIf(true, "right")}
	err := conclude(o, []row{harmless, harmful})
	if err == nil || err.Error() != "a guess: right" {
		t.Errorf("error %v, want the attack that did harm, and only that", err)
	}
	if _, err := os.Stat(document); err == nil {
		t.Error("the document was written although an attack did harm")
	}
	if err := conclude(o, []row{harmless}); err != nil {
		t.Errorf("without harm to the current program: %v", err)
	}
	if text, err := os.ReadFile(document); err != nil || !strings.Contains(string(text), "| 1 | a flood | slow | fast |") {
		t.Errorf("the document: %q, %v", text, err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "assay")
	if err := os.WriteFile(binary, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	f := func(want string, args ...string) {
		t.Helper()
		_, err := parseOptions(append([]string{"-assay", binary}, args...))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
	f("", "-only", "4,7")
	f("want numbers separated by commas", "-only", "four")
	f("unexpected argument", "now")
	f("run make build", "-before", binary+"-old")
	f("all attacks in full against two binaries", "-update", "security.md")
	f("all attacks in full against two binaries", "-update", "security.md", "-before", binary, "-short")
	f("", "-update", filepath.Join(t.TempDir(), "security.md"), "-before", binary)
}
