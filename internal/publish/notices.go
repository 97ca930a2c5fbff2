package publish

import (
	"fmt"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// notices tell readers about the days of a version: those that a fallback has determined, and those without a value. A
// series has days without a value only after its first one.
func (s *step) notices(covers store.Coverage) (list []assay.Notice) {
	for _, key := range s.dailySeries() {
		made := s.made[key]
		for i := range made {
			switch d := &made[i]; {
			case !d.HasValue:
				list = append(list, dayNotice(assay.NoValueNotice, key, d.At, "has no value any more: too few transactions count"))
			case d.Fallback != "":
				list = append(list, dayNotice(assay.FallbackNotice, key, d.At, fmt.Sprintf(
					"has too few transactions or providers for the minimum, and was determined by the fallback %q of methodology %s",
					d.Fallback, d.Methodology)))
			}
		}
		for _, at := range s.missing(key, covers) {
			list = append(list, dayNotice(assay.NoValueNotice, key, at, "has no value: too few transactions count"))
		}
	}
	return list
}

// missing are the days of a series that are covered and have no record, though an earlier day has one.
func (s *step) missing(key store.SeriesKey, covers store.Coverage) (days []int64) {
	coverage := store.CoverageKey{GPU: key.GPU, Grain: key.Grain}
	began := noLimit // when the series did
	if before := s.state.Coverage[coverage]; s.state.Heads[key] != (assay.Hash{}) && len(before) > 0 {
		began = before[0].From
	}
	made := map[int64]bool{}
	for i := range s.made[key] {
		made[s.made[key][i].At] = true
		began = min(began, s.made[key][i].At)
	}
	for _, span := range covers[coverage] {
		for at := s.schedule.NextSlot(key.Grain, span.From); at <= span.To; at = s.schedule.NextSlot(key.Grain, at) {
			if at > began && !made[at] {
				days = append(days, at)
			}
		}
	}
	return days
}

// dailySeries are the daily series that the version is about, or that have records, in order.
func (s *step) dailySeries() (keys []store.SeriesKey) {
	for key := range s.state.Heads {
		if key.Grain == assay.Daily {
			keys = append(keys, key)
		}
	}
	for key := range s.made {
		if _, known := s.state.Heads[key]; key.Grain == assay.Daily && !known {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, inOrder)
	return keys
}

// dayNotice is the notice that something is the case with a day.
func dayNotice(kind assay.NoticeKind, key store.SeriesKey, at int64, is string) assay.Notice {
	return assay.Notice{
		Kind: kind, GPU: key.GPU, Region: key.Region, About: at,
		Text: fmt.Sprintf("%s %s, the day that ends at %s, %s.", key.GPU, key.Region, assay.FormatInstant(at), is),
	}
}
