//go:build linux

package main

import (
	"strings"
	"testing"
)

func TestNewTable(t *testing.T) {
	t.Parallel()
	got := newTable([]outcome{
		{name: "the clock jumps", observed: "nothing", rows: 1, hours: 1},
		{name: "the disk is full", observed: "imports fail", alerts: []string{"A", "B"}, rows: 5, hours: 4},
	})
	want := "| – | 0 / 1 | 0 | 0 / 1 |\n| the disk is full | imports fail | `A`, `B` | 0 / 5 | 0 | 0 / 4 |\n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("the table is\n%s, want the row\n%s", got, want)
	}
}

// Every incident has a name of its own that says what happens.
func TestIncidents_Named(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, i := range incidents {
		if names[i.name] || !strings.Contains(i.name, " ") || i.do == nil {
			t.Errorf("the incident %q", i.name)
		}
		names[i.name] = true
	}
}
