//go:build linux

package main

import (
	"strings"
	"testing"
)

func TestReport_Compare(t *testing.T) {
	f := func(acknowledged, stored []int64, lost, doubled int) {
		t.Helper()
		var r report
		r.compare(acknowledged, stored)
		if r.Acknowledged != len(acknowledged) || r.Lost != lost || r.Doubled != doubled {
			t.Errorf("%v acknowledged, %v stored: %+v, want %d lost and %d doubled", acknowledged, stored, r, lost, doubled)
		}
	}
	f(nil, nil, 0, 0)
	f([]int64{1, 2, 3}, []int64{3, 1, 2}, 0, 0)
	f([]int64{1, 3}, []int64{1, 2, 3}, 0, 0) // a write that was not acknowledged may be there
	f([]int64{1, 2, 3}, []int64{1}, 2, 0)
	f([]int64{1, 2}, []int64{1, 2, 2, 2}, 0, 1)
	f([]int64{1}, []int64{2, 2}, 1, 1)
}

func TestReport_Check(t *testing.T) {
	f := func(r report, want string) {
		t.Helper()
		if err := r.check(); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
	}
	f(report{Old: "node1", New: "node2", Acknowledged: 9}, "")
	f(report{Old: "node1", New: "node2", Lost: 1}, "1 acknowledged writes lost")
	f(report{Old: "node1", New: "node2", Doubled: 2}, "2 doubled")
	f(report{Old: "node1", New: "node1"}, "no failover")
}
