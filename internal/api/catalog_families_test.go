package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/tools/testenv"
)

// A lab that becomes paid is closed to callers without a key at once, even with an older response in a cache; one that
// becomes free is open to them. A response over several labs then has another ETag, although nothing was received.
func TestCatalog_LabsFreeAndPaid(t *testing.T) {
	testenv.OneGoroutine(t)
	t.Parallel()
	r := newRig(t)
	f := func(caller, target string, status int, want ...string) apitest.Reply {
		t.Helper()
		got := r.Get(caller, target)
		if got.StatusCode != status || slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(got.Text, w) }) {
			t.Errorf("%s %s: got %d %s, want %d %q", caller, target, got.StatusCode, got.Text, status, want)
		}
		return got
	}
	const all, ranged = "/api/otpi", "/api/otpi?startDate=2026-01-30&endDate=2026-02-02"
	before := map[string]apitest.Reply{all: f("", all, 200, `"lab":"openai"`), ranged: f("", ranged, 200, `"lab":"openai"`)}
	premium := f("premium", ranged, 200)
	one := f("", "/api/otpi?lab=openai", 200)

	catalog := assay.DefaultCatalog()
	catalog.Labs[1].Free = false
	r.UseCatalog(catalog)
	f("", "/api/otpi?lab=openai", 401, `"code":"key_required"`)
	if got := r.Get("", "/api/otpi?lab=openai", "If-None-Match", one.Header.Get("Etag")); got.StatusCode != 401 {
		t.Errorf("who has an answer of before is answered %d", got.StatusCode)
	}
	for target, old := range before {
		got := r.Get("", target, "If-None-Match", old.Header.Get("Etag"))
		if got.StatusCode != 200 || strings.Contains(got.Text, "openai") || !strings.Contains(got.Text, "anthropic") {
			t.Errorf("%s without openai: %d %s", target, got.StatusCode, got.Text)
		}
	}
	if got := f("premium", ranged, 200); got.Text != premium.Text {
		t.Errorf("with a key: %s, want %s", got.Text, premium.Text)
	}

	r.UseCatalog(assay.DefaultCatalog())
	for target, old := range before {
		if got := f("", target, 200); got.Text != old.Text || got.Header.Get("Etag") != old.Header.Get("Etag") {
			t.Errorf("%s, free again: %s, want %s", target, got.Text, old.Text)
		}
	}
	if got := f("", "/api/otpi?lab=openai&startDate=2026-01-03", 401); !strings.Contains(got.Text, "outside_free_window") {
		t.Errorf("the window of a lab that is free again: %s", got.Text)
	}
}

// What is added is known at once, and has no data at first; messages list it last.
func TestCatalog_AddedToTheOtherFamilies(t *testing.T) {
	testenv.OneGoroutine(t)
	t.Parallel()
	r := newRig(t)
	f := func(target string, status int, want string) {
		t.Helper()
		if got := r.Get("full", target); got.StatusCode != status || !strings.Contains(got.Text, want) {
			t.Errorf("%s: got %d %s, want %d %s", target, got.StatusCode, got.Text, status, want)
		}
	}
	f("/api/otpi?lab=cohere", 400, `Invalid value \"cohere\" for \"lab\"`)
	f("/api/llm-coding/index?product=jules-prs", 400, `Invalid value \"jules-prs\" for \"product\"`)
	f("/api/memory-index?type=mem_hbm3_24gb", 404, `"error":"No data available"`)
	r.UseCatalog(grown(t, added))

	f("/api/otpi?lab=none", 400, `mistralai, meta-llama`)
	f("/api/otpi?lab=none", 400, `cohere`)
	f("/api/workload?lab=none", 400, `cohere`)
	f("/api/otpi?lab=cohere", 404, `"error":"No data available"`)
	f("/api/workload?lab=cohere", 200, `"count":0,`)
	f("/api/llm-coding/index?product=none", 400, `devin-merge, jules-prs.`)
	f("/api/llm-coding/history?product=none", 400, `cc-vs-codex-merge, jules-prs, cc-vs-jules.`)
	f("/api/llm-coding/index?product=jules-prs", 404, `"error":"No data available"`)
	f("/api/llm-coding/index?product=cc-vs-jules", 400, `Invalid value \"cc-vs-jules\" for \"product\"`)
	f("/api/llm-coding/history?product=cc-vs-jules", 200, `"compare":true,"seriesLabels":["Claude PRs","Jules PRs"]`)
	f("/api/memory-index?type=mem_hbm3_24gb", 404, `"error":"No data available"`)
	f("/api/memory-index", 200, `"success":true`)
	f("/api/memory/mem_hbm3_24gb/history", 404, `"error":"No data available"`)
	f("/api/memory/HBM3%2024GB:%206.4%2F9.2/history", 404, `"error":"No data available"`)
}

// A product over tools that are reported already has their whole history at once.
func TestCatalog_AddedProductOfKnownTools(t *testing.T) {
	testenv.OneGoroutine(t)
	t.Parallel()
	r := newRig(t)
	r.UseCatalog(grown(t, assay.Catalog{CodingProducts: []assay.CodingProduct{{
		ID: "codex-commits", Label: "Codex Commits", Category: "commits", Kind: "count", Tools: []string{"codex"},
	}}}))
	if got := r.Get("full", "/api/llm-coding/index?product=codex-commits"); got.StatusCode != 200 || !strings.Contains(got.Text, `"label":"Codex Commits"`) {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
}
