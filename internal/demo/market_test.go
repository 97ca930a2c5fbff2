package demo

import (
	"fmt"
	"hash"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/tools/testenv"
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

func TestMarket_DependsOnSeedAndHourAlone(t *testing.T) {
	t.Parallel()
	from := marketAt(2026, 3, 1)
	to := from + 2*assay.Day
	want := marketRows(NewMarket(1, assay.DefaultCatalog()), from, to)
	f := func(name string, same bool, rows func() []Arrival) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := slices.Equal(rows(), want); got != same {
				t.Errorf("the same rows: %t, want %t", got, same)
			}
		})
	}
	f("another seed", false, func() []Arrival { return marketRows(NewMarket(2, assay.DefaultCatalog()), from, to) })
	f("in pieces", true, func() (pieces []Arrival) {
		start := from
		for _, end := range []int64{from + assay.Hour, from + 31*assay.Hour, to} {
			pieces = append(pieces, marketRows(NewMarket(1, assay.DefaultCatalog()), start, end)...)
			start = end
		}
		return pieces
	})
	f("later hours first", true, func() []Arrival {
		m := NewMarket(1, assay.DefaultCatalog())
		m.AppendHour(nil, to+400*assay.Day)
		return marketRows(m, from, to)
	})
	f("the catalog in another order", true, func() []Arrival {
		catalog := assay.DefaultCatalog()
		slices.Reverse(catalog.GPUs)
		slices.Reverse(catalog.Regions)
		return marketRows(NewMarket(1, catalog), from, to)
	})
}

// A change of these digests changes the market of every seed. Give marketVersion a new value then, so that a demo does
// not continue a folder whose history is another one.
func TestMarket_StaysTheSame(t *testing.T) {
	t.Parallel()
	catalog := assay.DefaultCatalog()
	m := NewMarket(1, catalog)
	f := func(name string, want uint64, write func(h hash.Hash64)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := fnv.New64a()
			write(h)
			if got := h.Sum64(); got != want {
				t.Errorf("the digest is %#x, want %#x", got, want)
			}
		})
	}
	transactions := func(day int64) func(hash.Hash64) {
		return func(h hash.Hash64) {
			for _, a := range marketRows(m, day, day+assay.Day) {
				// Field by field: fields that only the store sets must not change the digest.
				fmt.Fprintf(h, "{{%s %s %d %s %s %s %d %d %s %t} %d}\n", a.Source, a.ID, a.ExecutedAt, a.GPU, a.Region,
					a.Price, a.GPUs, a.HourMicros, a.Provider, a.Verified, a.At)
			}
		}
	}
	day := marketAt(2026, 1, 1)
	f("an ordinary day", 0x120be64db250f976, transactions(day))
	f("the launch", 0xb417f7dfe6ae599e, transactions(marketAt(2025, 3, 18)))
	f("the price cut", 0x6e85d381ac65c66f, transactions(marketAt(2026, 6, 4)))
	f("utilization", 0x66dc27191e11f68b, func(h hash.Hash64) { fmt.Fprint(h, m.AppendReadings(nil, day)) })
	f("memory", 0x418dc8dddb523a2c, func(h hash.Hash64) { fmt.Fprint(h, m.AppendMemory(nil, catalog.MemoryTypes, day)) })
	f("models", 0x3a322531a312ee4f, func(h hash.Hash64) { fmt.Fprint(h, m.AppendModels(nil, day)) })
	f("coding", 0xc79cf4b1c7c977e3, func(h hash.Hash64) { fmt.Fprint(h, m.AppendCoding(nil, catalog.CodingTools(), day)) })
}

func TestMarket_Rows(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	m := NewMarket(1, assay.DefaultCatalog())
	c := newCensus(newYork)
	var rows []Arrival
	for hour := historyBegin; hour < historyEnd; hour += assay.Hour {
		rows = m.AppendHour(rows[:0], hour)
		c.hour(t, hour, rows)
	}

	if c.total >= 950_000 {
		t.Errorf("%d rows, want fewer than 950,000", c.total)
	}
	f := func(name string, got int, low, high float64) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			if share := float64(got) / float64(c.total); share < low || share > high {
				t.Errorf("%.5f of all rows, want %.3f to %.3f", share, low, high)
			}
		})
	}
	f("unverified", c.unverified, 0.035, 0.045)
	f("late", c.late, 0.0025, 0.0035)
	f("no region", c.regionless, 0.004, 0.006)
	f("up to 8 GPUs", c.smallLots, 0.80, 0.95)
	f("1 to 48 hours", c.shortRentals, 0.75, 0.95)
	if len(c.providers) != len(listings) {
		t.Errorf("%d providers trade, want %d", len(c.providers), len(listings))
	}
	t.Run("heavy tail", c.wantHeavyTail)
	t.Run("days", c.wantDays)
}

// census counts the rows of many hours.
type census struct {
	newYork                                                      *time.Location
	last                                                         string // ID
	total, unverified, late, regionless, smallLots, shortRentals int
	providers                                                    map[string]bool
	utcDays, fixingDays                                          map[string]int
	sizes                                                        []int64 // GPU-hours of each deal
}

func newCensus(newYork *time.Location) *census {
	return &census{newYork: newYork, providers: map[string]bool{}, utcDays: map[string]int{}, fixingDays: map[string]int{}}
}

func (c *census) hour(t *testing.T, hour int64, rows []Arrival) {
	t.Helper()
	quoted := map[string]bool{}
	at := hour - 1 // IDs and times rise from hour to hour
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
	for _, g := range models {
		l := launchOf(g.name)
		if launched := l == nil || hour >= l.at; quoted[g.name] != launched {
			t.Fatalf("hour %s: %s has a verified trade in time: %t, want %t",
				assay.FormatInstant(hour), g.name, quoted[g.name], launched)
		}
	}
	start := time.UnixMilli(hour).UTC()
	c.utcDays[start.Format(assay.DayLayout)] += len(rows)
	c.fixingDays[fixingDay(start.In(c.newYork))] += len(rows)
}

// fixingDay is the day whose fixing at 16:00 ends the 24 hours that hold the hour.
func fixingDay(local time.Time) string {
	y, m, d := local.Date()
	if local.Hour() >= 16 {
		d++
	}
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Format(assay.DayLayout)
}

func (c *census) row(t *testing.T, a *Arrival) {
	t.Helper()
	if wrong := wrongRow(a); wrong != "" {
		t.Fatalf("row %+v: %s", a, wrong)
	}
	c.total++
	c.providers[a.Provider] = true
	c.unverified += count(!a.Verified)
	c.late += count(a.Late())
	c.regionless += count(a.Region == "")
	c.smallLots += count(a.GPUs <= 8)
	c.shortRentals += count(a.HourMicros >= 1e6 && a.HourMicros <= 48e6)
	c.sizes = append(c.sizes, a.GPUs*a.HourMicros)
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
		return "the price is not a plausible one with four decimals"
	case a.GPUs < 1 || a.GPUs > 512 || a.GPUs&(a.GPUs-1) != 0:
		return "the number of GPUs is not a power of two up to 512"
	case a.HourMicros < 500_000 || a.HourMicros > 720e6 || a.HourMicros%250_000 != 0 && a.HourMicros%100_000 != 0:
		return "the hours are not quarters or tenths from 0.5 to 720"
	case a.Late() && (delay < 2*assay.Hour || delay > 5*assay.Day):
		return "it is not 2 hours to 5 days late"
	case !a.Late() && (delay < assay.Second || delay > 20*assay.Second):
		return "it does not arrive within 1 to 20 seconds"
	}
	return ""
}

// wantHeavyTail checks that a few large deals make up much of the volume, but not so much that they alone make the
// index.
func (c *census) wantHeavyTail(t *testing.T) {
	slices.Sort(c.sizes)
	var all, largest float64
	for i, size := range c.sizes {
		all += float64(size)
		if i >= len(c.sizes)*99/100 {
			largest += float64(size)
		}
	}
	if share := largest / all; share < 0.2 || share > 0.5 {
		t.Errorf("the largest 1 %% of deals have %.2f of the GPU-hours, want 0.2 to 0.5", share)
	}
}

// wantDays checks the volume of every day but the fixing days that the period cuts.
func (c *census) wantDays(t *testing.T) {
	delete(c.fixingDays, "2024-11-01")
	delete(c.fixingDays, "2026-11-02")
	least := math.MaxInt
	for _, n := range c.utcDays {
		least = min(least, n)
	}
	for _, n := range c.fixingDays {
		least = min(least, n)
	}
	if least < 1000 {
		t.Errorf("the thinnest day has %d rows, want 1,000", least)
	}
}

// An empty catalog has no market, and must not panic.
func TestMarket_EmptyCatalog(t *testing.T) {
	t.Parallel()
	if rows := NewMarket(1, assay.Catalog{}).AppendHour(nil, marketAt(2026, 1, 1)); len(rows) != 0 {
		t.Errorf("an empty catalog gives %d rows", len(rows))
	}
}

// A catalog of one model has no market before the model's launch, and all trades after it.
func TestMarket_OneModelBeforeItsLaunch(t *testing.T) {
	t.Parallel()
	catalog := assay.DefaultCatalog()
	catalog.GPUs = []assay.GPU{{Name: "B200", Free: true}}
	m := NewMarket(1, catalog)
	if rows := m.AppendHour(nil, launches[0].at-assay.Hour); len(rows) != 0 {
		t.Errorf("%d rows before the launch", len(rows))
	}
	if rows := m.AppendHour(nil, launches[0].at); len(rows) < 20 {
		t.Errorf("%d rows after the launch", len(rows))
	}
}

func TestMarket_Listings(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, l := range listings {
		names[l.name] = true
		t.Run(l.name, func(t *testing.T) {
			if n := len(strings.Fields(l.regions)); n < 2 || n > 5 {
				t.Errorf("serves %d regions, want 2 to 5", n)
			}
			if l.basisPoints < -1200 || l.basisPoints > 1200 {
				t.Errorf("is %d basis points off the market, want at most 1,200", l.basisPoints)
			}
		})
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
