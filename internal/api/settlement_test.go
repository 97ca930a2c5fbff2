package api_test

import (
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/memory"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/tokens"
)

// settlingRig serves what the fixture has under a methodology by which days are final after six hours.
func settlingRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	text := strings.Replace(apitest.Methodology("1.0.0", "1970-01-01", 4), "minimum =", `settlement = {after = "6h"}`+"\nminimum =", 1)
	r.use(snapshot.Update{Methodologies: []assay.MethodologyFile{{Version: "1.0.0", Text: text}}})
	return r
}

// use changes the snapshot.
func (r *rig) use(u snapshot.Update) {
	u.Version, u.Covered = apitest.Update().Version, apitest.Update().Covered
	r.Use(r.Snapshots.Load().With(u))
}

// receive adds an observation of a family.
func receive[T any](r *rig, d *family.Definition[T], value T, revision int, received string) {
	var batches family.Batches
	batches[d.Family] = d.BatchOf(assay.Observed[T]{
		Value: value, Key: d.Key(&value), Revision: revision, Received: apitest.Instant(received),
	})
	r.use(snapshot.Update{Observations: batches})
}

// A late row changes no value, whatever it is about, until it is restated; then the corrections have each value before
// and after.
func TestSettlement_LateRow(t *testing.T) {
	t.Parallel()
	r := settlingRig(t)
	const otpi, workload = "/api/otpi?lab=openai&startDate=2026-01-10", "/api/workload?lab=openai"
	read := func() string { return r.Get("full", otpi).WithoutID() + r.Get("full", workload).WithoutID() }
	before := read()
	late := assay.ModelDay{
		Day: apitest.Instant("2025-12-30"), Lab: "openai", Model: "gpt-late", Family: "flagship",
		Requests: 5_000_000, InputTokens: 9_000_000_000, OutputTokens: 1, Dollars: 77_000 * assay.One,
	}
	receive(r, tokens.Family, late, 0, "2026-02-04T12:20:00Z")
	if after := read(); after != before {
		t.Errorf("a late row changed\n%s\nto\n%s", before, after)
	}
	if got := r.Get("full", "/api/corrections/models"); !strings.Contains(got.Text, `"count":0,"has_more":false,`) {
		t.Errorf("before it was restated: %s", got.Text)
	}

	r.use(snapshot.Update{Restatements: []assay.Restatement{{
		Number: 1, At: apitest.Instant("2026-02-04T12:30:00Z"), Family: assay.FamilyModels, From: late.Day, To: late.Day + 1,
		Reason: "the lab reported late",
	}}})
	after := read()
	if after == before {
		t.Error("a restatement changed nothing")
	}
	if got := r.Get("full", workload+"&as_of=2026-02-04T12:29:59.999Z").Text; !strings.Contains(before, rowsOf(got)) {
		t.Errorf("what was shown before is gone: %s", got)
	}
	got := r.Get("full", "/api/corrections/models?limit=2")
	const first = `"data":[{"family":"models","route":"/api/otpi","date":"2025-12-30","previous":{"date":"2025-12-30","lab":"openai",`
	if !strings.Contains(got.Text, first) || !strings.Contains(got.Text, `"reason":"the lab reported late"}`) ||
		!strings.Contains(got.Text, `"corrected_at":"2026-02-04T12:30:00.000Z"`) || !strings.Contains(got.Text, `"has_more":true`) {
		t.Errorf("the corrections are %s", got.Text)
	}
	next := between(got.Text, `"next":"`, `"`)
	second := r.Get("full", "/api/corrections/models?since="+next)
	if !strings.Contains(second.Text, `"route":"/api/workload"`) || !strings.Contains(second.Text, `"has_more":false`) {
		t.Errorf("the next ones are %.600s", second.Text)
	}
	end := r.Get("full", "/api/corrections/models?since="+between(second.Text, `"next":"`, `"`))
	if !strings.Contains(end.Text, `"count":0,`) {
		t.Errorf("at the end there are %s", end.Text)
	}
}

// rowsOf is the data of a response.
func rowsOf(text string) string { return between(text, `"data":`, "\x00") }

// between is what stands between two texts, or all that follows the first.
func between(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	found, _, _ := strings.Cut(rest, to)
	return found
}

// Memory and coding are final too, each series on its own.
func TestSettlement_OtherFamilies(t *testing.T) {
	t.Parallel()
	r := settlingRig(t)
	const prs, price = "/api/llm-coding/history?product=cc-prs", "/api/memory/mem_ddr5_16gb/history"
	read := func() string { return r.Get("full", prs).WithoutID() + r.Get("full", price).WithoutID() }
	before := read()
	day := assay.CodingDay{Day: apitest.Instant("2026-01-05"), Tool: "cc", PRs: 7, Merged: 7}
	receive(r, coding.Family, day, 9, "2026-02-04T12:20:00Z")
	reading := assay.MemoryReading{At: apitest.Instant("2026-01-05T10:00:00Z") + 1, MemoryID: "mem_ddr5_16gb", Price: 9 * assay.One}
	receive(r, memory.Family, reading, 0, "2026-02-04T12:20:00Z")
	if after := read(); after != before {
		t.Errorf("late rows changed\n%s\nto\n%s", before, after)
	}
	restated := assay.Restatement{
		Number: 1, At: apitest.Instant("2026-02-04T12:30:00Z"), Family: assay.FamilyCoding, From: day.Day, To: day.Day + 1, Reason: "x",
	}
	r.use(snapshot.Update{Restatements: []assay.Restatement{restated}})
	if got := r.Get("full", "/api/corrections/coding").Text; !strings.Contains(got,
		`"route":"/api/llm-coding/history?product=cc-prs","date":"2026-01-05","previous":{"date":"2026-01-05","value":`) ||
		!strings.Contains(got, `"current":{"date":"2026-01-05","value":7}`) {
		t.Errorf("the corrections are %s", got)
	}
	if got := r.Get("full", "/api/corrections/memory").Text; !strings.Contains(got, `"count":0,`) {
		t.Errorf("memory was not restated: %s", got)
	}
}

// A restated reading of utilization changes its day and its hour, in its region and in the world, and no others.
func TestSettlement_Utilization(t *testing.T) {
	t.Parallel()
	r := settlingRig(t)
	const days = "/api/gpu/H200/volume-metrics?startDate=2025-12-20&order=asc"
	before := r.Get("full", days)
	at := apitest.Instant("2026-01-20T10:00:00Z")
	restated := assay.Restatement{
		Number: 1, At: apitest.Instant("2026-02-04T12:30:00Z"), Family: assay.FamilyUtilization, From: at, To: at + 1,
		Reason: "the exchange reported late",
	}
	r.use(snapshot.Update{
		Restatements: []assay.Restatement{restated},
		Utilization: []assay.UtilizationReading{{
			Source: "late", At: at, GPU: "H200", Region: "us-east", Rented: 1, Tracked: 1_000_000,
			Received: apitest.Instant("2026-02-04T12:20:00Z"), Restated: restated.At,
		}},
	})
	if after := r.Get("full", days); after.Text == before.Text {
		t.Errorf("a restatement changed nothing: %s", after.Text)
	}
	if past := r.Get("full", days+"&as_of=2026-02-04T12:29:59Z"); rowsOf(past.Text) != rowsOf(before.Text) {
		t.Errorf("what was shown before is gone: %s", past.Text)
	}
	got := r.Get("full", "/api/corrections/utilization").Text
	for _, region := range []string{"global", "us-east"} {
		for _, grain := range []string{"", `\u0026granularity=hourly`} {
			route := `"route":"/api/gpu/H200/volume-metrics?region=` + region + grain + `","date":"2026-01-20","previous":`
			if strings.Count(got, route) != 1 {
				t.Errorf("the corrections do not have %s once: %s", route, got)
			}
		}
	}
	if !strings.Contains(got, `"count":4,"has_more":false,`) || !strings.Contains(got, `"reason":"the exchange reported late"}`) {
		t.Errorf("the corrections are %s", got)
	}
}

func TestSettlement_Parameters(t *testing.T) {
	t.Parallel()
	r := settlingRig(t)
	r.wantRefused("/api/corrections/sites", "family", "sites", "memory, models, coding or utilization")
	r.wantRefused("/api/corrections/models?since=x", "since", "x", "the value of next")
	next := between(r.Get("full", "/api/corrections/models").Text, `"next":"`, `"`)
	r.wantRefused("/api/corrections/coding?since="+next, "since", next, "for this family")
	if got := r.Get("", "/api/corrections/models"); got.StatusCode != 401 {
		t.Errorf("without a key: %d", got.StatusCode)
	}
}
