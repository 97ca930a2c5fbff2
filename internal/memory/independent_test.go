package memory

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index/indextest"
)

// This test computes the points again, from their definition: weekday by weekday, over all readings, with rational
// numbers. It shares no code with the package.

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
			p.ChangePct = indextest.FourDecimals(change.Mul(change, big.NewRat(100, 1)))
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
			list = append(list, reading{at: at, price: price, received: rng.Int64N(1000)})
			known = append(known, assay.Observed[assay.MemoryReading]{
				Value: assay.MemoryReading{At: at, MemoryID: "m", Price: price}, Received: list[len(list)-1].received,
			})
		}
		slices.SortFunc(list, func(a, b reading) int { return int(a.at - b.at) })
		want := pointsOtherwise(newYork, list)
		if got := Build(known, plain())["m"]; !slices.Equal(got, want) {
			t.Fatalf("the points of %v are\n%v, and computed otherwise\n%v", list, got, want)
		}
		compared += 5 * len(want)
	}
}

// medianOtherwise is the price at a fixing as the rule is written, by rational numbers; nil if all readings are too
// old.
func medianOtherwise(list []reading, at, maxAge int64, outliers int64) (price *big.Rat, sources, excluded int) {
	last := map[string]reading{}
	for _, r := range list { // in the order of time
		if r.at <= at && r.at >= at-maxAge {
			last[r.source] = r
		}
	}
	var prices []*big.Rat
	for _, r := range last {
		prices = append(prices, big.NewRat(int64(r.price), 1))
	}
	if len(prices) == 0 {
		return nil, 0, 0
	}
	slices.SortFunc(prices, (*big.Rat).Cmp)
	middles := func() (low, high *big.Rat) { return prices[(len(prices)-1)/2], prices[len(prices)/2] }
	if all := len(prices); all >= 3 {
		low, high := middles()
		share := big.NewRat(outliers, 100)
		low = new(big.Rat).Sub(low, new(big.Rat).Mul(low, share))
		high = new(big.Rat).Add(high, new(big.Rat).Mul(high, share))
		var kept []*big.Rat
		for _, p := range prices {
			if p.Cmp(low) >= 0 && p.Cmp(high) <= 0 {
				kept = append(kept, p)
			}
		}
		prices, excluded = kept, all-len(kept)
	}
	low, high := middles()
	sum := new(big.Rat).Add(low, high)
	return sum.Quo(sum, big.NewRat(2, 1)), len(prices), excluded
}

// An independent computation of medians agrees with the package in every digit.
func TestBuild_MedianComputedOtherwise(t *testing.T) {
	t.Parallel()
	values := 100_000
	if testing.Short() {
		values = 10_000
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for compared := 0; compared < values; {
		start := time.Date(2020+rng.IntN(8), time.Month(1+rng.IntN(12)), 1+rng.IntN(28), 0, 0, 0, 0, time.UTC).UnixMilli()
		age, outliers := int64(1+rng.IntN(72))*assay.Hour, 1+rng.Int64N(60)
		used := map[string]bool{}
		var known []assay.Observed[assay.MemoryReading]
		var list []reading
		for range 1 + rng.IntN(120) {
			r := assay.MemoryReading{
				At: start + rng.Int64N(20*24)*assay.Hour, MemoryID: "m", Source: fmt.Sprint("source ", rng.IntN(6)),
				Price: assay.Nanos(1_000_000_000 + rng.Int64N(1_000_000_000)),
			}
			if used[r.Key()] {
				continue
			}
			used[r.Key()] = true
			known = append(known, assay.Observed[assay.MemoryReading]{Value: r, Key: r.Key()})
			list = append(list, reading{at: r.At, source: r.Source, price: r.Price})
		}
		slices.SortFunc(list, func(a, b reading) int { return int(a.at - b.at) })
		points := Build(known, median(time.Duration(age)*time.Millisecond, 100*int(outliers)))["m"]
		made := map[int64]bool{}
		for _, p := range points {
			made[p.At] = true
			price, sources, excluded := medianOtherwise(list, p.At, age, outliers)
			if price == nil || assay.Nanos(indextest.HalfEven(price)) != p.Price || sources != p.Sources || excluded != p.ExcludedSources() {
				t.Fatalf("at %s the median of %v is %+v, and otherwise %v of %d", assay.FormatInstant(p.At), list, p, price, sources)
			}
			compared += 3
		}
		for _, r := range list {
			if at := weekdayFixing(r.at); !made[at] {
				if price, _, _ := medianOtherwise(list, at, age, outliers); price != nil {
					t.Fatalf("there is no point at %s, and otherwise %v", assay.FormatInstant(at), price)
				}
				compared++
			}
		}
	}
}
