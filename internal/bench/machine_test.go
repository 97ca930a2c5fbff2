package main

import (
	"strings"
	"testing"
)

func TestParseCPU(t *testing.T) {
	info := "processor\t: 0\nmodel name\t: Example CPU @ 2 GHz\ncpu cores\t: 2\n\nprocessor\t: 1\nmodel name\t: Example CPU @ 2 GHz\n"
	if got := parseCPU(info); got != "Example CPU @ 2 GHz, 2 cores" {
		t.Error(got)
	}
	if got := parseCPU(""); !strings.HasPrefix(got, "unknown processor") {
		t.Error(got)
	}
}

func TestParseMemory(t *testing.T) {
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
