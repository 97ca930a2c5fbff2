package index

import (
	"time"
	_ "time/tzdata" // the fixing must not depend on the machine

	"github.com/assaydata/assay"
)

// NextSlot is the first instant after ms at which a window of the grain ends. The window that ends there holds ms.
func (m Methodology) NextSlot(grain assay.Grain, ms int64) int64 {
	if grain == assay.Hourly {
		return assay.StartOfDay(ms) + (ms-assay.StartOfDay(ms))/assay.Hour*assay.Hour + assay.Hour
	}
	y, mo, d := time.UnixMilli(ms).In(m.Zone).Date()
	if at := m.fixing(y, mo, d); at > ms {
		return at
	}
	return m.fixing(y, mo, d+1)
}

// LastSlot is the last instant at or before ms at which a window of the grain ends.
func (m Methodology) LastSlot(grain assay.Grain, ms int64) int64 {
	if grain == assay.Hourly {
		return m.NextSlot(grain, ms) - assay.Hour
	}
	y, mo, d := time.UnixMilli(ms).In(m.Zone).Date()
	if at := m.fixing(y, mo, d); at <= ms {
		return at
	}
	return m.fixing(y, mo, d-1)
}

// WindowStart is the start of the window that ends at the slot. Days on which the clocks change have 23 or 25 hours.
func (m Methodology) WindowStart(grain assay.Grain, slot int64) int64 {
	return m.LastSlot(grain, slot-1)
}

// Delay is how long after its end a slot is published, in milliseconds. Rows that are on their way until then are not
// late.
func (m Methodology) Delay() int64 { return int64(m.DelaySeconds) * assay.Second }

func (m Methodology) fixing(y int, mo time.Month, d int) int64 {
	return time.Date(y, mo, d, m.FixingHour, 0, 0, 0, m.Zone).UnixMilli()
}

// NextSlot is Methodology.NextSlot.
func (s Schedule) NextSlot(grain assay.Grain, ms int64) int64 { return s[0].NextSlot(grain, ms) }

// LastSlot is Methodology.LastSlot.
func (s Schedule) LastSlot(grain assay.Grain, ms int64) int64 { return s[0].LastSlot(grain, ms) }

// LastDue is the last instant at which a window of the grain ends and after which its methodology's delay has passed.
func (s Schedule) LastDue(grain assay.Grain, now int64) int64 {
	at := s.LastSlot(grain, now)
	for now < at+s.At(at).Delay() {
		at = s.LastSlot(grain, at-1)
	}
	return at
}

// WindowStart is Methodology.WindowStart.
func (s Schedule) WindowStart(grain assay.Grain, slot int64) int64 {
	return s[0].WindowStart(grain, slot)
}
