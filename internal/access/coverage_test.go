package access

import (
	"slices"
	"testing"
)

func TestCoveredUntil(t *testing.T) {
	t.Parallel()
	f := func(from, want int64, spans ...Period) {
		t.Helper()
		given := slices.Clone(spans)
		if got := CoveredUntil(spans, from); got != want {
			t.Errorf("%v from %d: covered until %d, want %d", spans, from, got, want)
		}
		if !slices.Equal(given, spans) {
			t.Errorf("the spans have become %v, were %v", spans, given)
		}
		slices.Reverse(spans)
		if got := CoveredUntil(spans, from); got != want {
			t.Errorf("%v from %d: covered until %d, want %d in any order", spans, from, got, want)
		}
	}
	f(5, 5)
	f(5, 9, Period{1, 9})
	f(1, 9, Period{1, 9})
	f(0, 0, Period{1, 9})
	f(9, 9, Period{1, 9}) // the end is the first instant without it
	f(8, 9, Period{1, 9})
	f(5, Forever, Period{1, Forever})
	f(5, 12, Period{1, 9}, Period{9, 12})   // one after the other
	f(5, 9, Period{1, 9}, Period{10, 12})   // a gap of one instant
	f(11, 12, Period{1, 9}, Period{10, 12}) // begun behind it
	f(5, 20, Period{1, 9}, Period{7, 20})   // one reaches into the other
	f(5, 20, Period{1, 20}, Period{6, 8})   // one inside the other
	f(5, 12, Period{1, 5}, Period{5, 12})   // the first has just ended
	f(5, 5, Period{5, 5}, Period{6, 5})     // never in force
	f(5, Forever, Period{1, 9}, Period{9, Forever}, Period{3, 4})
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	f := func(a, b []Period, want ...Period) {
		t.Helper()
		if got := Overlap(a, b); !slices.Equal(got, want) {
			t.Errorf("%v and %v: got %v, want %v", a, b, got, want)
		}
	}
	f(nil, nil)
	f([]Period{{1, 9}}, nil)
	f([]Period{{1, 9}}, []Period{{9, 12}})
	f([]Period{{1, 9}}, []Period{{5, 12}}, Period{5, 9})
	f([]Period{{1, Forever}}, []Period{{5, Forever}}, Period{5, Forever})
	f([]Period{{1, 5}, {5, 9}}, []Period{{2, 7}, {7, 8}}, Period{2, 5}, Period{5, 7}, Period{7, 8})
}
