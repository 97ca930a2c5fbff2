package bulk

import (
	"fmt"
	"time"
)

// Month is a calendar month in UTC. Months are counted, so that the next one is one more.
type Month int

const monthsOfYear = 12

// MonthOf is the month of an instant.
func MonthOf(instant int64) Month {
	t := time.UnixMilli(instant).UTC()
	return Month(t.Year()*monthsOfYear + int(t.Month()) - 1)
}

// Begins is the first instant of the month. That of the next month is the end.
func (m Month) Begins() int64 {
	return time.Date(int(m)/monthsOfYear, time.Month(int(m)%monthsOfYear+1), 1, 0, 0, 0, 0, time.UTC).UnixMilli()
}

// Ends is the first instant after the month.
func (m Month) Ends() int64 { return (m + 1).Begins() }

func (m Month) String() string {
	return fmt.Sprintf("%04d-%02d", int(m)/monthsOfYear, int(m)%monthsOfYear+1)
}

// monthFinder is MonthOf for instants that are mostly near each other.
type monthFinder struct {
	begins, ends int64
	month        Month
}

func (f *monthFinder) of(instant int64) Month {
	if instant < f.begins || instant >= f.ends {
		f.month = MonthOf(instant)
		f.begins, f.ends = f.month.Begins(), f.month.Ends()
	}
	return f.month
}
