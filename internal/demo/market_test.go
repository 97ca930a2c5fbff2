package demo

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/assaydata/assay"
)

func marketAt(year int, month time.Month, day int) int64 {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).UnixMilli()
}

func marketRows(m *Market, from, to int64) []Arrival {
	var rows []Arrival
	for hour := from; hour < to; hour += assay.Hour {
		rows = m.AppendHour(rows, hour)
	}
	return rows
}

func TestMarketDependsOnSeedAndHourAlone(t *testing.T) {
	from := marketAt(2026, 3, 1)
	to := from + 2*assay.Day
	want := marketRows(NewMarket(1, assay.DefaultCatalog()), from, to)
	if other := marketRows(NewMarket(2, assay.DefaultCatalog()), from, to); slices.Equal(want, other) {
		t.Error("seeds 1 and 2 give the same rows")
	}

	var pieces []Arrival
	start := from
	for _, cut := range []int64{from + assay.Hour, from + 31*assay.Hour, to} {
		pieces = append(pieces, marketRows(NewMarket(1, assay.DefaultCatalog()), start, cut)...)
		start = cut
	}
	if !slices.Equal(want, pieces) {
		t.Error("cutting time in pieces changes the rows")
	}

	catalog := assay.DefaultCatalog()
	slices.Reverse(catalog.GPUs)
	slices.Reverse(catalog.Regions)
	if !slices.Equal(want, marketRows(NewMarket(1, catalog), from, to)) {
		t.Error("the order of the catalog changes the rows")
	}
}

// A change of this sum changes every demo that already runs: its feed would go on with other rows than it was seeded
// with.
func TestMarketStaysTheSame(t *testing.T) {
	h := fnv.New64a()
	from := marketAt(2026, 1, 1)
	for _, a := range marketRows(NewMarket(1, assay.DefaultCatalog()), from, from+assay.Day) {
		// What a market says of a row, field by field: fields of the store's own must not change the sum.
		fmt.Fprintf(h, "{{%s %s %d %s %s %s %d %d %s %t} %d}\n",
			a.Source, a.ID, a.ExecutedAt, a.GPU, a.Region, a.Price, a.GPUs, a.HourMicros, a.Provider, a.Verified, a.At)
	}
	if got, want := h.Sum64(), uint64(0x3cc16942f886acf6); got != want {
		t.Errorf("the rows of 2026-01-01 have the sum %#x, want %#x", got, want)
	}
}

func TestMarketTwoYears(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	m := NewMarket(1, assay.DefaultCatalog())
	c := newCensus(newYork)
	from, to := marketAt(2024, 11, 1), marketAt(2026, 11, 2)
	var rows []Arrival
	for hour := from; hour < to; hour += assay.Hour {
		rows = m.AppendHour(rows[:0], hour)
		c.hour(t, hour, rows)
	}

	if c.total >= 950_000 {
		t.Errorf("%d rows, want fewer than 950,000", c.total)
	}
	f := func(what string, got int, low, high float64) {
		t.Helper()
		if share := float64(got) / float64(c.total); share < low || share > high {
			t.Errorf("%s: %.5f of all rows, want %.3f to %.3f", what, share, low, high)
		}
	}
	f("unverified", c.unverified, 0.035, 0.045)
	f("late", c.late, 0.0025, 0.0035)
	f("no region", c.regionless, 0.004, 0.006)
	f("up to 8 GPUs", c.smallLots, 0.80, 0.95)
	f("1 to 48 hours", c.shortTerms, 0.75, 0.95)
	if len(c.providers) != 40 {
		t.Errorf("%d providers trade, want 40", len(c.providers))
	}
	c.days(t)
}

// census counts the rows of many hours.
type census struct {
	newYork                                                    *time.Location
	last                                                       string // ID
	total, unverified, late, regionless, smallLots, shortTerms int
	providers                                                  map[string]bool
	utcDays, fixingDays                                        map[string]int
}

func newCensus(newYork *time.Location) *census {
	return &census{newYork: newYork, providers: map[string]bool{}, utcDays: map[string]int{}, fixingDays: map[string]int{}}
}

func (c *census) hour(t *testing.T, hour int64, rows []Arrival) {
	t.Helper()
	quoted := map[string]bool{}
	at := hour - 1 // IDs and times go up from hour to hour
	for i := range rows {
		a := &rows[i]
		if a.ID <= c.last || a.ExecutedAt < at || a.ExecutedAt >= hour+assay.Hour {
			t.Fatalf("row %+v is out of order after ID %s at %d", a, c.last, at)
		}
		c.last, at = a.ID, a.ExecutedAt
		c.row(t, a)
		if a.Verified && a.At < hour+assay.Hour {
			quoted[a.GPU] = true
		}
	}
	if len(quoted) != 6 {
		t.Fatalf("hour %s has verified trades in time for %v only", assay.FormatInstant(hour), quoted)
	}
	start := time.UnixMilli(hour).UTC()
	c.utcDays[start.Format(assay.DayLayout)] += len(rows)
	c.fixingDays[fixingDay(start.In(c.newYork))] += len(rows)
}

// fixingDay is the day on whose 16:00 the 24 hours end that hold the hour.
func fixingDay(local time.Time) string {
	y, m, d := local.Date()
	if local.Hour() >= 16 {
		d++
	}
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Format(assay.DayLayout)
}

func (c *census) row(t *testing.T, a *Arrival) {
	t.Helper()
	if err := wrongRow(a); err != "" {
		t.Fatalf("row %+v: %s", a, err)
	}
	c.total++
	c.providers[a.Provider] = true
	c.unverified += count(!a.Verified)
	c.late += count(a.Late())
	c.regionless += count(a.Region == "")
	c.smallLots += count(a.GPUs <= 8)
	c.shortTerms += count(a.HourMicros >= 1e6 && a.HourMicros <= 48e6)
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func wrongRow(a *Arrival) string {
	delay := a.At - a.ExecutedAt
	switch {
	case !strings.Contains(a.Source, "synthetic"):
		return "the source does not say that it is synthetic"
	case a.Price <= 0 || a.Price >= 50*assay.One || a.Price%100_000 != 0:
		return "the price is not a sane one with four decimals"
	case a.GPUs < 1 || a.GPUs > 512 || a.GPUs&(a.GPUs-1) != 0:
		return "the lot is not a power of two up to 512"
	case a.HourMicros < 500_000 || a.HourMicros > 720e6 || a.HourMicros%250_000 != 0 && a.HourMicros%100_000 != 0:
		return "the hours are not quarters or tenths from 0.5 to 720"
	case a.Late() && (delay < 2*assay.Hour || delay > 5*assay.Day):
		return "it is not 2 hours to 5 days late"
	case !a.Late() && (delay < assay.Second || delay > 20*assay.Second):
		return "it does not arrive within 1 to 20 seconds"
	}
	return ""
}

// days checks the volume of every day but the fixing days that the period cuts.
func (c *census) days(t *testing.T) {
	t.Helper()
	delete(c.fixingDays, "2024-11-01")
	delete(c.fixingDays, "2026-11-02")
	least, most := math.MaxInt, 0
	var weekday, weekend, weekdays, weekends int
	for day, n := range c.utcDays {
		least, most = min(least, n), max(most, n)
		date, _ := time.Parse(assay.DayLayout, day)
		if w := date.Weekday(); w == time.Saturday || w == time.Sunday {
			weekend, weekends = weekend+n, weekends+1
		} else {
			weekday, weekdays = weekday+n, weekdays+1
		}
	}
	leastFixing := math.MaxInt
	for _, n := range c.fixingDays {
		leastFixing = min(leastFixing, n)
	}
	if least < 1000 || leastFixing < 1000 {
		t.Errorf("the thinnest day has %d rows, the thinnest fixing day %d, want 1,000", least, leastFixing)
	}
	if 100*weekday/weekdays < 110*weekend/weekends {
		t.Errorf("weekdays have %d rows, weekends %d: too much alike", weekday/weekdays, weekend/weekends)
	}
	t.Logf("%d rows; per UTC day %d to %d, mean %d; thinnest fixing day %d", c.total, least, most, c.total/len(c.utcDays), leastFixing)
}

func TestMarketLevels(t *testing.T) {
	f := func(gpu string, day int64, want, tolerance float64) {
		t.Helper()
		for seed := range int64(5) {
			var sum, n float64
			for _, a := range marketRows(NewMarket(seed, assay.DefaultCatalog()), day, day+assay.Day) {
				if a.GPU == gpu && a.Verified {
					sum, n = sum+a.Price.Float(), n+1
				}
			}
			if mean := sum / n; math.Abs(mean/want-1) > tolerance {
				t.Errorf("%s, seed %d: mean price %.3f, want %.2f within %.0f %%", gpu, seed, mean, want, 100*tolerance)
			}
		}
	}
	start := marketAt(2026, 1, 1)
	f("H100 SXM", start, 2.3, 0.15)
	f("H200", start, 2.9, 0.15)
	f("B200", start, 4.4, 0.15)
	f("A100 SXM4", start, 1.25, 0.15)
	f("RTX 5090", start, 0.55, 0.15)
	f("RTX PRO 6000 WS", start, 1.05, 0.15)

	f("B200", marketAt(2024, 11, 1), 6, 0.15)
	f("B200", marketAt(2020, 1, 1), 8.5, 0.3) // not real, but sane
	f("B200", marketAt(2035, 1, 1), 2.9, 0.3)
	f("RTX 5090", marketAt(2035, 1, 1), 0.5, 0.2)
}

// An empty catalog has no market, and must not be a panic.
func TestMarketOfNothing(t *testing.T) {
	if rows := NewMarket(1, assay.Catalog{}).AppendHour(nil, marketAt(2026, 1, 1)); len(rows) != 0 {
		t.Errorf("an empty catalog gives %d rows", len(rows))
	}
}

func TestMarketListings(t *testing.T) {
	names := map[string]bool{}
	for _, l := range listings {
		names[l.name] = true
		if n := len(strings.Fields(l.regions)); n < 2 || n > 5 {
			t.Errorf("%s serves %d regions, want 2 to 5", l.name, n)
		}
		if l.basisPoints < -1200 || l.basisPoints > 1200 {
			t.Errorf("%s is %d basis points off the market, want at most 1,200", l.name, l.basisPoints)
		}
	}
	if len(names) != 40 {
		t.Errorf("%d different names, want 40", len(names))
	}
}

func BenchmarkMarketDay(b *testing.B) {
	m := NewMarket(1, assay.DefaultCatalog())
	day := marketAt(2026, 1, 1)
	var rows []Arrival
	b.ReportAllocs()
	for b.Loop() {
		rows = rows[:0]
		for hour := day; hour < day+assay.Day; hour += assay.Hour {
			rows = m.AppendHour(rows, hour)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/row")
}
