package demo

import (
	"math"
	"testing"
)

func TestExp(t *testing.T) {
	t.Parallel()
	last := micro(0)
	for x := micro(-3 * million); x <= 3*million; x += 1_000 {
		got := exp(x)
		if got < last || got <= 0 {
			t.Fatalf("exp(%d) is %d after %d: it must rise", x, got, last)
		}
		last = got
		want := math.Exp(float64(x) / million)
		if x >= -million && x <= million && math.Abs(float64(got)/million/want-1) > 0.003 {
			t.Fatalf("exp(%d) is %d, want about %.6f", x, got, want)
		}
	}
}

func TestRoot(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 1, 2, 3, 4, 1_000_003, million * million, 1 << 52} {
		if r := root(n); r*r > n || (r+1)*(r+1) <= n {
			t.Errorf("root(%d) is %d", n, r)
		}
	}
}

func TestCurves_Bounds(t *testing.T) {
	t.Parallel()
	f := func(name string, curve func(n int64) micro) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			low, high := micro(0), micro(0)
			for n := int64(480_000); n < 500_000; n++ {
				low, high = min(low, curve(n)), max(high, curve(n))
			}
			if low < -million || low > -900_000 || high > million || high < 900_000 {
				t.Errorf("the curve goes from %d to %d, want about -1 to 1", low, high)
			}
		})
	}
	f("wave", func(n int64) micro { return wave(n, 100, 250_000) })
	f("noise", func(n int64) micro { return noise(1, n, 24) })
	f("week", week)
}

func TestWeek(t *testing.T) {
	t.Parallel()
	f := func(name string, n int64, want micro, onWeekend bool) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := week(n); got < want-20_000 || got > want+20_000 || weekend(n) != onWeekend {
				t.Errorf("week is %d and weekend %t, want %d and %t", got, weekend(n), want, onWeekend)
			}
		})
	}
	monday := marketAt(2026, 3, 2) / 3_600_000
	f("Wednesday noon", monday+60, million, false)
	f("Friday night", monday+4*24+23, -660_000, false)
	f("Saturday", monday+5*24, -670_000, true)
	f("Sunday", monday+6*24, -980_000, true)
	f("Monday", monday, -660_000, false)
}

func TestYearsFrom2026(t *testing.T) {
	t.Parallel()
	f := func(name string, n int64, low, high micro) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := yearsFrom2026(n); got < low || got > high {
				t.Errorf("got %d, want %d to %d", got, low, high)
			}
		})
	}
	f("start of 2026", marketAt(2026, 1, 1)/3_600_000, 0, 0)
	f("a year later", marketAt(2027, 1, 1)/3_600_000, 880_000, 900_000)
	f("long before", 0, -2*million, -1_990_000)
	f("long after", marketAt(2300, 1, 1)/3_600_000, 1_990_000, 2*million)
}
