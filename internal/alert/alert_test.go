package alert

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
)

var catalog = assay.DefaultCatalog()

// rule completes a rule that is given as JSON.
func rule(t *testing.T, text string) (r assay.AlertRule) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if err := Complete(&r, &catalog); err != nil {
		t.Fatal(err)
	}
	return r
}

// prices are new values of successive slots of a grain, such as "1 2 3.5"; - is a slot without a value, and (1) a value
// that was published before.
func prices(t *testing.T, grain assay.Grain, text string) (list []Value) {
	t.Helper()
	step := assay.Day
	if grain == assay.Hourly {
		step = assay.Hour
	}
	for i, word := range strings.Fields(text) {
		if word == "-" {
			continue
		}
		bare := strings.Trim(word, "()")
		value, err := assay.ParseDecimal(bare, 9)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, Value{Point: assay.Point{At: int64(i+1) * step, Value: assay.Nanos(value)}, New: bare == word})
	}
	return list
}

// firing are the values that fire an alert, and whether it is armed in the end.
func firing(t *testing.T, a Alert, text string) (fired string, armed bool) {
	t.Helper()
	news := News{Values: map[Series][]Value{a.Series(): prices(t, a.Series().Grain, text)}}
	events, armed := a.Evaluate(&news, nil)
	var words []string
	for _, e := range events {
		words = append(words, e.Data.Value.String())
	}
	return strings.Join(words, " "), armed
}

func TestEvaluate_Prices(t *testing.T) {
	t.Parallel()
	f := func(name, definition, text, want string, armed bool) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := Alert{ID: "al_1", Armed: true, Since: assay.Hour / 2, AlertRule: rule(t, definition)}
			got, gotArmed := firing(t, a, text)
			if got != want || gotArmed != armed {
				t.Errorf("%s fires at %q, armed %t; want %q, armed %t", text, got, gotArmed, want, armed)
			}
		})
	}
	const above = `{"type":"price_above","gpu_type":"H200","threshold":3,"hysteresis_percent":10}`
	f("first value above", above, "3.01", "3.01", false)
	f("exactly the threshold is not above", above, "2.9 3 3", "", true)
	f("once while it stays above", above, "2 3.1 3.2 3.3", "3.1", false)
	f("a little below does not arm it", above, "2 3.1 2.8 3.1", "3.1", false)
	f("clearly below arms it", above, "2 3.1 2.7 3.2", "3.1 3.2", false)
	f("slots without a value count for nothing", above, "2 3.1 - - 3.2", "3.1", false)
	f("values that were published before fire nothing", above, "(2) (4) 2", "", true)
	f("no hysteresis", `{"type":"price_above","gpu_type":"H200","threshold":3,"hysteresis_percent":0}`, "3.1 3 3.1", "3.1 3.1", false)
	const below = `{"type":"price_below","gpu_type":"H200","threshold":3,"hysteresis_percent":10}`
	f("below", below, "3 2.9 2.8 3.2 2.9 3.3 2.9", "2.9 2.9", false)

	const day = `{"type":"price_change","gpu_type":"H200","window":"1d","percent":10,"hysteresis_percent":50}`
	f("up", day, "(2) 2.2", "2.2", false)
	f("down", day, "(2) 1.8", "1.8", false)
	f("less than that", day, "(2) 2.19 2.0", "", true)
	f("armed again by a small change", day, "(2) 2.2 2.4 2.4 2.7", "2.2 2.7", false)
	f("not armed by a change that is nearly as large", day, "(2) 2.2 2.4 2.7", "2.2", false)
	f("without the earlier value", day, "(2) - 4 -", "", true)
	f("only up", `{"type":"price_change","gpu_type":"H200","window":"1d","percent":10,"direction":"up"}`, "(2) 1.5 2", "2", false)
	f("only down", `{"type":"price_change","gpu_type":"H200","window":"1d","percent":10,"direction":"down"}`, "(2) 3 2", "2", false)
	f("an hour", `{"type":"price_change","gpu_type":"H200","window":"1h","percent":10}`, "(2) 2.1 2.4", "2.4", false)
	f("seven days", `{"type":"price_change","gpu_type":"H200","window":"7d","percent":10}`,
		"(2) (2) (2) (2) (2) (2) (2.1) 2.2 2.2", "2.2", false)
	f("from next to nothing", day, "(0.000000001) 1000000", "1000000", false)
	f("from nothing", day, "(0) 1", "", true)
}

// A fixing follows the local time of its city: when summer time begins, a day has 23 hours.
func TestEvaluate_SummerTime(t *testing.T) {
	t.Parallel()
	a := Alert{Armed: true, AlertRule: rule(t, `{"type":"price_change","gpu_type":"H200","window":"1d","percent":10}`)}
	value := func(hour int64, value assay.Nanos) Value {
		return Value{Point: assay.Point{At: hour * assay.Hour, Value: value * assay.One}, New: hour == 44+24}
	}
	news := News{Values: map[Series][]Value{a.Series(): {value(21, 8), value(45, 4), value(44+24, 5)}}}
	events, _ := a.Evaluate(&news, nil)
	if len(events) != 1 || *events[0].Data.EarlierValue != 4*assay.One || events[0].Data.ChangePercent.String() != "25" {
		t.Errorf("%+v", events)
	}
}

// What ended before an alert was made fires nothing, such as a backfill of history.
func TestEvaluate_OnlySince(t *testing.T) {
	t.Parallel()
	a := Alert{
		Armed: true, Since: 3*assay.Day + assay.Hour/2,
		AlertRule: rule(t, `{"type":"price_above","gpu_type":"H200","threshold":1}`),
	}
	if got, _ := firing(t, a, "5 6 7 8"); got != "7" {
		t.Errorf("it fires at %q, want the value of the slot that ended within the hour before", got)
	}
}

func TestEvaluate_Others(t *testing.T) {
	t.Parallel()
	line := assay.Line{GPU: "H200", Region: "us-east"}
	news := News{
		Synthetic: true,
		Corrections: map[Series][]Correction{{Line: line, Grain: assay.Hourly}: {
			{Version: 7, PublishedAt: assay.Hour, Reason: "earlier", Values: 1, First: assay.Hour, Last: assay.Hour},
			{Version: 8, PublishedAt: 3 * assay.Hour, Reason: "Late rentals", Values: 4, First: assay.Hour, Last: 4 * assay.Hour},
		}},
		Missed: map[assay.Line][]Missed{line: {{At: assay.Day, PublishedAt: assay.Day + 1}}},
		First: []First{
			{GPU: "B300", Grain: assay.Daily, PublishedAt: assay.Day, Value: Value{Version: 9, Point: assay.Point{At: assay.Day, Value: 7 * assay.One}}},
			{GPU: "R100", Paid: true, Grain: assay.Daily, PublishedAt: assay.Day},
			{GPU: "B300", Grain: assay.Hourly, PublishedAt: assay.Day},
		},
	}
	f := func(name, definition, want string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := Alert{ID: "al_1", Name: "mine", Armed: true, Since: 2 * assay.Hour, AlertRule: rule(t, definition)}
			events, armed := a.Evaluate(&news, func(f First) bool { return !f.Paid })
			if len(events) != 1 || !armed {
				t.Fatalf("%d events, armed %t", len(events), armed)
			}
			if diff := cmp.Diff(want, string(events[0].Payload(0))); diff != "" {
				t.Error(diff)
			}
		})
	}
	f("correction", `{"type":"correction","gpu_type":"H200","region":"us-east","granularity":"hourly"}`,
		`{"type":"alert.correction","timestamp":null,"data":{"alert_id":"al_1","alert_name":"mine","message":"H200 in us-east was restated from 1970-01-01T01:00:00.000Z to 1970-01-01T04:00:00.000Z (4 values): Late rentals",`+
			`"gpu_type":"H200","region":"us-east","granularity":"hourly","publication":8,"values":4,"first_timestamp":"1970-01-01T01:00:00.000Z","last_timestamp":"1970-01-01T04:00:00.000Z",`+
			`"reason":"Late rentals","corrected_at":"1970-01-01T03:00:00.000Z","synthetic":true}}`)
	f("missed fixing", `{"type":"missed_fixing","gpu_type":"H200","region":"us-east"}`,
		`{"type":"alert.missed_fixing","timestamp":null,"data":{"alert_id":"al_1","alert_name":"mine","message":"H200 in us-east has no value for the day that ends at 1970-01-02T00:00:00.000Z.",`+
			`"gpu_type":"H200","region":"us-east","granularity":"daily","timestamp":"1970-01-02T00:00:00.000Z","synthetic":true}}`)
	f("new model", `{"type":"new_model"}`,
		`{"type":"alert.new_model","timestamp":null,"data":{"alert_id":"al_1","alert_name":"mine","message":"B300 has its first daily price: 7 USD per GPU-hour.",`+
			`"gpu_type":"B300","region":"global","granularity":"daily","timestamp":"1970-01-02T00:00:00.000Z","index_value":7,"publication":9,"synthetic":true}}`)
}

func TestComplete(t *testing.T) {
	t.Parallel()
	f := func(name, definition, param string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r assay.AlertRule
			if err := json.Unmarshal([]byte(definition), &r); err != nil {
				t.Fatal(err)
			}
			err := Complete(&r, &catalog)
			if param == "" && err == nil {
				again := Bare(r)
				if err := Complete(&again, &catalog); err != nil || !cmp.Equal(again, r) {
					t.Errorf("completed again: %v, %+v", err, again)
				}
				return
			}
			if err == nil || assay.AsError(err).Param != param || assay.AsError(err).Kind != assay.Invalid {
				t.Errorf("%s: %v, want an error about %q", definition, err, param)
			}
		})
	}
	f("price above", `{"type":"price_above","gpu_type":"H200","threshold":0.000000001}`, "")
	f("price change", `{"type":"price_change","gpu_type":"H200","window":"1h","percent":0.01}`, "")
	f("missed fixing", `{"type":"missed_fixing","gpu_type":"H200"}`, "")
	f("no type", `{}`, "type")
	f("another type", `{"type":"moon"}`, "type")
	f("no model", `{"type":"price_above","threshold":1}`, "gpu_type")
	f("unknown model", `{"type":"price_above","gpu_type":"TPU","threshold":1}`, "gpu_type")
	f("unknown region", `{"type":"price_above","gpu_type":"H200","region":"mars","threshold":1}`, "region")
	f("unknown grain", `{"type":"price_above","gpu_type":"H200","granularity":"weekly","threshold":1}`, "granularity")
	f("no threshold", `{"type":"price_above","gpu_type":"H200"}`, "threshold")
	f("threshold of 0", `{"type":"price_above","gpu_type":"H200","threshold":0}`, "threshold")
	f("negative threshold", `{"type":"price_below","gpu_type":"H200","threshold":-1}`, "threshold")
	f("huge threshold", `{"type":"price_below","gpu_type":"H200","threshold":1000001}`, "threshold")
	f("no percent", `{"type":"price_change","gpu_type":"H200","window":"1d"}`, "percent")
	f("percent of 0", `{"type":"price_change","gpu_type":"H200","window":"1d","percent":0}`, "percent")
	f("no window", `{"type":"price_change","gpu_type":"H200","percent":5}`, "window")
	f("unknown window", `{"type":"price_change","gpu_type":"H200","percent":5,"window":"2d"}`, "window")
	f("unknown direction", `{"type":"price_change","gpu_type":"H200","percent":5,"window":"1d","direction":"left"}`, "direction")
	f("large hysteresis", `{"type":"price_above","gpu_type":"H200","threshold":1,"hysteresis_percent":51}`, "hysteresis_percent")
	f("a field of another type", `{"type":"correction","gpu_type":"H200","threshold":1}`, "threshold")
	f("a grain where the window decides", `{"type":"price_change","gpu_type":"H200","window":"1d","percent":5,"granularity":"daily"}`, "granularity")
}
