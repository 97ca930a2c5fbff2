package access

import (
	"slices"
	"testing"
)

func TestCoveredUntil(t *testing.T) {
	f := func(from, want int64, spans ...Span) {
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
	f(5, 9, Span{1, 9})
	f(1, 9, Span{1, 9})
	f(0, 0, Span{1, 9})
	f(9, 9, Span{1, 9}) // the end is the first instant without it
	f(8, 9, Span{1, 9})
	f(5, Forever, Span{1, Forever})
	f(5, 12, Span{1, 9}, Span{9, 12})   // one after the other
	f(5, 9, Span{1, 9}, Span{10, 12})   // a gap of one instant
	f(11, 12, Span{1, 9}, Span{10, 12}) // begun behind it
	f(5, 20, Span{1, 9}, Span{7, 20})   // one reaches into the other
	f(5, 20, Span{1, 20}, Span{6, 8})   // one inside the other
	f(5, 12, Span{1, 5}, Span{5, 12})   // the first has just ended
	f(5, 5, Span{5, 5}, Span{6, 5})     // never in force
	f(5, Forever, Span{1, 9}, Span{9, Forever}, Span{3, 4})
}

func TestOverlap(t *testing.T) {
	f := func(a, b []Span, want ...Span) {
		t.Helper()
		if got := Overlap(a, b); !slices.Equal(got, want) {
			t.Errorf("%v and %v: got %v, want %v", a, b, got, want)
		}
	}
	f(nil, nil)
	f([]Span{{1, 9}}, nil)
	f([]Span{{1, 9}}, []Span{{9, 12}})
	f([]Span{{1, 9}}, []Span{{5, 12}}, Span{5, 9})
	f([]Span{{1, Forever}}, []Span{{5, Forever}}, Span{5, Forever})
	f([]Span{{1, 5}, {5, 9}}, []Span{{2, 7}, {7, 8}}, Span{2, 5}, Span{5, 7}, Span{7, 8})
}
