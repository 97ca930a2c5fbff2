package report

import (
	"strings"
	"testing"
)

func TestParseCPU(t *testing.T) {
	t.Parallel()
	info := "processor\t: 0\nmodel name\t: Example CPU @ 2 GHz\ncpu cores\t: 2\n\nprocessor\t: 1\nmodel name\t: Example CPU @ 2 GHz\n"
	if got := parseCPU(info); got != "Example CPU @ 2 GHz, 2 cores" {
		t.Error(got)
	}
	if got := parseCPU(""); !strings.HasPrefix(got, "unknown processor") {
		t.Error(got)
	}
}
