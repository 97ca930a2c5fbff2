package backtest

import (
	"fmt"
	"time"

	"github.com/assaydata/assay"
)

// frame is a rectangle of the chart and the values at its edges.
type frame struct {
	left, top, width, height int
	first, last              int64
	low, high                assay.Nanos
}

// tenths is the resolution of lines: their coordinates are whole tenths of a unit, from the frame's corner.
const tenths = 10

func (f frame) x(at int64) int {
	return int((at - f.first) * int64(f.width) * tenths / (f.last - f.first))
}

// y is the coordinate of a value. Prices stay below 10^12 billionths of a dollar, but a percentage may reach 10^18;
// such a scale drops its last digits, so that the products fit.
func (f frame) y(value assay.Nanos) int {
	below, span := int64(f.high-value), int64(f.high-f.low)
	for span > 1e14 {
		below, span = below/10, span/10
	}
	return int(below * int64(f.height) * tenths / span)
}

// priceRange is the lowest and the highest price, with a margin.
func priceRange(days []Day) (low, high assay.Nanos) {
	found := false
	include := func(value assay.Nanos, ok bool) {
		if !ok {
			return
		}
		if !found {
			low, high, found = value, value, true
		}
		low, high = min(low, value), max(high, value)
	}
	for i := range days {
		include(days[i].Base, days[i].HasBase)
		include(days[i].Candidate, days[i].HasCandidate)
	}
	margin := max((high-low)/12, high/200, 10*assay.Unit(4))
	return max(low-margin, 0), high + margin
}

// levels draws about count horizontal lines and their labels. Percentages get a sign.
func (d *chart) levels(f frame, count int64, unit string) {
	step, decimals := niceStep(int64(f.high-f.low) / count)
	level := f.low / step * step
	if level < f.low { // division rounds a positive number down
		level += step
	}
	for ; level <= f.high; level += step {
		color, label := gridColor, fixed(max(level, -level), decimals)+unit
		switch {
		case level < 0:
			label = "-" + label
		case level == 0:
			color = zeroColor
		case unit != "":
			label = "+" + label
		}
		y := f.top + f.y(level)/tenths
		fmt.Fprintf(d, `<path d="M%d %d.5h%d" stroke="%s"/>`+"\n", f.left, y, f.width, color)
		d.text(f.left-8, y+4, `text-anchor="end" font-size="11" fill="`+paleInkColor+`"`, label)
	}
}

// niceStep is the smallest of 1, 2, 5, 10, 20, 50… billionths that is not below least, and the decimals it needs.
func niceStep(least int64) (step assay.Nanos, decimals int) {
	step = 1
	for decimals = 9; ; decimals-- {
		for _, factor := range []assay.Nanos{1, 2, 5} {
			if int64(step*factor) >= least {
				return step * factor, max(decimals, 0)
			}
		}
		step *= 10
	}
}

// dates draws the vertical lines through price and strip, down to the bottom, and the dates below.
func (d *chart) dates(f frame, bottom int) {
	for _, tick := range ticks(f.first, f.last, f.width) {
		x := f.left + f.x(tick.at)/tenths
		fmt.Fprintf(d, `<path d="M%d.5 %dV%d" stroke="%s"/>`+"\n", x, f.top, bottom, gridColor)
		d.text(x, bottom+16, `text-anchor="middle" font-size="11" fill="`+paleInkColor+`"`, tick.label)
	}
}

// tick is a labelled instant.
type tick struct {
	at    int64
	label string
}

// The width of a label.
const (
	dayWidth   = 84
	monthWidth = 60
)

// ticks are fixings or, if there would be too many, the beginnings of months, in even steps.
func ticks(first, last int64, width int) (list []tick) {
	for _, days := range []int64{1, 2, 7, 14} {
		if (last-first)/(days*assay.Day) >= int64(width/dayWidth) {
			continue
		}
		for at := first; at <= last; at += days * assay.Day {
			list = append(list, tick{at: at, label: assay.FormatDay(at)})
		}
		return list
	}
	from, to := time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC()
	months := (to.Year()-from.Year())*12 + int(to.Month()-from.Month())
	step := 1
	for _, step = range []int{1, 2, 3, 6, 12, 24, 60, 120, 600, 1200} {
		if months/step < width/monthWidth {
			break
		}
	}
	for year, month := from.Year(), time.January; ; month += time.Month(step) {
		at := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
		switch {
		case at.After(to):
			return list
		case !at.Before(from):
			list = append(list, tick{at: at.UnixMilli(), label: at.Format("Jan 2006")})
		}
	}
}

// Percent formats a percentage with four decimals; signed puts a plus before a positive one.
func Percent(n assay.Nanos, signed bool) string {
	text := fixed(max(n, -n), 4)
	switch {
	case n < 0:
		return "-" + text
	case n > 0 && signed:
		return "+" + text
	}
	return text
}

// fixed formats a number that is not negative and has at most the given decimals.
func fixed(n assay.Nanos, decimals int) string {
	if decimals == 0 {
		return fmt.Sprint(int64(n / assay.One))
	}
	return fmt.Sprintf("%d.%0*d", n/assay.One, decimals, n%assay.One/assay.Unit(decimals))
}
