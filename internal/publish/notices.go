package publish

import (
	"context"
	"fmt"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// noticeAge is how old a day may be for a notice of its own. A backfill of years would fill the list with days that no
// reader waits for.
const noticeAge = 7 * assay.Day

// notices tell readers about the days of a version: those that a fallback has determined, and those without a value. A
// series has days without a value only after its first one. Older days are summed up, by GPU model. Hidden models and
// regions get none, because notices are public.
func (s *step) notices(ctx context.Context, covers store.Coverage, now int64) ([]assay.Notice, error) {
	if !s.hasDays(covers) {
		return nil, nil
	}
	catalog, err := s.db.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	first, err := s.db.FirstDays(ctx)
	if err != nil {
		return nil, err
	}
	var list []assay.Notice
	var old []assay.Notice // of the same days, one by one
	add := func(kind assay.NoticeKind, key store.SeriesKey, at int64, is string) {
		if n := dayNotice(kind, key, at, is); at < now-noticeAge {
			old = append(old, n)
		} else {
			list = append(list, n)
		}
	}
	for _, key := range s.dailySeries(first) {
		if !slices.Contains(catalog.GPUNames(), key.GPU) ||
			key.Region != assay.Global && !slices.Contains(catalog.Regions, key.Region) {
			continue
		}
		made := s.made[key]
		for i := range made {
			switch d := &made[i]; {
			case !d.HasValue:
				add(assay.NoValueNotice, key, d.At, "has no value any more: what counts is too little for the methodology")
			case d.Fallback != "":
				add(assay.FallbackNotice, key, d.At, fmt.Sprintf(
					"has too few transactions or providers for the minimum, and was determined by the fallback %q of methodology %s",
					d.Fallback, d.Methodology))
			}
		}
		for _, at := range s.missing(key, covers, first) {
			add(assay.NoValueNotice, key, at, "has no value: what counts is too little for the methodology")
		}
	}
	return append(history(old), list...), nil
}

// hasDays reports whether the version is about any day; most versions are about an hour.
func (s *step) hasDays(covers store.Coverage) bool {
	for key := range s.made {
		if key.Grain == assay.Daily {
			return true
		}
	}
	for key, spans := range covers {
		for _, span := range spans {
			if key.Grain == assay.Daily && s.schedule.NextSlot(assay.Daily, span.From) <= span.To {
				return true
			}
		}
	}
	return false
}

// history sums up the notices of days, which are in the order of their GPU models.
func history(days []assay.Notice) (list []assay.Notice) {
	for len(days) > 0 {
		n := slices.IndexFunc(days, func(d assay.Notice) bool { return d.GPU != days[0].GPU })
		if n < 0 {
			n = len(days)
		}
		from, to, fallbacks := days[0].About, days[0].About, 0
		for _, d := range days[:n] {
			from, to = min(from, d.About), max(to, d.About)
			if d.Kind == assay.FallbackNotice {
				fallbacks++
			}
		}
		list = append(list, assay.Notice{
			Kind: assay.HistoryNotice, GPU: days[0].GPU, About: to,
			Text: fmt.Sprintf("%s, days of its series that end from %s to %s: %d have no value, because what counts is too "+
				"little for the methodology, and %d were determined by a fallback.", days[0].GPU,
				assay.FormatInstant(from), assay.FormatInstant(to), n-fallbacks, fallbacks),
		})
		days = days[n:]
	}
	return list
}

// missing are the days of a series that are covered and have no record, though an earlier day has one.
func (s *step) missing(key store.SeriesKey, covers store.Coverage, first map[store.SeriesKey]int64) (days []int64) {
	began, ok := first[key]
	if !ok {
		began = noLimit
	}
	made := map[int64]bool{}
	for i := range s.made[key] {
		made[s.made[key][i].At] = true
		began = min(began, s.made[key][i].At)
	}
	for _, span := range covers[store.CoverageKey{GPU: key.GPU, Grain: key.Grain}] {
		for at := s.schedule.NextSlot(key.Grain, span.From); at <= span.To; at = s.schedule.NextSlot(key.Grain, at) {
			if at > began && !made[at] {
				days = append(days, at)
			}
		}
	}
	return days
}

// dailySeries are the daily series that the version is about, or that have records, in order.
func (s *step) dailySeries(first map[store.SeriesKey]int64) (keys []store.SeriesKey) {
	for key := range first {
		keys = append(keys, key)
	}
	for key := range s.made {
		if _, known := first[key]; key.Grain == assay.Daily && !known {
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
