//go:build linux

package main

import (
	"strings"
	"testing"
	"time"
)

func sized(size int, cpu time.Duration, memory int64, p99 time.Duration) *measured {
	return &measured{
		size: size, memory: 100 << 20, routes: map[string]time.Duration{"/api/usage": p99},
		costs: []cost{{name: "late", cpu: cpu, memory: 50 << 20}, {name: "verify", cpu: 10 * cpu, memory: memory}},
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	small := sized(100_000, 200*time.Millisecond, 100<<20, time.Millisecond)
	f := func(m *measured, short bool, want string) {
		t.Helper()
		err := check([]*measured{small, m}, short)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", m, err, want)
		}
	}
	f(sized(1_000_000, 400*time.Millisecond, 250<<20, 4*time.Millisecond), false, "")
	f(sized(1_000_000, 400*time.Millisecond, 301<<20, 0), false, "1000000 values: verify has 301 MB, more than 300 MB")
	f(sized(1_000_000, 400*time.Millisecond, 301<<20, 0), true, "verify has 301 MB")
	f(sized(1_000_000, 700*time.Millisecond, 0, 0), false,
		"1000000 values: late takes 3.5 times as long as with 100000, more than 3 times")
	f(sized(1_000_000, 700*time.Millisecond, 0, 0), true, "")
	f(sized(1_000_000, 0, 0, 16*time.Millisecond), false, "/api/usage takes 3.2 times as long as with 100000")
	hungry := sized(1_000_000, 0, 0, 0)
	hungry.memory = 900 << 20
	f(hungry, false, "the server has 900 MB, more than 781 MB")
}

func TestTables(t *testing.T) {
	t.Parallel()
	got := tables([]*measured{sized(100_000, time.Second, 100<<20, time.Millisecond)})
	for _, want := range []string{
		"| command: processor time, largest memory | 100,000 values |\n", "| `late` | 1.0 s, 50 MB |\n",
		"| `/api/usage` | 1.0 ms |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the tables are\n%s, want %s", got, want)
		}
	}
}
