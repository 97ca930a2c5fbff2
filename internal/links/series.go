package links

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
)

var (
	daily  = assay.Daily.String()
	hourly = assay.Hourly.String()
	ranges = assay.RangeNames()
)

// complete checks that the catalog lists a series, and fills in what was not given.
func complete(s *assay.SharedSeries, catalog *assay.Catalog) error {
	set(&s.Region, assay.Global)
	set(&s.Granularity, daily)
	set(&s.Range, "3m")
	grains, regions := []string{daily}, []string{assay.Global}
	if s.Family == assay.SharedGPU || s.Family == assay.SharedUtilization {
		grains, regions = append(grains, hourly), append(regions, catalog.Regions...)
	}
	for _, check := range []struct {
		field, value string
		allowed      []string
	}{
		{"family", s.Family, assay.SharedFamilies},
		{"series", s.Series, seriesOf(s.Family, catalog)},
		{"region", s.Region, regions},
		{"granularity", s.Granularity, grains},
		{"range", s.Range, ranges},
	} {
		if !slices.Contains(check.allowed, check.value) {
			return invalid(check.field, check.allowed)
		}
	}
	if s.Granularity == hourly && assay.RangeStart(s.Range, 0) == 0 {
		return invalid("range", ranges[:len(ranges)-1]) // a link is no way to copy everything
	}
	return nil
}

func set(text *string, usual string) {
	if *text == "" {
		*text = usual
	}
}

// invalid says what a field must be. It does not repeat the value, which may be anything.
func invalid(field string, allowed []string) error {
	return &assay.Error{
		Kind: assay.Invalid, Code: "invalid_parameter", Param: field, Allowed: allowed,
		Message: fmt.Sprintf("Invalid value for %q: must be one of %s.", field, strings.Join(allowed, ", ")),
	}
}

// seriesOf lists the series of a family. A product that compares two tools is two series.
func seriesOf(family string, catalog *assay.Catalog) (names []string) {
	switch family {
	case assay.SharedGPU, assay.SharedUtilization:
		return catalog.GPUNames()
	case assay.SharedModels:
		return catalog.LabNames()
	case assay.SharedMemory:
		for _, m := range catalog.MemoryTypes {
			names = append(names, m.ID)
		}
	case assay.SharedCoding:
		for _, p := range catalog.CodingProducts {
			if !p.Compare {
				names = append(names, p.ID)
			}
		}
	}
	return names
}

// mayRead tells whether a tier may read all that a link shows, or why not: errHourly and errWindow if it may read some.
func mayRead(s assay.SharedSeries, tier assay.Tier, catalog *assay.Catalog, now int64) error {
	rule, ask := access.Keyed, access.Ask{}
	switch s.Family {
	case assay.SharedGPU:
		rule = access.FreeGPU
		if gpu, ok := catalog.GPU(s.Series); !ok || !gpu.Free {
			ask.Paid = s.Series
		}
	case assay.SharedModels:
		rule = access.FreeLab
		if !slices.ContainsFunc(catalog.Labs, func(l assay.Lab) bool { return l.Lab == s.Series && l.Free }) {
			ask.Paid = s.Series
		}
	}
	if _, err := access.Decide(rule, assay.Caller{Tier: tier}, ask, now); err != nil {
		return noAccess("This series needs Premium or Full access.")
	}
	switch {
	case s.Granularity == hourly && tier != assay.Full:
		return errHourly
	case tier == assay.Anonymous && assay.RangeStart(s.Range, now) < access.FreeFrom(rule, now):
		return errWindow
	}
	return nil
}

var (
	errHourly = noAccess("Hourly values need Full access.")
	errWindow = noAccess("A range that begins before the free window needs Premium or Full access.")
)

func noAccess(message string) error { return refuse(assay.Forbidden, "no_access", "%s", message) }

// statusOf says whether a link shows all that it was made for.
func statusOf(s assay.SharedSeries, tier assay.Tier, catalog *assay.Catalog, now int64) string {
	if !slices.Contains(seriesOf(s.Family, catalog), s.Series) {
		return assay.LinkNoAccess // the operator has taken it out of the catalog
	}
	err := mayRead(s, tier, catalog, now)
	switch {
	case err == nil:
		return assay.LinkActive
	case errors.Is(err, errHourly) || errors.Is(err, errWindow):
		return assay.LinkReduced
	}
	return assay.LinkNoAccess
}
