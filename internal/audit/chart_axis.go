package audit

import (
	"fmt"
	"time"

	"github.com/assaydata/assay"
)

// frame is a rectangle of the chart and the values its edges stand for.
type frame struct {
	left, top, width, height int
	first, last              int64
	low, high                assay.Nanos
}

// tenths is how finely lines are drawn: their coordinates are whole tenths of a unit, counted from the frame's corner.
const tenths = 10

func (f frame) x(at int64) int {
	return int((at - f.first) * int64(f.width) * tenths / (f.last - f.first))
}

// y is where a value stands. Values are below 10^12 billionths of a dollar, but a percentage may have 10^18: such a scale
// can do without its last digits.
func (f frame) y(value assay.Nanos) int {
	below, span := int64(f.high-value), int64(f.high-f.low)
	for span > 1e14 {
		below, span = below/10, span/10
	}
	return int(below * int64(f.height) * tenths / span)
}

// priceRange is the lowest and the highest price, with some room around.
func priceRange(days []Day) (low, high assay.Nanos) {
	found := false
	see := func(value assay.Nanos, ok bool) {
		if !ok {
			return
		}
		if !found {
			low, high, found = value, value, true
		}
		low, high = min(low, value), max(high, value)
	}
	for i := range days {
		see(days[i].Base, days[i].HasBase)
		see(days[i].Candidate, days[i].HasCandidate)
	}
	room := max((high-low)/12, high/200, 10*assay.Unit(4))
	return max(low-room, 0), high + room
}

// levels draws horizontal lines and their labels, about so many. Those of percentages have a sign.
func (d *chart) levels(f frame, wish int64, unit string) {
	step, decimals := niceStep(int64(f.high-f.low) / wish)
	level := f.low / step * step
	if level < f.low { // of a positive number, division leads below it
		level += step
	}
	for ; level <= f.high; level += step {
		colour, label := gridColour, fixed(max(level, -level), decimals)+unit
		switch {
		case level < 0:
			label = "-" + label
		case level == 0:
			colour = zeroColour
		case unit != "":
			label = "+" + label
		}
		y := f.top + f.y(level)/tenths
		fmt.Fprintf(d, `<path d="M%d %d.5h%d" stroke="%s"/>`+"\n", f.left, y, f.width, colour)
		d.text(f.left-8, y+4, `text-anchor="end" font-size="11" fill="`+paleInkColour+`"`, label)
	}
}

// niceStep is the least of 1, 2, 5, 10, 20, 50… billionths that is not below a wish, and the decimals it needs.
func niceStep(wish int64) (step assay.Nanos, decimals int) {
	step = 1
	for decimals = 9; ; decimals-- {
		for _, factor := range []assay.Nanos{1, 2, 5} {
			if int64(step*factor) >= wish {
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
		fmt.Fprintf(d, `<path d="M%d.5 %dV%d" stroke="%s"/>`+"\n", x, f.top, bottom, gridColour)
		d.text(x, bottom+16, `text-anchor="middle" font-size="11" fill="`+paleInkColour+`"`, tick.label)
	}
}

// tick is a labelled instant.
type tick struct {
	at    int64
	label string
}

// The room that a label needs.
const (
	dayWidth   = 84
	monthWidth = 60
)

// ticks are fixings or, where there would be too many, the beginnings of months, in even steps.
func ticks(first, last int64, width int) (list []tick) {
	for _, days := range []int64{1, 2, 7, 14} {
		if (last-first)/(days*assay.Day) >= int64(width/dayWidth) {
			continue
		}
		for at := first; at <= last; at += days * assay.Day {
			list = append(list, tick{at, assay.FormatDay(at)})
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
			list = append(list, tick{at.UnixMilli(), at.Format("Jan 2006")})
		}
	}
}

// Percent writes a percentage with four decimals, and where it is signed with its sign.
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

// fixed writes a number that is not negative with so many decimals; it has no more.
func fixed(n assay.Nanos, decimals int) string {
	if decimals == 0 {
		return fmt.Sprint(int64(n / assay.One))
	}
	return fmt.Sprintf("%d.%0*d", n/assay.One, decimals, n%assay.One/assay.Unit(decimals))
}
