package memory

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/assaydata/assay"
)

// This test computes the points again, from their definition: weekday by weekday, over all readings, with rational
// numbers. It shares no code with the package.

// halfEven rounds to the nearest integer, ties to even.
func halfEven(r *big.Rat) int64 {
	quotient, rest := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	above := rest.Lsh(rest, 1).Cmp(r.Denom())
	if above > 0 || above == 0 && quotient.Bit(0) == 1 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return quotient.Int64()
}

// pointsOtherwise are the points of readings that are in the order of time.
func pointsOtherwise(newYork *time.Location, list []reading) (points []Point) {
	fixing := func(day time.Time) int64 {
		return time.Date(day.Year(), day.Month(), day.Day(), 16, 0, 0, 0, newYork).UnixMilli()
	}
	first := time.UnixMilli(list[0].at).In(newYork).AddDate(0, 0, -8)
	last := fixing(time.UnixMilli(list[len(list)-1].at).In(newYork).AddDate(0, 0, 4))
	before := fixing(first.AddDate(0, 0, -1))
	for day := first; fixing(day) <= last; day = day.AddDate(0, 0, 1) {
		if day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
			continue
		}
		at := fixing(day)
		week := fixing(day.AddDate(0, 0, -7))
		p, found := Point{At: at}, false
		for _, r := range list {
			if r.at > week && r.at <= at {
				if p.High == 0 || r.price > p.High {
					p.High = r.price
				}
				if p.Low == 0 || r.price < p.Low {
					p.Low = r.price
				}
			}
			if r.at > before && r.at <= at {
				p.Price, p.ReadAt, p.Received, found = r.price, r.at, r.received, true
			}
		}
		before = at
		if !found {
			continue
		}
		if n := len(points); n > 0 {
			change := big.NewRat(int64(p.Price-points[n-1].Price), int64(points[n-1].Price))
			p.ChangePct = assay.Nanos(halfEven(change.Mul(change, big.NewRat(100*10_000, 1)))) * assay.Unit(4)
		}
		points = append(points, p)
	}
	return points
}

// An independent computation agrees with the package in every digit.
func TestBuild_ComputedOtherwise(t *testing.T) {
	t.Parallel()
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	values := 100_000
	if testing.Short() {
		values = 10_000
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for compared := 0; compared < values; {
		start := time.Date(2020+rng.IntN(8), time.Month(1+rng.IntN(12)), 1+rng.IntN(28), 0, 0, 0, 0, time.UTC).UnixMilli()
		used := map[int64]bool{}
		var known []assay.Observed[assay.MemoryReading]
		var list []reading
		for range 1 + rng.IntN(60) {
			at := start + rng.Int64N(40*24)*assay.Hour // often exactly at a fixing
			if used[at] {
				continue
			}
			used[at] = true
			price := assay.Nanos(1_000_000 + rng.Int64N(10_000_000_000))
			list = append(list, reading{at, price, rng.Int64N(1000)})
			known = append(known, assay.Observed[assay.MemoryReading]{
				Value: assay.MemoryReading{At: at, MemoryID: "m", Price: price}, Received: list[len(list)-1].received,
			})
		}
		slices.SortFunc(list, func(a, b reading) int { return int(a.at - b.at) })
		want := pointsOtherwise(newYork, list)
		if got := Build(known)["m"]; !slices.Equal(got, want) {
			t.Fatalf("the points of %v are\n%v, and computed otherwise\n%v", list, got, want)
		}
		compared += 5 * len(want)
	}
}
