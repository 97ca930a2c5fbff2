// Package alert decides which alerts fire. It is pure: an alert, its state and what was published since it was last
// evaluated give the messages to send and the new state.
//
// A price alert fires once when its condition holds, and then waits: it is armed again when the condition has clearly
// ended. Clearly means by the hysteresis, in percent of the threshold. Without it a price that moves around the
// threshold would fire the alert every hour.
//
// Every value counts once, in the order of time, when it is published first. A restatement fires no price alert; it has
// an alert of its own.
package alert

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/assaydata/assay"
)

// Alert is an alert and its state.
type Alert struct {
	ID    string
	Name  string
	Since int64 // it watches what is published from then on
	Armed bool  // whether it fires when its condition holds

	assay.AlertRule
}

// Series names a series of prices.
type Series struct {
	assay.Line
	Grain assay.Grain
}

// Value is the value of a slot of a series.
type Value struct {
	assay.Point
	New     bool // whether it is the first one of its slot, and was published since the last evaluation
	Version int64
}

// Correction is what a restatement changed in a series.
type Correction struct {
	Version     int64
	PublishedAt int64
	Reason      string
	Values      int   // how many
	First, Last int64 // slots
}

// Missed is a day that was determined without a value.
type Missed struct{ At, PublishedAt int64 }

// First is the first value of a GPU model, worldwide.
type First struct {
	GPU   string
	Paid  bool // whether it needs a plan
	Grain assay.Grain
	Value
	PublishedAt int64
}

// News is what was published since the last evaluation, in the order of time.
type News struct {
	Values      map[Series][]Value // with those before the new ones that changes are measured from
	Corrections map[Series][]Correction
	Missed      map[assay.Line][]Missed
	First       []First
	Synthetic   bool // whether the data is made up
}

// grace is how much older than an alert a slot may be: a value is published some time after its slot has ended, and a
// backfill of history fires nothing.
const grace = assay.Hour

// Series returns the series that an alert watches. An alert on new models watches none.
func (a *Alert) Series() Series {
	s := Series{Line: assay.Line{GPU: text(a.GPU), Region: text(a.Region)}}
	if text(a.Granularity) == assay.Hourly.String() {
		s.Grain = assay.Hourly
	}
	return s
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Evaluate returns the messages that an alert sends, and its new state. mayRead decides whether its account may read a
// first value.
func (a *Alert) Evaluate(news *News, mayRead func(First) bool) (events []Event, armed bool) {
	armed = a.Armed
	switch a.Type {
	case assay.PriceAbove, assay.PriceBelow, assay.PriceChange:
		for i, v := range news.Values[a.Series()] {
			if v.New && v.At > a.Since-grace {
				if e := a.price(news.Values[a.Series()][:i+1], &armed); e != nil {
					events = append(events, *e)
				}
			}
		}
	case assay.Corrected:
		for _, c := range news.Corrections[a.Series()] {
			if c.PublishedAt >= a.Since {
				events = append(events, a.correction(c))
			}
		}
	case assay.MissedFixing:
		for _, m := range news.Missed[a.Series().Line] {
			if m.PublishedAt >= a.Since && m.At > a.Since-grace {
				events = append(events, a.missed(m))
			}
		}
	case assay.NewModel:
		for _, f := range news.First {
			if f.PublishedAt >= a.Since && f.Grain == a.Series().Grain && mayRead(f) {
				events = append(events, a.first(f))
			}
		}
	}
	for i := range events {
		events[i].Data.Synthetic = news.Synthetic
	}
	return events, armed
}

// price evaluates the last of the given values.
func (a *Alert) price(values []Value, armed *bool) *Event {
	v := values[len(values)-1]
	if a.Type == assay.PriceChange {
		return a.change(values, armed)
	}
	threshold := *a.Threshold
	margin := share(threshold, *a.Hysteresis)
	holds, ended := v.Value > threshold, v.Value <= threshold-margin
	if a.Type == assay.PriceBelow {
		holds, ended = v.Value < threshold, v.Value >= threshold+margin
	}
	if !turns(holds, ended, armed) {
		return nil
	}
	e := a.event(v)
	e.Data.Threshold = a.Threshold
	e.Data.Message = fmt.Sprintf("%s is %s USD per GPU-hour, %s %s.", a.describe(), v.Value,
		strings.TrimPrefix(string(a.Type), "price_"), threshold)
	return &e
}

// turns reports whether an alert fires, and arms it when its condition has ended.
func turns(holds, ended bool, armed *bool) bool {
	switch {
	case holds && *armed:
		*armed = false
		return true
	case ended:
		*armed = true
	}
	return false
}

// change evaluates how the last of the given values differs from the one a window earlier. Without that one
// it evaluates
// nothing.
func (a *Alert) change(values []Value, armed *bool) *Event {
	v := values[len(values)-1]
	earlier, ok := a.earlier(values)
	if !ok || earlier.Value <= 0 {
		return nil
	}
	percent := percentOf(v.Value-earlier.Value, earlier.Value)
	measured := percent
	switch *a.Direction {
	case Down:
		measured = -percent
	case Either:
		measured = max(percent, -percent)
	}
	if !turns(measured >= *a.Percent, measured < *a.Percent-share(*a.Percent, *a.Hysteresis), armed) {
		return nil
	}
	e := a.event(v)
	e.Data.Window, e.Data.Percent = a.Window, a.Percent
	e.Data.ChangePercent, e.Data.EarlierValue, e.Data.EarlierAt = &percent, &earlier.Value, assay.Timestamp(earlier.At)
	e.Data.Message = fmt.Sprintf("%s is %s USD per GPU-hour, %s percent from %s %s earlier.", a.describe(), v.Value,
		signed(percent), earlier.Value, *a.Window)
	return &e
}

// tolerance is how far the earlier value of days may be from exactly a window earlier: a fixing follows the local time
// of its city, which summer time shifts by an hour.
const tolerance = 2 * assay.Hour

// earlier finds the value a window before the last one.
func (a *Alert) earlier(values []Value) (Value, bool) {
	at := values[len(values)-1].At - windows[*a.Window]
	slack := int64(0)
	if a.Series().Grain == assay.Daily {
		slack = tolerance
	}
	for i := len(values) - 1; i >= 0 && values[i].At >= at-slack; i-- {
		if values[i].At <= at+slack {
			return values[i], true
		}
	}
	return Value{}, false
}

// Back is how long before a new value an alert needs earlier ones.
func (a *Alert) Back() int64 {
	if a.Type != assay.PriceChange {
		return 0
	}
	return windows[*a.Window] + tolerance
}

// share is so many percent of a number.
func share(n, percent assay.Nanos) assay.Nanos {
	amount := new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(int64(percent)))
	return assay.Nanos(assay.DivideHalfEven(amount, big.NewInt(100*int64(assay.One))))
}

// maxPercent bounds what a change is reported as.
const maxPercent = 1_000_000 * assay.One

// percentOf is how many percent a part is of a whole, with two decimals.
func percentOf(part, whole assay.Nanos) assay.Nanos {
	const hundredths = int64(100 * 100)
	amount := new(big.Int).Mul(big.NewInt(int64(part)), big.NewInt(hundredths))
	most := new(big.Int).Mul(big.NewInt(int64(whole)), big.NewInt(int64(maxPercent/assay.One)*100))
	if amount.Cmp(most) > 0 {
		return maxPercent
	}
	return assay.Nanos(assay.DivideHalfEven(amount, big.NewInt(int64(whole)))) * assay.Unit(2)
}

func signed(percent assay.Nanos) string {
	if percent > 0 {
		return "+" + percent.String()
	}
	return percent.String()
}

func (a *Alert) correction(c Correction) Event {
	e := a.event(Value{Version: c.Version})
	e.Data.At, e.Data.Value = 0, nil
	e.Data.Values, e.Data.Reason, e.Data.CorrectedAt = c.Values, c.Reason, assay.Timestamp(c.PublishedAt)
	e.Data.FirstAt, e.Data.LastAt = assay.Timestamp(c.First), assay.Timestamp(c.Last)
	e.Data.Message = fmt.Sprintf("%s was restated from %s to %s (%d values): %s", a.describe(),
		assay.FormatInstant(c.First), assay.FormatInstant(c.Last), c.Values, c.Reason)
	return e
}

func (a *Alert) missed(m Missed) Event {
	e := a.event(Value{Point: assay.Point{At: m.At}})
	e.Data.Value = nil
	e.Data.Message = fmt.Sprintf("%s has no value for the day that ends at %s.", a.describe(), assay.FormatInstant(m.At))
	return e
}

func (a *Alert) first(f First) Event {
	e := a.event(f.Value)
	region, grain := assay.Global, f.Grain.String()
	e.Data.GPU, e.Data.Region, e.Data.Granularity = &f.GPU, &region, &grain
	e.Data.Message = fmt.Sprintf("%s has its first %s price: %s USD per GPU-hour.", f.GPU, grain, f.Value.Value)
	return e
}

// describe names the series of an alert.
func (a *Alert) describe() string {
	if region := text(a.Region); region != assay.Global {
		return text(a.GPU) + " in " + region
	}
	return text(a.GPU)
}
