package demo

import (
	"math"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/tools/testenv"
)

// These tests measure the market as a trader would: on the published fixings of two years.

func global(gpu string) assay.Line { return assay.Line{GPU: gpu, Region: assay.Global} }

// returns are the logarithmic returns from fixing to fixing.
func returns(fixings []fixing) (r []float64) {
	for i := 1; i < len(fixings); i++ {
		r = append(r, math.Log(fixings[i].Value.Float()/fixings[i-1].Value.Float()))
	}
	return r
}

// correlation is Pearson's, of the last values that both have.
func correlation(a, b []float64) float64 {
	n := min(len(a), len(b))
	a, b = a[len(a)-n:], b[len(b)-n:]
	var sumA, sumB, squareA, squareB, product float64
	for i := range a {
		sumA, sumB = sumA+a[i], sumB+b[i]
		squareA, squareB, product = squareA+a[i]*a[i], squareB+b[i]*b[i], product+a[i]*b[i]
	}
	size := float64(n)
	return (size*product - sumA*sumB) / math.Sqrt((size*squareA-sumA*sumA)*(size*squareB-sumB*sumB))
}

func TestMarket_ModelsCorrelate(t *testing.T) {
	t.Parallel()
	h := twoYears(t)
	for i, a := range models {
		for _, b := range models[i+1:] {
			t.Run(a.name+" and "+b.name, func(t *testing.T) {
				low, high := 0.2, 0.8
				if a.datacenter && b.datacenter {
					low, high = 0.4, 0.9
				}
				if c := correlation(returns(h.daily[global(a.name)]), returns(h.daily[global(b.name)])); c < low || c > high {
					t.Errorf("daily returns correlate by %.2f, want %.1f to %.1f", c, low, high)
				}
			})
		}
	}
}

func TestMarket_Volatility(t *testing.T) {
	t.Parallel()
	h := twoYears(t)
	for _, g := range models {
		r := returns(h.daily[global(g.name)])
		squares, sum := make([]float64, len(r)), 0.0
		for i, x := range r {
			squares[i] = x * x
			sum += x * x
		}
		t.Run(g.name, func(t *testing.T) {
			if v := math.Sqrt(sum / float64(len(r)) * 365); v < 0.15 || v > 0.60 {
				t.Errorf("annualized volatility is %.2f, want 0.15 to 0.60", v)
			}
			// Without clusters the autocorrelation of 730 squares would stay below 0.07.
			if c := correlation(squares[1:], squares[:len(squares)-1]); c < 0.1 {
				t.Errorf("squared returns of consecutive days correlate by %.2f, want 0.1 at least", c)
			}
		})
	}
}

func TestMarket_Levels(t *testing.T) {
	t.Parallel()
	h := twoYears(t)
	f := func(gpu string, low, newest, high float64) {
		t.Helper()
		t.Run(gpu, func(t *testing.T) {
			fixings := h.daily[global(gpu)]
			for _, x := range fixings {
				if v := x.Value.Float(); v < low || v > high {
					t.Fatalf("at %s the price is %.4f, want %.2f to %.2f", assay.FormatInstant(x.at), v, low, high)
				}
			}
			if v := fixings[len(fixings)-1].Value.Float(); math.Abs(v/newest-1) > 0.12 {
				t.Errorf("the newest price is %.4f, want about %.2f", v, newest)
			}
		})
	}
	f("H100 SXM", 1.5, 2.0, 3.6)
	f("H200", 2.0, 2.6, 4.6)
	f("B200", 3.0, 3.7, 7.2)
	f("A100 SXM4", 0.8, 1.0, 2.0)
	f("RTX 5090", 0.4, 0.53, 0.8)
	f("RTX PRO 6000 WS", 0.8, 1.0, 1.5)
}

// Older generations get cheaper: a year's mean is below that of the year before.
func TestMarket_OldGenerationsGetCheaper(t *testing.T) {
	t.Parallel()
	h := twoYears(t)
	for _, gpu := range []string{"A100 SXM4", "H100 SXM", "H200"} {
		t.Run(gpu, func(t *testing.T) {
			fixings := h.daily[global(gpu)]
			first, second := mean(fixings[:365]), mean(fixings[365:])
			if fall := 1 - second/first; fall < 0.05 || fall > 0.35 {
				t.Errorf("the mean falls from %.3f to %.3f, want 5 to 35 %%", first, second)
			}
		})
	}
}

func mean(fixings []fixing) (sum float64) {
	for _, x := range fixings {
		sum += x.Value.Float()
	}
	return sum / float64(len(fixings))
}

func TestMarket_WeekendsAreQuiet(t *testing.T) {
	t.Parallel()
	var hours, trades, days [2]float64 // of weekdays and weekends
	for _, x := range twoYears(t).daily[global("H100 SXM")] {
		i := 0
		if day := time.UnixMilli(x.at).UTC().Weekday(); day == time.Saturday || day == time.Sunday {
			i = 1
		}
		hours[i] += float64(x.HourMicros)
		trades[i] += float64(x.Transactions)
		days[i]++
	}
	f := func(name string, sums [2]float64, low, high float64) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			if ratio := sums[0] / days[0] / (sums[1] / days[1]); ratio < low || ratio > high {
				t.Errorf("a weekday has %.2f times the %s of a weekend day, want %.2f to %.2f", ratio, name, low, high)
			}
		})
	}
	f("trades", trades, 1.1, 1.4)
	f("GPU-hours", hours, 1.3, 2.5)
}

func TestMarket_Launch(t *testing.T) {
	t.Parallel()
	h, l := twoYears(t), &launches[0]
	fixings := h.daily[global(l.model)]
	if first := fixings[0].at; first < l.at || first > l.at+assay.Day {
		t.Errorf("the first fixing is at %s, the launch at %s", assay.FormatInstant(first), assay.FormatInstant(l.at))
	}
	// The premium is what is paid on top of the H200, against half a year later.
	other := h.daily[global("H200")]
	other = other[len(other)-len(fixings):]
	ratio := func(i int) float64 { return mean(fixings[i:i+7]) / mean(other[i:i+7]) }
	if fall := 1 - ratio(180)/ratio(0); fall < 0.10 || fall > 0.40 {
		t.Errorf("the ratio to the H200 falls from %.2f to %.2f, want 10 to 40 %%", ratio(0), ratio(180))
	}
	if early, late := fixings[3].Transactions, fixings[120].Transactions; early*3 > late {
		t.Errorf("%d trades on the fourth day, %d four months later: the launch is no launch", early, late)
	}
}

func TestMarket_PriceCut(t *testing.T) {
	t.Parallel()
	cut, leader := &cuts[0], listings[0].name
	m := NewMarket(1, assay.DefaultCatalog())
	// Medians of the ratio to the other GPU models would be exact; means over a day are close enough to tell 12 % from
	// 0.
	price := func(from int64, of func(provider string) bool) float64 {
		sum, n := 0.0, 0.0
		for _, a := range marketRows(m, from, from+assay.Day) {
			if a.GPU == "H100 SXM" && a.Verified && of(a.Provider) {
				sum, n = sum+a.Price.Float(), n+1
			}
		}
		return sum / n
	}
	first := func(provider string) bool { return provider == leader }
	last := func(provider string) bool {
		return provider == listings[len(listings)-1].name || provider == listings[len(listings)-2].name
	}
	f := func(name string, of func(string) bool, after int64, low, high float64) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			if fall := 1 - price(cut.at+after, of)/price(cut.at-assay.Day, of); fall < low || fall > high {
				t.Errorf("the price falls by %.3f, want %.2f to %.2f", fall, low, high)
			}
		})
	}
	f("the largest provider at once", first, 0, 0.07, 0.17)
	f("the smallest not yet", last, 0, -0.06, 0.06)
	f("the smallest in the end", last, lastFollower+assay.Day, 0.05, 0.25)

	h := twoYears(t)
	t.Run("the index", func(t *testing.T) {
		data, consumer := h.daily[global("H100 SXM")], h.daily[global("RTX 5090")]
		i := 0
		for data[i].at < cut.at {
			i++
		}
		before, after := i-7, i+int(lastFollower/assay.Day)
		change := func(x []fixing) float64 { return mean(x[after:after+7]) / mean(x[before:before+7]) }
		if fall := 1 - change(data)/change(consumer); fall < 0.05 || fall > 0.2 {
			t.Errorf("the H100 falls by %.3f against the RTX 5090, want 5 to 20 %%", fall)
		}
	})
}

func TestMarket_ThinRegionsHaveGaps(t *testing.T) {
	t.Parallel()
	h := twoYears(t)
	gaps := 0
	for _, g := range models {
		t.Run(g.name, func(t *testing.T) {
			all := h.daily[global(g.name)]
			for i := 1; i < len(all); i++ {
				if at := methodology.NextSlot(assay.Daily, all[i-1].at); at != all[i].at {
					t.Fatalf("the global index has no fixing at %s", assay.FormatInstant(at))
				}
			}
			begin := historyBegin
			if l := launchOf(g.name); l != nil {
				begin = l.at
			}
			hours := int((historyEnd-begin)/assay.Hour) - 1
			if n := h.hourly[global(g.name)]; n != hours {
				t.Errorf("the global index has %d hours, want %d", n, hours)
			}
			if n := h.hourly[assay.Line{GPU: g.name, Region: thinnest}]; n > hours*8/10 || n < hours/20 {
				t.Errorf("%d of %d hours have a value in ap-east, want gaps", n, hours)
			}
			if n := len(h.daily[assay.Line{GPU: g.name, Region: "us-east"}]); n != len(all) {
				t.Errorf("%d of %d days have a fixing in us-east, want all", n, len(all))
			}
		})
		gaps += len(h.daily[global(g.name)]) - len(h.daily[assay.Line{GPU: g.name, Region: thinnest}])
	}
	if gaps < 5 || gaps > 100 {
		t.Errorf("%d daily fixings are missing in ap-east, want some", gaps)
	}
}

// The spread of a region changes over weeks, and stays near its mean.
func TestMarket_RegionalSpreadsReturn(t *testing.T) {
	t.Parallel()
	h := twoYears(t)
	west := map[int64]float64{}
	for _, x := range h.daily[assay.Line{GPU: "H100 SXM", Region: "us-east"}] {
		west[x.at] = x.Value.Float()
	}
	var months []float64
	sum, n := 0.0, 0
	for _, x := range h.daily[assay.Line{GPU: "H100 SXM", Region: thinnest}] {
		sum, n = sum+math.Log(x.Value.Float()/west[x.at]), n+1
		if n == 30 {
			months = append(months, sum/30)
			sum, n = 0, 0
		}
	}
	low, high := months[0], months[0]
	for _, m := range months {
		low, high = min(low, m), max(high, m)
	}
	if low < -0.06 || high > 0.15 || high-low < 0.01 {
		t.Errorf("the monthly spread of ap-east goes from %.3f to %.3f, want it to move around 0.05", low, high)
	}
}

// Where prices are above their trend, capacity is rented.
func TestMarket_UtilizationFollowsTightness(t *testing.T) {
	t.Parallel()
	m := NewMarket(1, assay.DefaultCatalog())
	var shares, tightness []float64
	for at := historyBegin; at < historyEnd; at += assay.Day {
		rented, tracked := int64(0), int64(0)
		for _, r := range m.AppendReadings(nil, at) {
			if r.Rented*100 < r.Tracked*35 || r.Rented*100 > r.Tracked*99 {
				t.Fatalf("%+v is not plausible", r)
			}
			if r.GPU == "H100 SXM" {
				rented, tracked = rented+r.Rented, tracked+r.Tracked
			}
		}
		shares = append(shares, float64(rented)/float64(tracked))
		tide := m.path.tide(at / assay.Hour)
		tightness = append(tightness, float64(tide[wholeMarket]+tide[datacenter]+tide[hopper]+tide[ownH100]))
	}
	if c := correlation(shares, tightness); c < 0.7 {
		t.Errorf("utilization and price correlate by %.2f, want 0.7 at least", c)
	}
}

// Every seed has all regimes, and no seed and no date takes a factor to extremes.
func TestPath_AllSeeds(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	const years = 12
	for seed := range uint64(20) {
		p := &path{seed: mix(seed, 1)}
		p.around((opening + years*365) * 24)
		var days [len(moods)]int
		for i, s := range p.days {
			days[s.regime]++
			for f, level := range s.levels {
				if level < -800_000 || level > 800_000 {
					t.Fatalf("seed %d, day %d: factor %d is at %d", seed, i, f, level)
				}
			}
		}
		for r, n := range days {
			if share := float64(n) / float64(len(p.days)); share < 0.1 || share > 0.7 {
				t.Errorf("seed %d: regime %d has %.2f of all days", seed, r, share)
			}
		}
	}
}

// Before its opening, and far in the future, the market still has prices.
func TestMarket_FarDates(t *testing.T) {
	t.Parallel()
	m := NewMarket(1, assay.DefaultCatalog())
	for _, year := range []int{1999, 2010, 2035, 2060} {
		t.Run(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Format("2006"), func(t *testing.T) {
			for _, a := range m.AppendHour(nil, marketAt(year, 1, 1)) {
				if wrong := wrongRow(&a); wrong != "" {
					t.Errorf("row %+v: %s", a, wrong)
				}
			}
		})
	}
}
