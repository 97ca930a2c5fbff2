package main

import "testing"

func TestParseMemory(t *testing.T) {
	t.Parallel()
	got, err := parseMemory("Name:\tassay\nVmHWM:\t  2000 kB\nVmRSS:\t  1000 kB\nThreads:\t8\n")
	if want := (memory{resident: 1024000, peak: 2048000}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{"", "VmRSS:\t1000 kB\n", "VmRSS:\tmuch kB\nVmHWM:\t1 kB\n"} {
		if _, err := parseMemory(bad); err == nil {
			t.Errorf("parseMemory(%q): no error", bad)
		}
	}
}
