package tokens

import (
	"fmt"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
)

// Family is the family of models' days, from which token prices and workload costs are computed. A day is identified by
// its date, lab and model.
var Family = &family.Definition[assay.ModelDay]{
	Family:   assay.FamilyModels,
	Schema:   schema,
	Parse:    parse,
	Check:    check,
	Key:      (*assay.ModelDay).Key,
	Describe: describe,
	At:       func(o *assay.Observed[assay.ModelDay]) int64 { return o.Value.Day },
	Slot: func(m *assay.ModelDay) family.Slot {
		return family.Slot{Series: m.Lab, At: m.Day, End: m.Day + assay.Day}
	},
}

var schema = &family.Schema{
	Name: assay.FamilyModels.String(), About: "requests to a lab's model on a UTC day, and what they cost", Revises: true,
	Columns: []family.Column{
		{Name: "date", About: "YYYY-MM-DD"},
		{Name: "lab", About: "a lab of the catalog, such as anthropic"},
		{Name: "model", About: "its name"},
		{Name: "family", About: "the class within the lab's models, such as opus; not all"},
		{Name: "requests", About: "an integer, at least 1"},
		{Name: "input_tokens", About: "an integer"},
		{Name: "output_tokens", About: "an integer; input and output together at least 1"},
		{Name: "dollars", About: "USD paid, up to 9 decimals; 0 for a free model"},
		{Name: "open_weight", About: "true or false; false when left out", Optional: true},
		{Name: "free", About: "true if the model is free of charge; false when left out", Optional: true},
		{Name: "input_dollars", About: "USD of dollars for input that no cache had; needs output_dollars", Optional: true},
		{Name: "output_dollars", About: "USD of dollars for output", Optional: true},
		{Name: "cached_tokens", About: "how many of input_tokens a cache had; 0 when left out", Optional: true},
		{Name: "cached_dollars", About: "USD of dollars for these; 0 when left out", Optional: true},
	},
	Example: [][]string{
		{
			"2026-01-02", "anthropic", "claude-opus-4.5", "opus",
			"125000", "910000000", "83000000", "6625.5", "false", "false", "4100", "2075.5", "310000000", "450",
		},
		{
			"2026-01-02", "anthropic", "claude-haiku-4.5", "haiku",
			"480000", "1650000000", "140000000", "2350", "false", "false", "1650", "700", "", "",
		},
		{
			"2026-01-02", "deepseek", "deepseek-v3.2", "chat",
			"210000", "640000000", "71000000", "198.25", "true", "false", "", "", "", "",
		},
	},
}

// Plausible bounds: the largest labs serve some 10^13 tokens a day over all models. They also keep the sums of a week
// within 64 bits.
var (
	requests      = family.Quantity{Name: "requests", Least: 1, Most: 1e12, Allowed: "an integer from 1 to 1000000000000"}
	inputTokens   = family.Quantity{Name: "input_tokens", Most: 1e15, Allowed: "an integer from 0 to 1000000000000000"}
	outputTokens  = family.Quantity{Name: "output_tokens", Most: 1e15, Allowed: "an integer from 0 to 1000000000000000"}
	cachedTokens  = family.Quantity{Name: "cached_tokens", Most: 1e15, Allowed: "an integer from 0 to input_tokens"}
	dollars       = dollarsColumn("dollars")
	inputDollars  = dollarsColumn("input_dollars")
	outputDollars = dollarsColumn("output_dollars")
	cachedDollars = dollarsColumn("cached_dollars")
)

func dollarsColumn(name string) family.Quantity {
	return family.Quantity{
		Name: name, Decimals: 9, Most: 100_000_000 * int64(assay.One),
		Allowed: "from 0 to 100000000 USD, with up to 9 decimals",
	}
}

const (
	maxTokensPerRequest  = 100_000_000 // far beyond the context of any model
	maxDollarsPerRequest = 10_000
	maxDollarsPerToken   = 1
)

func parse(_ *family.Checker, cells []string, m *assay.ModelDay) (err error) {
	m.Lab, m.Model, m.Family = cells[1], cells[2], cells[3]
	if m.Day, err = family.ParseDay("date", cells[0]); err != nil {
		return err
	}
	if m.Requests, err = requests.Parse(cells[4]); err != nil {
		return err
	}
	if m.InputTokens, err = inputTokens.Parse(cells[5]); err != nil {
		return err
	}
	if m.OutputTokens, err = outputTokens.Parse(cells[6]); err != nil {
		return err
	}
	paid, err := dollars.Parse(cells[7])
	if err != nil {
		return err
	}
	m.Dollars = assay.Nanos(paid)
	if m.OpenWeight, err = optionalFlag("open_weight", cells[8]); err != nil {
		return err
	}
	if m.Free, err = optionalFlag("free", cells[9]); err != nil {
		return err
	}
	return parseSplit(cells[10:], m)
}

// parseSplit parses what the dollars were for, if any of the cells says so.
func parseSplit(cells []string, m *assay.ModelDay) error {
	if strings.Join(cells, "") == "" {
		return nil
	}
	m.Split = true
	if cells[0] == "" || cells[1] == "" {
		return fmt.Errorf("input_dollars and output_dollars: must both be given, or none of the columns that split dollars")
	}
	var numbers [4]int64
	for i, quantity := range []family.Quantity{inputDollars, outputDollars, cachedTokens, cachedDollars} {
		if cells[i] == "" {
			continue
		}
		var err error
		if numbers[i], err = quantity.Parse(cells[i]); err != nil {
			return err
		}
	}
	m.InputDollars, m.OutputDollars = assay.Nanos(numbers[0]), assay.Nanos(numbers[1])
	m.CachedTokens, m.CachedDollars = numbers[2], assay.Nanos(numbers[3])
	return nil
}

// optionalFlag parses true or false; an empty cell is false.
func optionalFlag(name, text string) (bool, error) {
	if text == "" {
		return false, nil
	}
	return family.ParseFlag(name, text)
}

func check(c *family.Checker, m *assay.ModelDay) error {
	if err := checkLab(c.Catalog.Labs, m.Lab); err != nil {
		return err
	}
	if err := family.CheckText("model", m.Model); err != nil {
		return err
	}
	if err := family.CheckText("family", m.Family); err != nil {
		return err
	}
	if strings.EqualFold(m.Family, "all") {
		return fmt.Errorf("family %q stands for all models of a lab: must be the name of a class of models", m.Family)
	}
	if err := requests.Check(m.Requests); err != nil {
		return err
	}
	if err := inputTokens.Check(m.InputTokens); err != nil {
		return err
	}
	if err := outputTokens.Check(m.OutputTokens); err != nil {
		return err
	}
	if err := dollars.Check(int64(m.Dollars)); err != nil {
		return err
	}
	if err := checkRatios(m); err != nil {
		return err
	}
	if err := checkSplit(m); err != nil {
		return err
	}
	return c.CheckInstant("date", m.Day)
}

// checkRatios rejects numbers that are implausible together. All are bounded, so nothing here overflows.
func checkRatios(m *assay.ModelDay) error {
	tokens := m.InputTokens + m.OutputTokens
	switch {
	case m.Free && m.Dollars != 0:
		return fmt.Errorf("dollars %s for a free model: must be 0", m.Dollars)
	case tokens == 0:
		return fmt.Errorf("input_tokens and output_tokens are both 0: must be at least 1 together")
	case tokens/maxTokensPerRequest >= m.Requests:
		return fmt.Errorf("input_tokens and output_tokens are %d for %d requests: must be fewer than %d per request",
			tokens, m.Requests, maxTokensPerRequest)
	case int64(m.Dollars)/m.Requests >= maxDollarsPerRequest*int64(assay.One):
		return fmt.Errorf("dollars %s for %d requests: must be less than %d per request",
			m.Dollars, m.Requests, maxDollarsPerRequest)
	case int64(m.Dollars)/tokens >= maxDollarsPerToken*int64(assay.One):
		return fmt.Errorf("dollars %s for %d tokens: must be less than %d per token", m.Dollars, tokens, maxDollarsPerToken)
	}
	return nil
}

// checkSplit checks that the parts of the dollars are for tokens, and add up.
func checkSplit(m *assay.ModelDay) error {
	if !m.Split {
		return nil
	}
	if m.CachedTokens > m.InputTokens {
		return fmt.Errorf("cached_tokens %d: must be at most input_tokens, which are %d", m.CachedTokens, m.InputTokens)
	}
	if sum := m.InputDollars + m.CachedDollars + m.OutputDollars; sum != m.Dollars {
		return fmt.Errorf("input_dollars, cached_dollars and output_dollars are %s together: must be dollars, which are %s",
			sum, m.Dollars)
	}
	for _, part := range []struct {
		name    string
		dollars assay.Nanos
		tokens  int64
	}{
		{"input_dollars", m.InputDollars, m.InputTokens - m.CachedTokens},
		{"cached_dollars", m.CachedDollars, m.CachedTokens},
		{"output_dollars", m.OutputDollars, m.OutputTokens},
	} {
		if part.dollars != 0 && part.tokens == 0 {
			return fmt.Errorf("%s %s: must be 0, because there are no such tokens", part.name, part.dollars)
		}
	}
	return nil
}

func checkLab(labs []assay.Lab, lab string) error {
	names := make([]string, len(labs))
	for i, known := range labs {
		if known.Lab == lab {
			return nil
		}
		names[i] = known.Lab
	}
	return family.NotInCatalog("lab", lab, strings.Join(names, ", "))
}

func describe(m *assay.ModelDay) string {
	return fmt.Sprintf("the day %s of lab %q and model %q", assay.FormatDay(m.Day), m.Lab, family.Shorten(m.Model))
}
