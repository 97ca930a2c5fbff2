//go:build linux

package main

import (
	"strings"
	"testing"
	"time"
)

func TestCheckStarts(t *testing.T) {
	t.Parallel()
	f := func(took time.Duration, memory int64, want ...string) {
		t.Helper()
		err := checkStarts([]*started{{values: 10_000_000, took: took, loaded: memory}})
		if (err == nil) != (len(want) == 0) {
			t.Errorf("%s, %d bytes: %v, want %q", took, memory, err, want)
		}
		for _, text := range want {
			if err != nil && !strings.Contains(err.Error(), text) {
				t.Errorf("%s, %d bytes: %v, want %q", took, memory, err, text)
			}
		}
	}
	f(2*time.Second, 400_000_000)
	f(4*time.Second, 400_000_000,
		"10,000,000 values: the server reads 2,500,000 values a second at its start, less than 5,000,000")
	f(2*time.Second, 410_000_000, "10,000,000 values: the server has 41 bytes a value, more than 40")
	f(4*time.Second, 410_000_000, "2,500,000", "41 bytes")
}

func TestStartTable(t *testing.T) {
	t.Parallel()
	table := startTable([]*started{{
		values: 1_000_000, took: 250 * time.Millisecond, empty: 30 << 20, resident: 40 << 20, publish: 60 * time.Millisecond,
	}})
	for _, row := range []string{
		"| 50 models in 20 regions | 1,000,000 values |\n|---|--:|\n", "| values a second | 4,000,000 |\n",
		"| memory at the first response | 40 MB, 10 bytes a value |\n", "| publication of an hour, processor time | 60.0 ms |\n",
	} {
		if !strings.Contains(table, row) {
			t.Errorf("the table lacks %q:\n%s", row, table)
		}
	}
}
