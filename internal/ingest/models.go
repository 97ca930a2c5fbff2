package ingest

import (
	"fmt"
	"strings"

	"github.com/assaydata/assay"
)

var modelSchema = &Schema{
	Family: "models", About: "what was asked of a lab's model on a day (UTC), and what it cost",
	Columns: []Column{
		{"date", "YYYY-MM-DD", false},
		{"lab", "a lab of the catalog, such as anthropic", false},
		{"model", "its name", false},
		{"family", "the class of the lab's models that it belongs to, such as opus; not all", false},
		{"requests", "a whole number, 1 at least", false},
		{"input_tokens", "a whole number", false},
		{"output_tokens", "a whole number; with the input there is 1 token at least", false},
		{"dollars", "what was paid, USD, up to 9 decimals; 0 of a free model", false},
		{"open_weight", "true or false; false when left out", true},
		{"free", "true or false, whether nobody pays for it; false when left out", true},
	},
	Example: [][]string{
		{"2026-01-02", "anthropic", "claude-opus-4.5", "opus", "125000", "910000000", "83000000", "6625.5", "false", "false"},
		{"2026-01-02", "anthropic", "claude-haiku-4.5", "haiku", "480000", "1650000000", "140000000", "2350", "false", "false"},
		{"2026-01-02", "deepseek", "deepseek-v3.2", "chat", "210000", "640000000", "71000000", "198.25", "true", "false"},
	},
}

// ModelColumns are the columns of a file of models' days.
var ModelColumns = modelSchema.names()

// Models imports models' days. A row is known by its day, lab and model.
func Models(options Options) *Importer[assay.ModelDay] {
	return newImporter(options, &family[assay.ModelDay]{
		columns:  ModelColumns,
		optional: modelSchema.optional(),
		parse:    parseModelDay,
		check:    checkModelDay,
		append:   observed(options, assay.FamilyModels, (*assay.ModelDay).Key),
		describe: func(m *assay.ModelDay) (source, key string) {
			return "", fmt.Sprintf("the day %s of lab %q and model %q", assay.FormatDay(m.Day), m.Lab, shown(m.Model))
		},
		revises: true,
	})
}

// Bounds of what can be believed. The largest labs serve some 10^13 tokens a day, all models together. They also keep the
// sums of a week inside 64 bits and the averages inside a number.
var (
	modelRequests = quantity{"requests", 0, 1, 1_000_000_000_000, "whole numbers from 1 to 1000000000000"}
	inputTokens   = quantity{"input_tokens", 0, 0, 1_000_000_000_000_000, "whole numbers from 0 to 1000000000000000"}
	outputTokens  = quantity{"output_tokens", 0, 0, 1_000_000_000_000_000, "whole numbers from 0 to 1000000000000000"}
	modelDollars  = quantity{"dollars", 9, 0, 100_000_000 * int64(assay.One), "0 to 100000000, USD with up to 9 decimals"}
)

const (
	maxTokensPerRequest  = 100_000_000 // far beyond the context of any model
	maxDollarsPerRequest = 10_000
	maxDollarsPerToken   = 1
)

// parseModelDay takes the cells in the order of ModelColumns.
func parseModelDay(_ *checker, cells []string, m *assay.ModelDay) (err error) {
	m.Lab, m.Model, m.Family = cells[1], cells[2], cells[3]
	if m.Day, err = parseDay("date", cells[0]); err != nil {
		return err
	}
	if m.Requests, err = modelRequests.parse(cells[4]); err != nil {
		return err
	}
	if m.InputTokens, err = inputTokens.parse(cells[5]); err != nil {
		return err
	}
	if m.OutputTokens, err = outputTokens.parse(cells[6]); err != nil {
		return err
	}
	dollars, err := modelDollars.parse(cells[7])
	if err != nil {
		return err
	}
	m.Dollars = assay.Nanos(dollars)
	if m.OpenWeight, err = modelFlag("open_weight", cells[8]); err != nil {
		return err
	}
	m.Free, err = modelFlag("free", cells[9])
	return err
}

// modelFlag reads true or false; an empty cell is false.
func modelFlag(name, text string) (bool, error) {
	if text == "" {
		return false, nil
	}
	return parseFlag(name, text)
}

func checkModelDay(c *checker, m *assay.ModelDay) error {
	if err := c.checkLab(m.Lab); err != nil {
		return err
	}
	if err := checkText("model", m.Model); err != nil {
		return err
	}
	if err := checkText("family", m.Family); err != nil {
		return err
	}
	if strings.EqualFold(m.Family, "all") {
		return fmt.Errorf("family %q stands for all models of a lab: allowed is the name of a class of them", m.Family)
	}
	for _, number := range []struct {
		quantity *quantity
		value    int64
	}{{&modelRequests, m.Requests}, {&inputTokens, m.InputTokens}, {&outputTokens, m.OutputTokens}, {&modelDollars, int64(m.Dollars)}} {
		if err := number.quantity.check(number.value); err != nil {
			return err
		}
	}
	if err := checkModelRatios(m); err != nil {
		return err
	}
	return c.checkInstant("date", m.Day)
}

// checkModelRatios refuses numbers that cannot be together. All are bounded, so nothing here overflows.
func checkModelRatios(m *assay.ModelDay) error {
	tokens := m.InputTokens + m.OutputTokens
	switch {
	case m.Free && m.Dollars != 0:
		return fmt.Errorf("dollars %s of a free model: allowed is 0", m.Dollars)
	case tokens == 0:
		return fmt.Errorf("input_tokens and output_tokens are both 0: allowed is 1 token at least")
	case tokens/maxTokensPerRequest >= m.Requests:
		return fmt.Errorf("input_tokens and output_tokens are %d for %d requests: allowed are fewer than %d a request", tokens, m.Requests, maxTokensPerRequest)
	case int64(m.Dollars)/m.Requests >= maxDollarsPerRequest*int64(assay.One):
		return fmt.Errorf("dollars %s for %d requests: allowed are less than %d a request", m.Dollars, m.Requests, maxDollarsPerRequest)
	case int64(m.Dollars)/tokens >= maxDollarsPerToken*int64(assay.One):
		return fmt.Errorf("dollars %s for %d tokens: allowed are less than %d a token", m.Dollars, tokens, maxDollarsPerToken)
	}
	return nil
}

// checkLab checks the name of a lab.
func (c *checker) checkLab(lab string) error {
	names := make([]string, len(c.catalog.Labs))
	for i, known := range c.catalog.Labs {
		if known.Lab == lab {
			return nil
		}
		names[i] = known.Lab
	}
	return fmt.Errorf("lab %q is not in the catalog: allowed are %s", shown(lab), strings.Join(names, ", "))
}
