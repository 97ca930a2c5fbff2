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

func (m Methodology) fixing(y int, mo time.Month, d int) int64 {
	return time.Date(y, mo, d, m.FixingHour, 0, 0, 0, m.Zone).UnixMilli()
}

// NextSlot is Methodology.NextSlot.
func (s Schedule) NextSlot(grain assay.Grain, ms int64) int64 { return s[0].NextSlot(grain, ms) }

// LastSlot is Methodology.LastSlot.
func (s Schedule) LastSlot(grain assay.Grain, ms int64) int64 { return s[0].LastSlot(grain, ms) }

// WindowStart is Methodology.WindowStart.
func (s Schedule) WindowStart(grain assay.Grain, slot int64) int64 {
	return s[0].WindowStart(grain, slot)
}
