package index

import (
	"testing"
	"time"

	"github.com/assaydata/assay"
)

func TestSlots_FourYearsOfHours(t *testing.T) {
	t.Parallel()
	m := Plain()
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	to := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for _, grain := range assay.Grains {
		for hour := from; hour < to; hour += assay.Hour {
			checkSlots(t, m, grain, hour)
			checkSlots(t, m, grain, hour-1)
		}
	}
}

// checkSlots compares the three functions with each other and with the calendar, at one instant.
func checkSlots(t *testing.T, m Methodology, grain assay.Grain, ms int64) {
	t.Helper()
	last, next := m.LastSlot(grain, ms), m.NextSlot(grain, ms)
	switch {
	case last > ms || next <= ms:
		t.Fatalf("%s at %s: it is not between %s and %s", grain, at(ms), at(last), at(next))
	case m.WindowStart(grain, next) != last:
		t.Fatalf("%s at %s: the window to %s begins at %s, not at %s",
			grain, at(ms), at(next), at(m.WindowStart(grain, next)), at(last))
	case m.LastSlot(grain, next) != next || m.NextSlot(grain, last) != next || m.NextSlot(grain, next-1) != next:
		t.Fatalf("%s at %s: %s and %s are not neighbors", grain, at(ms), at(last), at(next))
	}
	if grain == assay.Hourly {
		if next%assay.Hour != 0 || next-last != assay.Hour {
			t.Fatalf("hourly at %s: the window is %s to %s", at(ms), at(last), at(next))
		}
		return
	}
	before, after := time.UnixMilli(last).In(m.Zone), time.UnixMilli(next).In(m.Zone)
	if before.Format("15:04:05.000") != "16:00:00.000" || before.AddDate(0, 0, 1) != after {
		t.Fatalf("daily at %s: the window is %s to %s", at(ms), before, after)
	}
}

// A slot is due when its own methodology's delay has passed, also while another one is in effect.
func TestSchedule_LastDue(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC).UnixMilli()
	slow, prompt := Plain(), Plain()
	slow.DelaySeconds, prompt.DelaySeconds = 1800, 0
	prompt.Effective = noon + 1 // the slot that ends at noon is the last of the slow one
	schedule := Schedule{slow, prompt}
	f := func(now, want int64) {
		t.Helper()
		if got := schedule.LastDue(assay.Hourly, now); got != want {
			t.Errorf("at %s the last slot that is due is %s, want %s", at(now), at(got), at(want))
		}
	}
	f(noon-assay.Hour/2-1, noon-2*assay.Hour)
	f(noon-assay.Hour/2, noon-assay.Hour)
	f(noon, noon-assay.Hour)
	f(noon+assay.Hour/2-1, noon-assay.Hour)
	f(noon+assay.Hour/2, noon)
	f(noon+assay.Hour-1, noon)
	f(noon+assay.Hour, noon+assay.Hour)
}

func at(ms int64) string { return assay.FormatInstant(ms) }

// The clocks of New York change twice a year, so four years have four short days and four long ones.
func TestSlots_LengthsOfDays(t *testing.T) {
	t.Parallel()
	m := Plain()
	slot := m.NextSlot(assay.Daily, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	lengths := map[int64]int{}
	for range 4*365 + 1 {
		next := m.NextSlot(assay.Daily, slot)
		lengths[(next-slot)/assay.Hour]++
		slot = next
	}
	if len(lengths) != 3 || lengths[23] != 4 || lengths[24] != 4*365+1-8 || lengths[25] != 4 {
		t.Errorf("days by their length in hours: %v", lengths)
	}
	if got := at(slot); got != "2030-01-01T21:00:00.000Z" {
		t.Errorf("four years of days end at %s", got)
	}
}
