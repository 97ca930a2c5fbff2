package main

import (
	"strings"
	"testing"
	"time"
)

func TestParseTally(t *testing.T) {
	t.Parallel()
	out := "Running 1s test @ http://127.0.0.1:1\n  2 threads\nbench: 1000 250000 2000000 410 2950 0 0 0 0 0\n"
	got, err := parseTally(out)
	if err != nil {
		t.Fatal(err)
	}
	want := sample{rate: 500, p50: 410 * time.Microsecond, p99: 2950 * time.Microsecond}
	if got.sample() != want {
		t.Errorf("got %+v, want %+v", got.sample(), want)
	}
	for _, bad := range []string{"", "unable to connect", "bench: 1 2 3", "bench: 1 2 3 x 5 6 7 8 9 10"} {
		if _, err := parseTally(bad); err == nil {
			t.Errorf("parseTally(%q): no error", bad)
		}
	}
}

func TestTally_Check(t *testing.T) {
	t.Parallel()
	f := func(change func(*tally), want string) {
		t.Helper()
		ok := tally{requests: 10, bytes: 4000, duration: 1e6}
		change(&ok)
		got := ""
		if err := ok.check(200); err != nil {
			got = err.Error()
		}
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	f(func(*tally) {}, "")
	f(func(t *tally) { t.status = 3 }, "3 of 10 responses")
	f(func(t *tally) { t.read = 1 }, "socket errors")
	f(func(t *tally) { t.timeout = 1 }, "1 timeout")
	f(func(t *tally) { t.requests = 0 }, "no response")
	f(func(t *tally) { t.bytes = 1500 }, "150 bytes on average")
}

func TestMedians(t *testing.T) {
	t.Parallel()
	f := func(rates []float64, want float64) {
		t.Helper()
		var samples []sample
		for _, r := range rates {
			samples = append(samples, sample{rate: r, p50: time.Duration(r), p99: time.Duration(2 * r)})
		}
		got := medians(samples)
		if got != (sample{rate: want, p50: time.Duration(want), p99: time.Duration(2 * want)}) {
			t.Errorf("medians(%v) = %+v, want %v", rates, got, want)
		}
	}
	f([]float64{7}, 7)
	f([]float64{9, 1}, 5)
	f([]float64{100, 2, 3}, 3)
	f([]float64{8, 2, 100, 4}, 6)
}

func TestLoader_Args(t *testing.T) {
	t.Parallel()
	l := loader{program: "wrk", script: "wrk.lua", connections: 32}
	got := strings.Join(l.args("http://h", scenario{path: "/p?a=b", key: "sk", gzip: true}, 5*time.Second), " ")
	want := "-t2 -c32 -d5s --timeout 60s --latency -s wrk.lua http://h/p?a=b -- Authorization: Bearer sk Accept-Encoding: gzip"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
