package main

import (
	"strings"
	"testing"
	"time"
)

func exampleReach() reachReport {
	at := func(ms ...int) (a arrivals) {
		for _, n := range ms {
			a.after = append(a.after, time.Duration(n)*time.Millisecond)
		}
		return a
	}
	return reachReport{reach: reach{
		streams: 20_000, before: memory{resident: 100e6}, with: memory{resident: 300e6}, events: 2,
		alone: at(30, 10, 20, 40), loaded: at(500),
		reads:     []sample{{rate: 1000}, {rate: 2000}, {rate: 1000}},
		readsWith: []sample{{rate: 900}, {rate: 1900}, {rate: 100}},
	}}
}

func TestReachReport_Tables(t *testing.T) {
	t.Parallel()
	r := exampleReach()
	text := ""
	for _, table := range r.tables() {
		text += markdownTable(table)
	}
	for _, want := range []string{
		"| a stream | 10.0 KB |", "| without reads | 30.00 ms | 40.00 ms | 40.00 ms | 4 |",
		"| share, median of the rounds | 0.90 |  |", "after 2 publications | 300 MB |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %s", text, want)
		}
	}
}

func TestReachReport_Judge(t *testing.T) {
	t.Parallel()
	f := func(name string, change func(*reach), want string) {
		t.Helper()
		r := exampleReach()
		change(&r.reach)
		var out strings.Builder
		v := verdicts{w: &out}
		r.judge(&v)
		if (v.failed == 0) != (want == "") || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %d missed:\n%s", name, v.failed, &out)
		}
	}
	f("as wanted", func(*reach) {}, "")
	f("much memory", func(r *reach) { r.with.resident = 700e6 }, "FAIL  20,000 streams: 700 MB resident")
	f("late", func(r *reach) { r.alone.after[0] = 400 * time.Millisecond }, "FAIL  a publication has arrived")
	f("slow reads", func(r *reach) { r.readsWith[0].rate = 700 }, "FAIL  reads with streams: 0.70")
}
