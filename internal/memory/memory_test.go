package memory

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/index/indextest"
)

// TestScripts runs testdata/*.txt; weekly.txt says how they are written.
func TestScripts(t *testing.T) {
	t.Parallel()
	indextest.Run(t, func(*testing.T) indextest.Runner { return &script{schedule: plain()} })
}

// script is what has been loaded so far.
type script struct {
	loaded   []assay.Observed[assay.MemoryReading]
	schedule index.Schedule
}

// plain is methodology 1.0.0.
func plain() index.Schedule { return index.Schedule{index.Plain()} }

// median is the schedule of a methodology by which the price is a median.
func median(maxAge time.Duration, outliers int) index.Schedule {
	m := index.Plain()
	m.Memory = index.MemoryRule{Median: true, MaxAge: maxAge, Outliers: outliers}
	return index.Schedule{m}
}

func (s *script) Run(verb string, args []string) (checked bool, err error) {
	switch {
	case verb == "clear" && len(args) == 0:
		s.loaded = nil
		return false, nil
	case verb == "load" && (len(args) == 2 || len(args) == 3):
		return false, s.load(args)
	case verb == "methodology" && len(args) == 1:
		return false, s.methodology(args[0])
	case verb == "eval" && len(args) == 2:
		return true, s.eval(args)
	}
	return false, indextest.ErrUnknown(verb, args)
}

func (s *script) load(args []string) error {
	at, _, err := assay.ParseInstant(args[0])
	if err != nil {
		return err
	}
	price, err := assay.ParseDecimal(args[1], 9)
	r := observed("mem", at, assay.Nanos(price))
	if len(args) == 3 {
		r.Value.Source = args[2]
		r.Key = r.Value.Key()
	}
	s.loaded = append(s.loaded, r)
	return err
}

func (s *script) methodology(text string) error {
	if text == "last" {
		s.schedule = plain()
		return nil
	}
	var age string
	var outliers int
	if _, err := fmt.Sscanf(text, "median max_age %s outliers %d", &age, &outliers); err != nil {
		return fmt.Errorf("methodology %q: %w", text, err)
	}
	maxAge, err := time.ParseDuration(age)
	s.schedule = median(maxAge, 100*outliers)
	return err
}

func observed(id string, at int64, price assay.Nanos) assay.Observed[assay.MemoryReading] {
	r := assay.MemoryReading{MemoryID: id, At: at, Price: price}
	return assay.Observed[assay.MemoryReading]{Value: r, Key: r.Key(), Received: at + assay.Minute}
}

func (s *script) eval(args []string) error {
	day, _, err := assay.ParseInstant(args[0])
	if err != nil {
		return err
	}
	got := "none"
	points := Build(s.loaded, s.schedule)["mem"]
	if i, j := points.Range(day, day+assay.Day-1); i < j {
		p := points[i]
		got = fmt.Sprintf("%s, change %s, high %s, low %s, fixed %s", p.Price, p.ChangePct, p.High, p.Low, assay.FormatInstant(p.At)[11:16])
		if p.Sources > 0 {
			got += fmt.Sprintf(", %d of %d sources", p.Sources, p.Sources+p.ExcludedSources())
		}
	}
	if want := strings.TrimPrefix(args[1], "= "); got != want {
		return fmt.Errorf("the point is %s", got)
	}
	return nil
}

// TestBuild_Rules holds random readings, in a random order, against the rules as they are written.
func TestBuild_Rules(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	start := time.Date(2025, 2, 20, 0, 0, 0, 0, zone)
	for range 200 {
		var readings []assay.Observed[assay.MemoryReading]
		end := start.AddDate(0, 1, 0).UnixMilli()
		for at := start.UnixMilli(); at < end; at += 1 + rng.Int64N(int64(1+rng.IntN(40))*assay.Hour) {
			if rng.IntN(3) == 0 { // exactly at a fixing, or beside it
				at = fixings().NextSlot(assay.Daily, at) + rng.Int64N(3) - 1
			}
			readings = append(readings, observed("mem", at, assay.Nanos(1+rng.Int64N(1000))*assay.Unit(3)))
		}
		var want Series
		var before time.Time // the fixing of the weekday before
		for day := range 40 {
			fixing := time.Date(2025, 2, 20+day, 16, 0, 0, 0, zone)
			if fixing.Weekday() == time.Saturday || fixing.Weekday() == time.Sunday {
				continue
			}
			if p, ok := pointByRule(readings, before.UnixMilli(), time.Date(2025, 2, 20+day-7, 16, 0, 0, 0, zone).UnixMilli(),
				fixing.UnixMilli()); ok {
				if len(want) > 0 {
					p.ChangePct = changeByRule(p.Price, want[len(want)-1].Price)
				}
				want = append(want, p)
			}
			before = fixing
		}
		rng.Shuffle(len(readings), func(i, j int) { readings[i], readings[j] = readings[j], readings[i] })
		if got := Build(readings, plain())["mem"]; !slices.Equal(got, want) {
			t.Fatalf("the readings\n%v\n give %+v\nwant %+v", readings, got, want)
		}
	}
}

// pointByRule makes a point of readings, which are in the order of time.
func pointByRule(readings []assay.Observed[assay.MemoryReading], before, week, fixing int64) (p Point, ok bool) {
	for _, r := range readings {
		if r.Value.At <= week || r.Value.At > fixing {
			continue
		}
		if p.Low == 0 || r.Value.Price < p.Low {
			p.Low = r.Value.Price
		}
		p.High = max(p.High, r.Value.Price)
		if r.Value.At > before {
			p.At, p.Price, p.ReadAt, p.Received, ok = fixing, r.Value.Price, r.Value.At, r.Received, true
		}
	}
	return p, ok
}

// changeByRule rounds the change in percent to the nearest ten-thousandth; from the middle to the even one.
func changeByRule(now, before assay.Nanos) assay.Nanos {
	millionths := int64(now-before) / int64(assay.Unit(3)) * 1_000_000
	divisor := int64(before / assay.Unit(3))
	down := (millionths%divisor + divisor) % divisor
	units := (millionths - down) / divisor
	if 2*down > divisor || 2*down == divisor && units%2 != 0 {
		units++
	}
	return assay.Nanos(units) * assay.Unit(4)
}

func TestSeries_RangeAndSettled(t *testing.T) {
	t.Parallel()
	monday := time.Date(2026, 2, 2, 21, 0, 0, 0, time.UTC).UnixMilli()
	s := Build([]assay.Observed[assay.MemoryReading]{
		observed("mem", monday, assay.One), observed("mem", monday+1, assay.One), observed("other", monday, assay.One),
	}, plain())["mem"]
	f := func(from, to int64, i, j int) {
		t.Helper()
		if gotI, gotJ := s.Range(from, to); gotI != i || gotJ != j {
			t.Errorf("[%d, %d) lie there, want [%d, %d)", gotI, gotJ, i, j)
		}
	}
	f(monday, monday, 0, 1)
	f(monday-1, monday-1, 0, 0)
	f(monday+1, monday+assay.Day, 1, 2)
	f(monday+1, monday+assay.Day-1, 1, 1)
	f(monday+1, monday-1, 1, 1)
	for at, want := range map[int64]int{monday - 1: 0, monday: 1, monday + assay.Day - 1: 1, monday + assay.Day: 2} {
		if got := s.Settled(at); got != want {
			t.Errorf("%d points are settled at %s, want %d", got, assay.FormatInstant(at), want)
		}
	}
}

func TestBuild_ExtremePrices(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 2, 12, 0, 0, 0, time.UTC).UnixMilli()
	low, high := assay.Unit(3), 10_000*assay.One // the bounds of the import
	s := Build([]assay.Observed[assay.MemoryReading]{observed("mem", at, low), observed("mem", at+assay.Day, high), observed("mem", at+2*assay.Day, low)}, plain())["mem"]
	if got := fmt.Sprint(s[1].ChangePct, " ", s[2].ChangePct); got != "999999900 -100" {
		t.Errorf("the changes are %s", got)
	}
}

func BenchmarkBuild(b *testing.B) {
	var readings []assay.Observed[assay.MemoryReading]
	for _, memory := range assay.DefaultCatalog().MemoryTypes {
		for day := range int64(730) {
			readings = append(readings, observed(memory.ID, 1_700_000_000_000+day*assay.Day, assay.One+assay.Nanos(day)))
		}
	}
	for b.Loop() {
		Build(readings, plain())
	}
}
