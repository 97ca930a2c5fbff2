package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/snapshot"
)

func TestCoding_Edges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(target string, status int, want string) {
		t.Helper()
		if got := r.Get("full", "/api/llm-coding/"+target); got.StatusCode != status || !strings.Contains(got.Text, want) {
			t.Errorf("%s: %d %.400s\nwant %d %s", target, got.StatusCode, got.Text, status, want)
		}
	}
	// 1044 pull requests after 1013, and 741 of the 1044 merged.
	f("index?product=cc-prs", 200, `{"success":true,"access":"full","data":{"product":"cc-prs","label":"Claude PRs","kind":"count","value":1044,"changePct":3.0602,"date":"2026-02-03","updatedAt":"2026-02-04T01:00:00.000Z","weekChangePct":2.2527}}`)
	f("index?product=cc-merge", 200, `"kind":"pct","value":70.977,"changePct":`)
	f("index?product=cc-commits", 200, `"label":"Claude Commits","kind":"count","value":5221,`)
	// From zero there is no change, and a day without pull requests has no rate to change from.
	f("index?product=cursor-prs", 200, `"value":844,"changePct":null,`)
	f("index?product=cursor-merge", 200, `"changePct":-`)
	f("index?product=cc-prs&as_of=2025-12-02T01:00:00Z", 200, `"value":1000,"changePct":null,"date":"2025-12-01","updatedAt":"2025-12-02T01:00:00.000Z"`)
	f("index?product=cc-prs&as_of=2025-12-02T00:59:59Z", 404, `"error":"No data available","message":"No LLM coding data found for cc-prs"`)
	f("index?product=copilot-prs", 404, `"error":"No data available","message":"No LLM coding data found for copilot-prs"`)

	const empty = `"count":0,"has_more":false,"data":[]}`
	f("history?product=cc-prs", 200, `{"success":true,"product":"cc-prs","compare":false,"seriesLabels":null,"access":"full","granularity":"daily","count":65,"has_more":false,"data":[{"date":"2025-12-01","value":1000},`)
	f("history?product=cc-vs-codex", 200, `{"success":true,"product":"cc-vs-codex","compare":true,"seriesLabels":["Claude PRs","Codex PRs"],"access":"full","granularity":"daily","count":56,"has_more":false,"data":[{"date":"2025-12-01","value":1000,"value2":900},`)
	f("history?product=copilot-merge", 200, empty)
	f("history?product=cc-prs&startDate=2030-01-01", 200, empty)
	f("history?product=cc-prs&endDate=2020-01-01", 200, empty)
	f("history?product=cc-prs&startDate=1960-01-01&limit=1", 200, `"count":1,"has_more":true,"next":{"startDate":"2025-12-02"},"data":[{"date":"2025-12-01",`)
	f("history?product=cc-prs&order=desc&limit=1", 200, `"count":1,"has_more":true,"next":{"endDate":"2026-02-02"},"data":[{"date":"2026-02-03","value":1044}]}`)
	// Codex has no Saturday; a bound's time of day makes no difference.
	f("history?product=codex-prs&startDate=2026-01-31&endDate=2026-01-31", 200, empty)
	f("history?product=cc-vs-codex-merge&startDate=2026-01-31&endDate=2026-01-31", 200, empty)
	f("history?product=cc-prs&startDate=2026-01-31T10:00:00Z&endDate=2026-01-31T11:00:00Z", 200, `"count":1,"has_more":false,"data":[{"date":"2026-01-31",`)
	f("history?product=devin-merge&startDate=2026-02-01&endDate=2026-02-01", 200, empty)
	f("history?product=devin-prs&startDate=2026-02-01&endDate=2026-02-01", 200, `[{"date":"2026-02-01","value":0}]`)
	// The correction counts from when it came.
	const friday = "history?product=cc-merge&startDate=2026-01-30&endDate=2026-01-30"
	f(friday, 200, `[{"date":"2026-01-30","value":75}]`)
	f(friday+"&as_of=2026-02-02T08:59:59.999Z", 200, `[{"date":"2026-01-30","value":75.9095}]`)

	// A part of a day is marked, and compared with nothing.
	today := assay.CodingDay{Day: apitest.Instant("2026-02-04"), Tool: "cc", PRs: 12, Merged: 6}
	var batches family.Batches
	batches[assay.FamilyCoding] = coding.Family.BatchOf(assay.Observed[assay.CodingDay]{
		Value: today, Key: today.Key(), Received: apitest.Instant("2026-02-04T12:00:00Z"),
	})
	u := apitest.Update()
	r.Use(r.Snapshots.Load().With(snapshot.Update{Version: u.Version, Covered: u.Covered, Observations: batches}))
	f("index?product=cc-prs", 200, `"value":12,"changePct":null,"date":"2026-02-04","updatedAt":"2026-02-04T12:00:00.000Z","weekChangePct":null,"partial":true}}`)
	f("history?product=cc-merge&startDate=2026-02-03", 200, `{"date":"2026-02-03","value":70.977},{"date":"2026-02-04","value":50,"partial":true}]`)
	r.Clock = r.Clock.Add(24 * time.Hour)
	f("index?product=cc-prs", 200, `"value":12,"changePct":-98.8506,"date":"2026-02-04",`)
	r.Clock = r.Clock.Add(-24 * time.Hour)

	r.Use(snapshot.New(assay.DefaultCatalog(), 1))
	f("index?product=cc-prs", 404, "No LLM coding data found for cc-prs")
	f("history?product=cc-prs", 200, empty)
}

func TestCoding_Parameters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, bad := range badRanges {
		r.wantRefused("/api/llm-coding/history?product=cc-prs&"+bad[0], bad[1], strings.SplitN(strings.Split(bad[0], "&")[0], "=", 2)[1], bad[2])
	}
	const index, history = "/api/llm-coding/index", "/api/llm-coding/history"
	const single = "one of cc-prs, codex-prs, copilot-prs, cursor-prs, devin-prs, cc-commits, cc-merge, codex-merge, copilot-merge, cursor-merge, devin-merge"
	r.wantRefused(index, "product", "Missing", "must be "+single+".")
	r.wantRefused(index+"?product=", "product", "Missing", single)
	r.wantRefused(index+"?product=gpt-prs", "product", "gpt-prs", single+".")
	r.wantRefused(index+"?product=CC-PRS", "product", "CC-PRS", single)
	r.wantRefused(index+"?product=cc-vs-codex", "product", "cc-vs-codex", single+".")
	r.wantRefused(index+"?product=cc-prs&product=cc-prs", "product", "cc-prs", "once")
	r.wantRefused(index+"?product=cc-prs&as_of=x", "as_of", "x", "YYYY-MM-DD")
	r.wantRefused(history, "product", "Missing", single+", cc-vs-codex, cc-vs-codex-merge.")
	r.wantRefused(history+"?product=gpt-prs", "product", "gpt-prs", single+", cc-vs-codex, cc-vs-codex-merge.")
	if got := r.Get("", index); got.StatusCode != 401 {
		t.Errorf("without a key: %d", got.StatusCode)
	}
}
