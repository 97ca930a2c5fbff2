package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydata/assay"
)

// seriesAt has a point at each instant, whose value is the instant in whole dollars.
func seriesAt(times ...int64) *Series { return newSeries(made(1, pointsAt(times...)), 1, 1) }

// made are points as a publication first made them.
func made(version int64, points []assay.Point) (revisions []assay.Revision) {
	for _, p := range points {
		revisions = append(revisions, assay.Revision{Point: p, Version: version})
	}
	return revisions
}

func pointsAt(times ...int64) (points []assay.Point) {
	for _, at := range times {
		points = append(points, assay.Point{At: at, Value: assay.Nanos(at) * assay.One})
	}
	return points
}

// pointsOf reads a series back, by its positions.
func pointsOf(s *Series) (points []assay.Point) {
	for i := range s.Len() {
		points = append(points, s.At(i))
	}
	return points
}

func TestSeries_Range(t *testing.T) {
	t.Parallel()
	s := seriesAt(10, 20, 30)
	f := func(from, to int64, i, j int) {
		t.Helper()
		if gotI, gotJ := s.Range(from, to); gotI != i || gotJ != j {
			t.Errorf("[%d, %d]: got %d to %d, want %d to %d", from, to, gotI, gotJ, i, j)
		}
	}
	f(10, 30, 0, 3)
	f(math.MinInt64, math.MaxInt64, 0, 3)
	f(20, 20, 1, 2)
	f(11, 29, 1, 2)
	f(11, 19, 1, 1)
	f(10, 29, 0, 2)
	f(9, 9, 0, 0)
	f(31, 99, 3, 3)
	f(31, math.MaxInt64, 3, 3)
	f(30, 10, 2, 2) // the wrong way round is empty, not a panic
	s = &Series{}
	f(math.MinInt64, math.MaxInt64, 0, 0)
}

func TestSeries_Find(t *testing.T) {
	t.Parallel()
	s := seriesAt(10, 20, 30)
	f := func(at int64, want int, found bool) {
		t.Helper()
		if got, ok := s.Find(at); ok != found || ok && got != want {
			t.Errorf("%d: got %d, %v", at, got, ok)
		}
	}
	f(10, 0, true)
	f(20, 1, true)
	f(30, 2, true)
	f(9, 0, false)
	f(15, 0, false)
	f(31, 0, false)
	s = &Series{}
	f(10, 0, false)
}

func TestSeries_Nearest(t *testing.T) {
	t.Parallel()
	s := seriesAt(10, 20, 31)
	f := func(at int64, want int64) {
		t.Helper()
		if got := s.At(s.Nearest(at)).At; got != want {
			t.Errorf("nearest to %d: got %d, want %d", at, got, want)
		}
	}
	f(10, 10)
	f(20, 20)
	f(31, 31)
	f(14, 10)
	f(15, 10) // equally near: the earlier
	f(16, 20)
	f(25, 20)
	f(26, 31)
	f(9, 10)
	f(32, 31)
	f(-1<<40, 10)
	f(1<<40, 31)
	s = seriesAt(10)
	f(0, 10)
	f(10, 10)
	f(99, 10)
}

// jsonRow is a row as encoding/json would be given it.
type jsonRow struct {
	Timestamp  string      `json:"timestamp"`
	IndexValue json.Number `json:"index_value"`
}

// slowRows encodes the points with encoding/json and joins them.
func slowRows(t *testing.T, points []assay.Point) []byte {
	t.Helper()
	rows := make([]jsonRow, len(points))
	for i, p := range points {
		rows[i] = jsonRow{time.UnixMilli(p.At).UTC().Format(assay.InstantLayout), json.Number(p.Value.String())}
	}
	out, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	return out[1 : len(out)-1] // without the brackets of the list
}

func randomPoints(rng *rand.Rand, n int) []assay.Point {
	points := make([]assay.Point, n)
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for i := range points {
		at += 1 + rng.Int64N(assay.Day)
		points[i] = assay.Point{At: at, Value: assay.Nanos(rng.Int64() >> rng.IntN(63))}
	}
	return points
}

func TestSeries_RowsEqualEncodingJSON(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(8, 1))
	points := randomPoints(rng, 3*blockRows+50)
	s := newSeries(made(1, points), 1, 1)
	reader := s.Reader()
	for range 1000 {
		i := rng.IntN(len(points) + 1)
		j := i + rng.IntN(len(points)-i+1)
		text, want := s.AppendText(nil, i, j), slowRows(t, points[i:j])
		if !bytes.Equal(text, want) || s.TextSize(i, j) != len(want) {
			t.Fatalf("rows %d to %d: got %s of %d, want %s", i, j, text, s.TextSize(i, j), want)
		}
		got := reader.Values(i, j)
		for k, p := range points[i:j] {
			if len(got) != j-i || got[k] != p.Value {
				t.Fatalf("values %d to %d: got %v", i, j, got)
			}
		}
	}
	for range 5000 {
		i := rng.IntN(len(points))
		if got := s.At(i); got != points[i] || reader.At(i) != points[i] {
			t.Fatalf("point %d: got %v, want %v", i, got, points[i])
		}
		if got, want := reader.AppendRow(nil, i), slowRows(t, points[i:i+1]); !bytes.Equal(got, want) {
			t.Fatalf("row %d: got %s, want %s", i, got, want)
		}
	}
	if got := s.AppendText(nil, 3, 2); len(got) != 0 || s.TextSize(3, 2) != 0 {
		t.Errorf("rows the wrong way round: %s", got)
	}
}

// checkSeries compares a series with what it should hold, in all its forms.
func checkSeries(t *testing.T, what string, s *Series, want []assay.Point) {
	t.Helper()
	if got := pointsOf(s); !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	} else if rows := string(s.AppendText(nil, 0, s.Len())); rows != string(slowRows(t, want)) {
		t.Errorf("%s: got the rows %s", what, rows)
	}
}

func TestSeries_ExtendedLeavesTheOldOneAlone(t *testing.T) {
	t.Parallel()
	old := newSeries(made(1, pointsAt(10, 20, 30)), 1, 100)
	next := old.extended(made(2, pointsAt(40, 50)), 2, 200)
	checkSeries(t, "the old series", old, pointsAt(10, 20, 30))
	checkSeries(t, "the next series", next, pointsAt(10, 20, 30, 40, 50))
	if old.Version() != 1 || old.Modified() != 100 || next.Version() != 2 || next.Modified() != 200 {
		t.Errorf("versions %d and %d, modified %d and %d", old.Version(), next.Version(), old.Modified(), next.Modified())
	}
}

func TestSeries_ExtendedShares(t *testing.T) {
	t.Parallel()
	points := randomPoints(rand.New(rand.NewPCG(8, 2)), 3*blockRows)
	old := newSeries(made(1, points[:2*blockRows+10]), 1, 1)
	next := old.extended(made(2, points[2*blockRows+10:]), 2, 2)
	if old.blocks[0] != next.blocks[0] || old.blocks[1] != next.blocks[1] || len(next.blocks) != 3 {
		t.Error("full blocks are not shared")
	}
}

// Two series that extend the same one know nothing of each other.
func TestSeries_TwoSuccessors(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, blockRows - 1, blockRows, blockRows + 1} {
		points := randomPoints(rand.New(rand.NewPCG(8, 3)), n+4)
		base := newSeries(made(1, points[:n]), 1, 1)
		one, two := base.extended(made(2, points[n:n+2]), 2, 2), base.extended(made(2, points[n+2:]), 2, 2)
		checkSeries(t, "the first", one, points[:n+2])
		checkSeries(t, "the second", two, slices.Concat(points[:n], points[n+2:]))
		checkSeries(t, "the base", base, points[:n])
	}
}

func TestSeries_Merged(t *testing.T) {
	t.Parallel()
	changed := func(at int64) assay.Point { return assay.Point{At: at, Value: -assay.Nanos(at)} }
	f := func(what string, points, want []assay.Point) {
		t.Helper()
		old := seriesAt(10, 20, 30)
		next := old.merged(made(2, points), 2, 200)
		checkSeries(t, what, next, want)
		checkSeries(t, what+", the old series", old, pointsAt(10, 20, 30))
		if next.Version() != 2 || next.Modified() != 200 {
			t.Errorf("%s: version %d, modified %d", what, next.Version(), next.Modified())
		}
	}
	f("nothing", nil, pointsAt(10, 20, 30))
	f("behind", pointsAt(40, 50), pointsAt(10, 20, 30, 40, 50))
	f("in the middle", pointsAt(15, 25), pointsAt(10, 15, 20, 25, 30))
	f("before", pointsAt(1, 2), pointsAt(1, 2, 10, 20, 30))
	f("replaced", []assay.Point{changed(20)}, slices.Concat(pointsAt(10), []assay.Point{changed(20)}, pointsAt(30)))
	f("the last replaced", []assay.Point{changed(30)}, slices.Concat(pointsAt(10, 20), []assay.Point{changed(30)}))
	f("replaced, inserted and behind", []assay.Point{changed(10), {At: 11, Value: 11 * assay.One}, {At: 40, Value: 40 * assay.One}},
		slices.Concat([]assay.Point{changed(10)}, pointsAt(11, 20, 30, 40)))
	checkSeries(t, "into nothing", (&Series{}).merged(made(1, pointsAt(10)), 1, 1), pointsAt(10))
	// Further apart than 32 bits count milliseconds.
	checkSeries(t, "far apart", seriesAt(10, 1<<33).merged(made(2, pointsAt(1<<32)), 2, 2), pointsAt(10, 1<<32, 1<<33))
}

func TestSeries_MemoIsMadeOnceForEachLevel(t *testing.T) {
	t.Parallel()
	s := seriesAt(10)
	var made atomic.Int64
	get := func(access assay.Access) any {
		return s.Memo(access, func() any { return fmt.Sprint(access, " made as number ", made.Add(1)) })
	}
	levels := []assay.Access{assay.Public3Months, assay.Public1Month, assay.AccessPremium, assay.AccessFull}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for _, level := range levels {
				get(level)
			}
		})
	}
	wg.Wait()
	seen := map[any]bool{}
	for _, level := range levels {
		seen[get(level)] = true
	}
	if made.Load() != int64(len(levels)) || len(seen) != len(levels) {
		t.Errorf("%d were made and %d are different, want %d", made.Load(), len(seen), len(levels))
	}
	s = s.extended(nil, 2, 2)
	if get(levels[0]); made.Load() != int64(len(levels))+1 {
		t.Error("the next series shows what was made of the old one")
	}
}
