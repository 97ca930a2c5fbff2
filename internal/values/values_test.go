package values_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/memory"
	"github.com/assaydata/assay/internal/registry"
	"github.com/assaydata/assay/internal/tokens"
	"github.com/assaydata/assay/internal/utilization"
	"github.com/assaydata/assay/internal/values"
)

const first = 20_003 * assay.Day // a Monday

// schedule is of a methodology by which days are final after a day.
func schedule() index.Schedule {
	m := index.Plain()
	m.SettleAfter = 24 * 60 * 60 * 1e9
	return index.Schedule{m}
}

func settlement(restated ...assay.Restatement) family.Settlement {
	return family.Settlement{After: schedule().SettleAfter, Restated: restated}
}

// market is three days of each family, each received when it has ended; a reading of utilization, also at midnight.
func market(restated ...assay.Restatement) *values.Rows {
	var models []assay.Observed[assay.ModelDay]
	var readings []assay.Observed[assay.MemoryReading]
	var tools []assay.Observed[assay.CodingDay]
	var capacity []assay.UtilizationReading
	for n := range int64(3) {
		day := first + n*assay.Day
		received := day + assay.Day
		model := assay.ModelDay{
			Day: day, Lab: "openai", Model: "gpt", Family: "flagship", Requests: 10, InputTokens: 1000, OutputTokens: 1000,
			Dollars: assay.One,
		}
		models = append(models, assay.Observed[assay.ModelDay]{Value: model, Key: model.Key(), Received: received})
		reading := assay.MemoryReading{MemoryID: "ddr5", At: day + assay.Hour, Price: 5 * assay.One}
		readings = append(readings,
			assay.Observed[assay.MemoryReading]{Value: reading, Key: reading.Key(), Received: received})
		tool := assay.CodingDay{Day: day, Tool: "aider", PRs: 10 + n, Merged: 5, Commits: 20}
		tools = append(tools, assay.Observed[assay.CodingDay]{Value: tool, Key: tool.Key(), Received: received})
		for _, at := range []int64{day + 10*assay.Hour, received} {
			capacity = append(capacity, assay.UtilizationReading{
				Source: "desk", At: at, GPU: "B200", Region: "us-east", Rented: 3, Tracked: 4, Received: received,
			})
		}
	}
	set := registry.NoObservations()
	set[assay.FamilyModels] = set[assay.FamilyModels].With(tokens.Family.BatchOf(models...))
	set[assay.FamilyMemory] = set[assay.FamilyMemory].With(memory.Family.BatchOf(readings...))
	set[assay.FamilyCoding] = set[assay.FamilyCoding].With(coding.Family.BatchOf(tools...))
	settler := utilization.NewSettler(settlement(restated...))
	return &values.Rows{
		Observations: &set, Utilization: utilization.Lines{}.With(settler.Settle(capacity)), Settler: settler,
	}
}

func final(rows *values.Rows, moment int64, restated ...assay.Restatement) (list []values.Value) {
	for _, f := range values.Families {
		list = append(list, rows.Final(f, moment, settlement(restated...), schedule())...)
	}
	return list
}

func texts(list []values.Value) (texts []string) {
	for _, v := range list {
		texts = append(texts, v.Slot().String()+": "+v.Numbers)
	}
	return texts
}

// Only what is final has a value: here the first of three days.
func TestFinal(t *testing.T) {
	t.Parallel()
	got := texts(final(market(), first+2*assay.Day))
	cost := `{"cCents":10,"lfl":100,"qKtok":0.2,"priceEffect":0,"intensityEffect":0,"mixEffect":0,"unlinkedShare":null}`
	want := []string{
		`memory of ddr5, 2024-10-07: {"price":5,"weeklyHigh":5,"weeklyLow":5,"changePct":0}`,
		`otpi of openai, 2024-10-07: {"indexPerMtok":500}`,
		`workload of openai/all, 2024-10-07: ` + cost,
		`workload of openai/flagship, 2024-10-07: ` + cost,
		`workload-daily of openai/all, 2024-10-07: ` + cost,
		`workload-daily of openai/flagship, 2024-10-07: ` + cost,
		`llm-coding of aider/commits, 2024-10-07: {"value":20,"changePct":null,"weekChangePct":null}`,
		`llm-coding of aider/merge, 2024-10-07: {"value":50,"changePct":null,"weekChangePct":null}`,
		`llm-coding of aider/prs, 2024-10-07: {"value":10,"changePct":null,"weekChangePct":null}`,
		`utilization of B200/global, 2024-10-07: {"utilization_ratio":0.75,"hour_10":0.75}`,
		`utilization of B200/us-east, 2024-10-07: {"utilization_ratio":0.75,"hour_10":0.75}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("final are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if early := final(market(), first+2*assay.Day-1); len(early) != 0 {
		t.Errorf("a millisecond earlier %v is final", texts(early))
	}
	if all := final(market(), first+9*assay.Day); len(all) != 3*len(want) {
		t.Errorf("later %d values are final, want %d", len(all), 3*len(want))
	}
}

// Inputs name the rows of the day.
func TestFinal_Inputs(t *testing.T) {
	t.Parallel()
	for _, v := range final(market(), first+2*assay.Day) {
		want, ok := map[string]string{
			values.OTPI:        "2024-10-08T00:00:00.000Z\t0\t2024-10-07 openai gpt\n",
			values.Utilization: "2024-10-08T00:00:00.000Z\t0\tdesk\tus-east\t2024-10-07T10:00:00.000Z\n",
		}[v.Index]
		if ok && v.Inputs != want || v.Methodology != "1.0.0" {
			t.Errorf("%s has the inputs %q, and methodology %s", v.Slot(), v.Inputs, v.Methodology)
		}
	}
}

// Names and numbers that are not final change nothing that is, in any index.
func TestFinal_LaterDaysChangeNothing(t *testing.T) {
	t.Parallel()
	later := map[string]bool{}
	for _, text := range texts(final(market(), first+30*assay.Day)) {
		later[text] = true
	}
	for day := range int64(5) {
		for _, text := range texts(final(market(), first+day*assay.Day)) {
			if !later[text] {
				t.Errorf("later it is no more so that %s", text)
			}
		}
	}
}

func TestNewest_Missing(t *testing.T) {
	t.Parallel()
	all := market().Final(assay.FamilyCoding, first+9*assay.Day, settlement(), schedule())
	newest := values.Newest{}
	f := func(final []values.Value, want ...string) {
		t.Helper()
		var got []string
		for _, v := range newest.Missing(assay.FamilyCoding, final) {
			got = append(got, fmt.Sprint(v.Series, " ", (v.Day-first)/assay.Day, " ", v.Numbers == values.Gone))
		}
		if !slices.Equal(got, want) {
			t.Errorf("missing are %v, want %v", got, want)
		}
	}
	f(all[7:], "aider/prs 1 false", "aider/prs 2 false")
	for _, v := range all {
		newest.Add(&assay.ValueRecord{Index: v.Index, Series: v.Series, Day: v.Day, Numbers: v.Numbers})
	}
	newest.Add(&assay.ValueRecord{Index: values.OTPI, Series: "openai", Day: first, Numbers: "{}"}) // of another family
	f(all)
	changed := slices.Clone(all)
	changed[8].Numbers = "{}"
	f(changed[2:], "aider/commits 0 true", "aider/commits 1 true", "aider/prs 2 false")
	newest.Add(&assay.ValueRecord{Index: all[0].Index, Series: all[0].Series, Day: all[0].Day, Numbers: values.Gone})
	f(all[1:])
	f(all, "aider/commits 0 false")
}
