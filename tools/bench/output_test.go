package main

import "testing"

func TestParseImported(t *testing.T) {
	t.Parallel()
	f := func(out string, want imported) {
		t.Helper()
		if got, err := parseImported(out); err != nil || got != want {
			t.Errorf("parseImported(%q) = %+v, %v; want %+v", out, got, err, want)
		}
	}
	f("imported: 200,000 new, 1,005 known before, 7 rejected (4.5 s, 44,286 rows/s)\n", imported{200_000, 1005, 7, 44_286})
	f("read 2 files\nimported: 1 new, 0 known before, 3 in conflict, 0 rejected (0.0 s, 1,000 rows/s)\nThere are more",
		imported{1, 0, 0, 1000})

	for _, bad := range []string{
		"",
		"not imported: 1 new, 0 known before, 0 rejected (0.0 s, 1 rows/s)\n",
		"imported: 1 new, 0 known before (0.0 s, 1 rows/s)\n",
		"imported: many new, 0 known before, 0 rejected (0.0 s, 1 rows/s)\n",
	} {
		if got, err := parseImported(bad); err == nil {
			t.Errorf("parseImported(%q) = %+v, no error", bad, got)
		}
	}
}

func TestParsePublished(t *testing.T) {
	t.Parallel()
	got, err := parsePublished("published: 283,448 values from 2024-11-01T00:00:00.000Z to 2026-11-01T00:00:00.000Z\n")
	if want := (published{283_448}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if _, err := parsePublished("published: none\n"); err == nil {
		t.Error("no error without a number")
	}
}

func TestParseVerified(t *testing.T) {
	t.Parallel()
	got, err := parseVerified("verified: 283,448 values from 200,000 transactions, 731 signed days " +
		"(5.1 s, 39,263 transactions/s)\nsigned with x\n")
	if want := (verified{283_448, 200_000, 39_263}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if _, err := parseVerified("verified: 3 values from 2 transactions, 1 signed day\n"); err == nil {
		t.Error("no error without a rate")
	}
}

func TestLastCount(t *testing.T) {
	t.Parallel()
	f := func(out string, want int) {
		t.Helper()
		if got, err := lastCount(out); err != nil || got != want {
			t.Errorf("lastCount(%q) = %d, %v; want %d", out, got, err, want)
		}
	}
	f("wal\n200000\n", 200000)
	f("200000|37\n", 200000)
	for _, bad := range []string{"", "5\nwal\n"} {
		if got, err := lastCount(bad); err == nil {
			t.Errorf("lastCount(%q) = %d, no error", bad, got)
		}
	}
}
