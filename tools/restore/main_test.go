//go:build linux

package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNewTable(t *testing.T) {
	t.Parallel()
	got := newTable([]outcome{{
		name: "`cp`", rows: 150, hours: 8, laterRows: 20, latest: 5, restored: 1500 * time.Millisecond,
		verdict: "verified: 7 values",
	}})
	if want := "| `cp` | 0 / 150 | 0 / 8 | 5 / 20 | 1.5 s | verified: 7 values |\n"; !strings.HasSuffix(got, want) {
		t.Errorf("the table is\n%s, want at its end\n%s", got, want)
	}
}

// What was acknowledged at the very moment is not promised.
func TestSplit(t *testing.T) {
	t.Parallel()
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	list := []acknowledged{{"a", at(1)}, {"b", at(2)}, {"c", at(3)}}
	f := func(moment int64, before, later string) {
		t.Helper()
		gotBefore, gotLater := split(list, at(moment))
		if !slices.Equal(gotBefore, strings.Fields(before)) || !slices.Equal(gotLater, strings.Fields(later)) {
			t.Errorf("at %d: %q and %q, want %q and %q", moment, gotBefore, gotLater, before, later)
		}
	}
	f(0, "", "a b c")
	f(2, "a", "b c")
	f(9, "a b c", "")
}

func TestNumber(t *testing.T) {
	t.Parallel()
	f := func(out string, fails error, want int, ok bool) {
		t.Helper()
		if got, err := number(importedRows, out, fails); got != want || (err == nil) != ok {
			t.Errorf("%q: %d, %v; want %d", out, got, err, want)
		}
	}
	f("committed 3 rows\nimported: 1,203 new, 4 known before, 0 rejected (0.1 s)\n", nil, 1203, true)
	f("imported: 3 new, 0 known before, 1 rejected (0.1 s)\n", nil, 0, false)
	f("imported: 3 new, 0 known before, 0 rejected (0.1 s)\n", errors.New("exit status 1"), 0, false)
}
