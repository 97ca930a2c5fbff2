package alert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assaydata/assay"
)

// The directions of a change.
const (
	Up     = "up"
	Down   = "down"
	Either = "either"
)

var directions = []string{Up, Down, Either}

// windows are the spans that a change is measured over.
var windows = map[string]int64{"1h": assay.Hour, "1d": assay.Day, "7d": 7 * assay.Day}

// The bounds of the numbers of a rule, and what the hysteresis is unless the owner says otherwise.
const (
	maxThreshold      = 1_000_000 * assay.One
	maxRulePercent    = 10_000 * assay.One
	maxHysteresis     = 50 * assay.One
	defaultHysteresis = assay.One
)

// uses says which fields a type of alert uses.
var uses = map[assay.AlertType][]string{
	assay.PriceAbove:   {"gpu_type", "region", "granularity", "threshold", "hysteresis_percent"},
	assay.PriceBelow:   {"gpu_type", "region", "granularity", "threshold", "hysteresis_percent"},
	assay.PriceChange:  {"gpu_type", "region", "window", "percent", "direction", "hysteresis_percent"},
	assay.Corrected:    {"gpu_type", "region", "granularity"},
	assay.MissedFixing: {"gpu_type", "region"},
	assay.NewModel:     {"granularity"},
}

// Complete checks a rule and fills in what it leaves open. Its errors are for the owner.
func Complete(rule *assay.AlertRule, catalog *assay.Catalog) error {
	fields, ok := uses[rule.Type]
	if !ok {
		return invalid("type", words(assay.AlertTypes), "Invalid value %q for \"type\"", rule.Type)
	}
	given := map[string]bool{
		"gpu_type": rule.GPU != nil, "region": rule.Region != nil, "granularity": rule.Granularity != nil,
		"threshold": rule.Threshold != nil, "percent": rule.Percent != nil, "window": rule.Window != nil,
		"direction": rule.Direction != nil, "hysteresis_percent": rule.Hysteresis != nil,
	}
	for _, field := range slices.Sorted(maps.Keys(given)) {
		if given[field] && !slices.Contains(fields, field) {
			return invalid(field, nil, "Alerts of the type %s take no %q: they take %s", rule.Type, field,
				strings.Join(fields, ", "))
		}
	}
	for _, check := range []func(*assay.AlertRule, *assay.Catalog) error{checkSeries, checkNumbers, checkChange} {
		if err := check(rule, catalog); err != nil {
			return err
		}
	}
	return nil
}

func words[T ~string](list []T) (texts []string) {
	for _, one := range list {
		texts = append(texts, string(one))
	}
	return texts
}

func invalid(field string, allowed []string, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if len(allowed) > 0 {
		message += ": must be one of " + strings.Join(allowed, ", ")
	}
	return &assay.Error{
		Kind: assay.Invalid, Code: "invalid_parameter", Message: message + ".", Param: field, Allowed: allowed,
	}
}

// choice checks a word, or fills in the usual one.
func choice(field string, value **string, usual string, allowed []string) error {
	if *value == nil {
		*value = &usual
	}
	if !slices.Contains(allowed, **value) {
		return invalid(field, allowed, "Invalid value %q for %q", shorten(**value), field)
	}
	return nil
}

// shorten keeps a message readable whatever it repeats.
func shorten(text string) string {
	if len(text) > 64 {
		return strings.ToValidUTF8(text[:64], "") + "…"
	}
	return text
}

func checkSeries(rule *assay.AlertRule, catalog *assay.Catalog) error {
	hourlyWindow := rule.Window != nil && *rule.Window == "1h"
	grain := assay.Daily.String()
	if hourlyWindow {
		grain = assay.Hourly.String()
	}
	if err := choice("granularity", &rule.Granularity, grain, words([]string{"daily", "hourly"})); err != nil {
		return err
	}
	if rule.Type == assay.NewModel {
		return nil
	}
	if rule.GPU == nil {
		return invalid("gpu_type", catalog.GPUNames(), "The alert needs a \"gpu_type\"")
	}
	if err := choice("gpu_type", &rule.GPU, "", catalog.GPUNames()); err != nil {
		return err
	}
	return choice("region", &rule.Region, assay.Global, append([]string{assay.Global}, catalog.Regions...))
}

func checkNumbers(rule *assay.AlertRule, _ *assay.Catalog) error {
	for _, n := range []struct {
		field  string
		value  **assay.Nanos
		usual  assay.Nanos // if it may be left out
		lowest assay.Nanos
		most   assay.Nanos
	}{
		{"threshold", &rule.Threshold, 0, 1, maxThreshold},
		{"percent", &rule.Percent, 0, assay.Unit(2), maxRulePercent},
		{"hysteresis_percent", &rule.Hysteresis, defaultHysteresis, 0, maxHysteresis},
	} {
		if !slices.Contains(uses[rule.Type], n.field) {
			continue
		}
		if *n.value == nil && n.usual == 0 {
			return invalid(n.field, nil, "Alerts of the type %s need %q, a number from %s to %s", rule.Type, n.field, n.lowest,
				n.most)
		}
		if *n.value == nil {
			*n.value = &n.usual
		}
		if **n.value < n.lowest || **n.value > n.most {
			return invalid(n.field, nil, "Invalid value %s for %q: must be a number from %s to %s", **n.value, n.field,
				n.lowest, n.most)
		}
	}
	return nil
}

func checkChange(rule *assay.AlertRule, _ *assay.Catalog) error {
	if rule.Type != assay.PriceChange {
		return nil
	}
	allowed := slices.Sorted(maps.Keys(windows))
	if rule.Window == nil {
		return invalid("window", allowed, "Alerts of the type %s need a \"window\"", rule.Type)
	}
	if err := choice("window", &rule.Window, "", allowed); err != nil {
		return err
	}
	return choice("direction", &rule.Direction, Either, directions)
}

// Bare is a completed rule without what Complete always fills in, so that it can be changed and completed again.
func Bare(rule assay.AlertRule) assay.AlertRule {
	if !slices.Contains(uses[rule.Type], "granularity") {
		rule.Granularity = nil
	}
	return rule
}
