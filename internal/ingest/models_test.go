package ingest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/tokens"
)

func importModels(t *testing.T, db *store.DB, revise bool, name, content string) (out outcome) {
	t.Helper()
	options := testOptions(db, &out)
	options.Revise = revise
	im := Observations(options, tokens.Family)
	out.err = im.File(t.Context(), name, strings.NewReader(content))
	out.Counts = im.Counts()
	return out
}

// storedModels are the models' days with all their revisions.
func storedModels(t *testing.T, db *store.DB) (all []assay.ModelDay) {
	t.Helper()
	err := db.EachObservation(t.Context(), assay.FamilyModels, 0, 1<<62, func(o store.Observation, _ int, _ int64) error {
		var m assay.ModelDay
		if err := json.Unmarshal(o.Body, &m); err != nil {
			return err
		}
		if o.Key != m.Key() {
			t.Errorf("%s is known by %s", m.Key(), o.Key)
		}
		all = append(all, m)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// goodModel is the row that the tests vary.
func goodModel() map[string]string {
	return map[string]string{
		"date": "2026-01-02", "lab": "anthropic", "model": "opus-5", "family": "opus", "requests": "120", "input_tokens": "5000",
		"output_tokens": "700", "dollars": "0.125000001", "open_weight": "false", "free": "false",
	}
}

func modelWith(pairs ...string) map[string]string {
	row := maps.Clone(goodModel())
	for i := 0; i < len(pairs); i += 2 {
		row[pairs[i]] = pairs[i+1]
	}
	return row
}

func TestModels_EveryFormat(t *testing.T) {
	t.Parallel()
	want := assay.ModelDay{
		Day: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC).UnixMilli(), Lab: "anthropic", Model: "opus-5", Family: "opus",
		Requests: 120, InputTokens: 5000, OutputTokens: 700, Dollars: 125_000_001,
	}
	f := func(name, content string, change func(*assay.ModelDay)) {
		t.Helper()
		db, want := openForReadings(t), want
		change(&want)
		importModels(t, db, false, name, content).want(t, 1, 0, 0)
		importModels(t, db, false, name, content).want(t, 0, 1, 0)
		importModels(t, db, true, name, content).want(t, 0, 1, 0)
		if got := storedModels(t, db); !slices.Equal(got, []assay.ModelDay{want}) {
			t.Errorf("%s became %+v, want %+v", name, got, want)
		}
	}
	same := func(*assay.ModelDay) {}
	f("a.csv", strings.Join(tokens.Family.Schema.Names(), ",")+"\n2026-01-02,anthropic,opus-5,opus,120,5000,700,0.125000001,false,false,,,,\n", same)
	f("split.csv", strings.Join(tokens.Family.Schema.Names(), ",")+"\n2026-01-02,anthropic,opus-5,opus,120,5000,700,0.125000001,false,false,0.1,0.02,1000,0.005000001\n",
		func(m *assay.ModelDay) {
			m.Split, m.CachedTokens, m.CachedDollars = true, 1000, 5_000_001
			m.InputDollars, m.OutputDollars = 100_000_000, 20_000_000
		})
	f("a.csv.gz", gz(t, "dollars,date,family,model,lab,requests,input_tokens,output_tokens\n0.125000001,2026-01-02,opus,opus-5,anthropic,120,5000,700\n"), same)
	f("a.ndjson", jsonLine(goodModel()), same)
	f("a.jsonl", `{"date":"2026-01-02T00:00:00Z","lab":"anthropic","model":"opus-5","family":"opus","requests":120,"input_tokens":5000,"output_tokens":700,"dollars":0,"open_weight":true,"free":true}`,
		func(m *assay.ModelDay) { m.Dollars, m.OpenWeight, m.Free = 0, true, true })
	columns, row := stringColumns(tokens.Family.Schema.Names()), textRow(goodModel())
	columns["date"], row["date"] = parquet.Timestamp(parquet.Millisecond), want.Day
	columns["requests"], row["requests"] = parquet.Int(64), int64(120)
	columns["dollars"], row["dollars"] = parquet.Leaf(parquet.DoubleType), 0.125000001
	columns["open_weight"], row["open_weight"] = parquet.Leaf(parquet.BooleanType), true
	f("a.parquet", parquetFile(t, columns, []map[string]any{row}), func(m *assay.ModelDay) { m.OpenWeight = true })
}

func TestModels_Rejects(t *testing.T) {
	t.Parallel()
	db := openForReadings(t)
	f := func(reason string, pairs ...string) {
		t.Helper()
		out := importModels(t, db, false, "a.ndjson", jsonLine(goodModel())+jsonLine(modelWith(pairs...)))
		if len(out.rejects) != 1 || out.rejects[0].Line != 2 || out.rejects[0].Reason != reason || out.err != nil {
			t.Errorf("%v is rejected as %+v (%v), want %s", pairs, out.rejects, out.err, reason)
		}
	}
	const (
		requestsAllowed = ": must be an integer from 1 to 1000000000000"
		tokensAllowed   = ": must be an integer from 0 to 1000000000000000"
		dollarsAllowed  = ": must be from 0 to 100000000 USD, with up to 9 decimals"
	)
	f(`date is missing`, "date", "")
	f(`date "2 January" is not a day such as 2026-01-31`, "date", "2 January")
	f(`date "2026-01-02T10:00:00Z" has a time of day: must be a day such as 2026-01-31`, "date", "2026-01-02T10:00:00Z")
	f(`date 2026-02-02T00:00:00.000Z is in the future`, "date", "2026-02-02")
	f(`date 1999-12-31T00:00:00.000Z is before the year 2000`, "date", "1999-12-31")
	f(`lab "acme" is not in the catalog: must be one of anthropic, openai, google, deepseek, minimax, xiaomi, qwen, moonshotai, z-ai, mistralai, meta-llama`, "lab", "acme")
	f(`model is missing`, "model", "")
	f(`family is missing`, "family", "")
	f(`family is longer than 128 bytes`, "family", strings.Repeat("x", 129))
	f(`family "All" stands for all models of a lab: must be the name of a class of models`, "family", "All")
	f(`requests is missing`, "requests", "")
	f(`requests 0 is out of bounds`+requestsAllowed, "requests", "0")
	f(`requests "1.5" has more than 0 decimals`+requestsAllowed, "requests", "1.5")
	f(`requests 1000000000001 is out of bounds`+requestsAllowed, "requests", "1000000000001")
	f(`input_tokens -1 is out of bounds`+tokensAllowed, "input_tokens", "-1")
	f(`input_tokens "1e6" is not a plain decimal number`+tokensAllowed, "input_tokens", "1e6")
	f(`output_tokens 1000000000000001 is out of bounds`+tokensAllowed, "output_tokens", "1000000000000001")
	f(`dollars "$5" is not a plain decimal number`+dollarsAllowed, "dollars", "$5")
	f(`dollars -0.01 is out of bounds`+dollarsAllowed, "dollars", "-0.01")
	f(`dollars "0.0000000001" has more than 9 decimals`+dollarsAllowed, "dollars", "0.0000000001")
	f(`dollars 100000000.000000001 is out of bounds`+dollarsAllowed, "dollars", "100000000.000000001")
	f(`open_weight "maybe": must be true or false`, "open_weight", "maybe")
	f(`free "yes": must be true or false`, "free", "yes")
	f(`dollars 0.125000001 for a free model: must be 0`, "free", "true")
	f(`input_tokens and output_tokens are both 0: must be at least 1 together`, "input_tokens", "0", "output_tokens", "0")
	f(`input_tokens and output_tokens are 12000000000 for 120 requests: must be fewer than 100000000 per request`, "input_tokens", "12000000000", "output_tokens", "0")
	f(`dollars 1200000 for 120 requests: must be less than 10000 per request`, "dollars", "1200000", "input_tokens", "50000000")
	f(`dollars 5700 for 5700 tokens: must be less than 1 per token`, "dollars", "5700")
	const both = `input_dollars and output_dollars: must both be given, or none of the columns that split dollars`
	f(both, "input_dollars", "0.1")
	f(both, "cached_tokens", "7")
	f(`input_dollars, cached_dollars and output_dollars are 0.125 together: must be dollars, which are 0.125000001`,
		"input_dollars", "0.1", "output_dollars", "0.025")
	f(`cached_tokens 5001: must be at most input_tokens, which are 5000`,
		"input_dollars", "0.1", "output_dollars", "0.025000001", "cached_tokens", "5001")
	f(`cached_dollars 0.025: must be 0, because there are no such tokens`,
		"input_dollars", "0.1", "output_dollars", "0.000000001", "cached_dollars", "0.025")
	f(`input_dollars "x" is not a plain decimal number`+dollarsAllowed, "input_dollars", "x", "output_dollars", "0")
	f(`the day 2026-01-02 of lab "anthropic" and model "opus-5" is known with different content; the first version stays. Use --revise to add a new revision.`, "requests", "121")
	if got := storedModels(t, db); len(got) != 1 || got[0].Requests != 120 {
		t.Errorf("stored are %+v, want the good row", got)
	}
}

func TestModels_Revise(t *testing.T) {
	t.Parallel()
	db := openForReadings(t)
	importModels(t, db, false, "a.ndjson", jsonLine(goodModel())).want(t, 1, 0, 0)
	importModels(t, db, true, "a.ndjson", jsonLine(modelWith("requests", "121"))).want(t, 1, 0, 0)
	if got := storedModels(t, db); len(got) != 2 || got[0].Requests != 120 || got[1].Requests != 121 {
		t.Errorf("stored are %+v, want both revisions", got)
	}
}

func TestModels_MissingColumns(t *testing.T) {
	t.Parallel()
	db := openForReadings(t)
	for _, column := range tokens.Family.Schema.Names()[:8] {
		columns := slices.Clone(tokens.Family.Schema.Names())
		columns[slices.Index(columns, column)] = "x"
		out := importModels(t, db, false, "a.csv", strings.Join(columns, ","))
		want := fmt.Sprintf("a.csv: line 1: column %q is missing: the header must name %s", column, strings.Join(tokens.Family.Schema.Names(), ", "))
		if out.err == nil || out.err.Error() != want {
			t.Errorf("without %s the error is %v, want %s", column, out.err, want)
		}
	}
}

// What help and template show can be imported.
func TestModels_Example(t *testing.T) {
	t.Parallel()
	content := strings.Join(tokens.Family.Schema.Names(), ",") + "\n"
	for _, row := range tokens.Family.Schema.Example {
		content += strings.Join(row, ",") + "\n"
	}
	importModels(t, openForReadings(t), false, "a.csv", content).want(t, len(tokens.Family.Schema.Example), 0, 0)
}
