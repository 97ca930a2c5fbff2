//go:build linux

package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReport_Check(t *testing.T) {
	t.Parallel()
	f := func(p phase, change func(*results), want string) {
		t.Helper()
		before := phase{name: "before", reads: 1, writes: 5, hours: make([]time.Time, 1)}
		r := &results{phases: []*phase{&before, &p}, rows: 9, ids: 9, wantRows: 9}
		if change != nil {
			change(r)
		}
		if err := r.check(); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", p, err, want)
		}
	}
	f(phase{reads: 5, writes: 5, overshoot: 120, allowedOvershoot: 120}, nil, "")
	f(phase{name: "cut", reads: 5, failed: 2, failure: "read1: no answer"}, nil,
		"cut: 2 failed reads, the first: read1: no answer")
	f(phase{reads: 5, lostWrites: 1}, nil, "1 acknowledged writes lost")
	f(phase{reads: 5, lost: 1}, nil, "1 publications lost and 0 duplicated")
	f(phase{reads: 5, duplicated: 2}, nil, "0 publications lost and 2 duplicated")
	f(phase{reads: 5, overshoot: 1}, nil, "1 requests admitted beyond the limit, 0 allowed")
	f(phase{reads: 5}, func(r *results) { r.rows = 8 }, "8 transactions and 9 ids")
	f(phase{reads: 5}, func(r *results) { r.ids = 10 }, "9 transactions and 10 ids")
	f(phase{reads: 5}, func(r *results) { r.verifyErr = errors.New("a chain is broken") }, "a chain is broken")
	f(phase{}, nil, "no reads")
	f(phase{reads: 5}, func(r *results) { r.phases = r.phases[1:] }, "0 acknowledged writes and 0 acknowledged hours")
}

func TestReport_Table(t *testing.T) {
	t.Parallel()
	r := &results{verify: "verified: 7 values", phases: []*phase{
		{name: "the load begins"},
		{
			name:   "primary killed",
			reads:  90,
			failed: 1,
			writes: 20,
			hours:  make([]time.Time, 3),
			took:   23400 * time.Millisecond,
			since:  "the loss",
		},
	}}
	got := r.table()
	for _, want := range []string{
		"| primary killed | 1 / 90 | 0 / 20 | 0 / 3 | 0 | 23.4 s after the loss | 0 (0) |",
		"`assay verify` at the end: verified: 7 values.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	if strings.Contains(got, "the load begins") {
		t.Errorf("%s\nhas a row for the start of the load", got)
	}
}

// seconds are admissions with immediate decisions.
func seconds(at ...float64) (list []admission) {
	for _, s := range at {
		when := time.Unix(0, int64(s*1e9))
		list = append(list, admission{when, when})
	}
	return list
}

func TestOvershoots(t *testing.T) {
	t.Parallel()
	f := func(admitted []admission, want int) {
		t.Helper()
		over := append(overshoots(admitted), 0)
		if got := slices.Max(over); got != want {
			t.Errorf("%d more than the limit, want %d", got, want)
		}
	}
	many := func(n int, from float64) (at []float64) {
		for i := range n {
			at = append(at, from+float64(i)/1000)
		}
		return at
	}
	f(nil, 0)
	f(seconds(many(60, 0)...), 0)
	f(seconds(many(61, 0)...), 1)
	f(seconds(append(many(60, 0), many(60, 60)...)...), 0) // each of the second minute a minute after one of the first
	f(seconds(append(many(60, 0), many(60, 59)...)...), 60)
	slow := seconds(many(61, 0)...)
	slow[60].answered = slow[60].sent.Add(time.Minute) // it may have been decided a minute later
	f(slow, 0)
}

func TestCountOvershoots_Allowed(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	j := journal{phases: []*phase{
		{begun: at(0)}, {begun: at(100)}, {begun: at(150)}, {begun: at(220)}, {begun: at(300), mixed: true},
	}}
	j.countOvershoots(nil, []time.Time{at(149)}, []time.Time{at(10), at(160)})
	got := []int{}
	for _, p := range j.phases {
		got = append(got, p.allowedOvershoot)
	}
	// The third phase begins within a window of the fallback, and a node was started again in it; the fourth begins later.
	// In the last one, nodes of two releases run.
	if want := []int{0, 120, 180, 0, 60}; !slices.Equal(got, want) {
		t.Errorf("allowed are %v, want %v", got, want)
	}
}

func TestJournal_PhaseAt(t *testing.T) {
	t.Parallel()
	first, second := &phase{begun: time.Unix(10, 0)}, &phase{begun: time.Unix(20, 0)}
	j := journal{phases: []*phase{first, second}}
	f := func(s int64, want *phase) {
		t.Helper()
		if j.phaseAt(time.Unix(s, 0)) != want {
			t.Errorf("another phase at %d", s)
		}
	}
	f(5, first)
	f(10, first)
	f(19, first)
	f(20, second)
	f(99, second)
}

func TestHistoryRows(t *testing.T) {
	t.Parallel()
	file := historyFile(time.Now().Add(-2 * time.Hour))
	if n := historyRows(file); n != 4 || strings.Count(string(file), "H100 SXM") != n {
		t.Errorf("%d rows in\n%s", n, file)
	}
}
