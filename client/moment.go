package client

import "time"

// Moment is a day or an instant as parameters take it: "2026-02-03", or ISO 8601 such as "2026-02-03T21:00:00Z". As an
// EndDate, a day includes that whole day's value. DayOf and InstantOf make one from a time.
type Moment string

// DayOf is the day of a time in UTC.
func DayOf(t time.Time) Moment { return Moment(t.UTC().Format(time.DateOnly)) }

// InstantOf is a time to the millisecond, which is as precise as the API is.
func InstantOf(t time.Time) Moment { return Moment(t.UTC().Format("2006-01-02T15:04:05.000Z")) }

// Day is a day in a response, such as "2026-02-03". Days are in the order of their texts.
type Day string

// Time is midnight UTC of the day; the zero time if it is none.
func (d Day) Time() time.Time {
	t, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return time.Time{}
	}
	return t
}
