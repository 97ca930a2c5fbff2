//go:build linux

package target

import (
	"errors"
	"testing"
)

func TestHostTime(t *testing.T) {
	t.Parallel()
	before, err := parseHostTime("cpu  100 0 50 800 10 0 20 20 0 0\ncpu0 1 2 3\n")
	if err != nil {
		t.Fatal(err)
	}
	after, err := parseHostTime("cpu  150 0 50 820 10 0 20 50 7 9\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := after.TakenSince(before); got != 0.3 {
		t.Errorf("the host has taken %v, want 0.3", got)
	}
	if got := after.TakenSince(after); got != 0 {
		t.Errorf("in no time the host has taken %v", got)
	}
	for _, text := range []string{"", "cpu 1 2 3\n", "cpu0 1 2 3 4 5 6 7 8\n", "cpu 1 2 3 x 5 6 7 8\n"} {
		if _, err := parseHostTime(text); !errors.Is(err, errHostTime) {
			t.Errorf("%q: %v, want %v", text, err, errHostTime)
		}
	}
	if _, err := ReadHostTime(); err != nil {
		t.Error(err)
	}
}
