package chart

import (
	"math"
	"strings"
	"time"

	"github.com/assaydata/assay"
)

// mostSteps is how many steps the values span at most.
const mostSteps = 5

// valueTicks are round values from the highest one that is not above low to the lowest that is not below high.
func valueTicks(low, high assay.Nanos) (ticks []assay.Nanos) {
	if low == high { // some room around a line that is flat
		room := max(1, high/10, -high/10)
		low, high = low-room, high+room
	}
	step := tickStep(high - low)
	first := floorTo(low, step)
	for v := first; ; v += step {
		ticks = append(ticks, v)
		if v >= high || v > math.MaxInt64-step {
			return ticks
		}
	}
}

// tickStep is the smallest of 1, 2 and 5 times a power of ten of which the span has few enough.
func tickStep(span assay.Nanos) assay.Nanos {
	for power := assay.Nanos(1); ; power *= 10 {
		for _, step := range [...]assay.Nanos{power, 2 * power, 5 * power} {
			if span/step <= mostSteps || power >= math.MaxInt64/50 {
				return step
			}
		}
	}
}

// floorTo rounds down to a multiple of a step.
func floorTo(v, step assay.Nanos) assay.Nanos {
	rest := v % step
	if rest < 0 {
		rest += step
	}
	return v - rest
}

// tickLabels are values with as many decimals as the one that has most.
func tickLabels(values []assay.Nanos) []string {
	labels, most := make([]string, len(values)), 0
	for i, v := range values {
		labels[i] = shownValue(v)
		most = max(most, decimalsOf(labels[i]))
	}
	for i, label := range labels {
		missing := most - decimalsOf(label)
		if missing == most && most > 0 {
			label += "."
		}
		labels[i] = label + strings.Repeat("0", missing)
	}
	return labels
}

func decimalsOf(text string) int {
	_, fraction, _ := strings.Cut(text, ".")
	return len(fraction)
}

// timeTick is a place on the axis of time.
type timeTick struct {
	at    int64
	label string
}

// timeSteps are how far ticks of the axis of time can be apart: in hours, in days or in months.
var timeSteps = []struct {
	hours, days, months int
	form                string
}{
	{1, 0, 0, "15:04"},
	{3, 0, 0, "15:04"},
	{6, 0, 0, "Jan 2 15:04"},
	{12, 0, 0, "Jan 2 15:04"},
	{0, 1, 0, "Jan 2"},
	{0, 2, 0, "Jan 2"},
	{0, 7, 0, "Jan 2"},
	{0, 14, 0, "Jan 2"},
	{0, 0, 1, "Jan 2006"},
	{0, 0, 2, "Jan 2006"},
	{0, 0, 3, "Jan 2006"},
	{0, 0, 6, "Jan 2006"},
	{0, 0, 12, "2006"},
	{0, 0, 60, "2006"},
	{0, 0, 1200, "2006"},
}

// mostTimes is how many ticks the axis of time has at most: with longer labels they would touch.
const mostTimes = 7

// timeTicks are round times from one instant to another, in UTC.
func timeTicks(from, to int64) (ticks []timeTick) {
	if from == to {
		return []timeTick{{from, time.UnixMilli(from).UTC().Format("Jan 2, 2006")}}
	}
	for _, step := range timeSteps {
		ticks = ticks[:0]
		for t := roundTime(from, step.hours, step.days, step.months); len(ticks) <= mostTimes; {
			at := t.UnixMilli()
			if at > to {
				return ticks
			}
			if at >= from {
				ticks = append(ticks, timeTick{at, t.Format(step.form)})
			}
			t = t.Add(time.Duration(step.hours)*time.Hour).AddDate(0, step.months, step.days)
		}
	}
	return ticks[:mostTimes]
}

// roundTime is the last time not after an instant at which a tick can be. Weeks begin on Mondays.
func roundTime(at int64, hours, days, months int) time.Time {
	t := time.UnixMilli(at).UTC()
	year, month, day := t.Date()
	switch {
	case hours > 0:
		return time.Date(year, month, day, t.Hour()/hours*hours, 0, 0, 0, time.UTC)
	case days > 0:
		const monday = 4 // 1970-01-05 is four days after the first day of Unix time
		number := int(assay.StartOfDay(at)/assay.Day) - monday
		rest := (number%days + days) % days
		return time.Date(year, month, day-rest, 0, 0, 0, 0, time.UTC)
	}
	number := year*12 + int(month) - 1
	return time.Date(0, time.Month(number/months*months+1), 1, 0, 0, 0, 0, time.UTC)
}
