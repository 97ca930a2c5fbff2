package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/tools/testenv"
)

// pathVariable is what of a route's path the caller chooses.
var pathVariable = regexp.MustCompile(`\{\w+\}`)

// asks are what is requested of a route, instead of nothing in particular: values of the path's variable, or queries.
var asks = map[string][]string{
	"/api/gpu/{gpuName}": {"H200", "RTX%20PRO%206000%20WS"},
	"/api/gpu-prices":    {"", "?as_of=2025-11-03"},
	"/api/gpu-overview":  {"", "?as_of=2025-11-03"},
	"/api/daily-index": {
		"", "?gpu=RTX%20PRO%206000%20WS", "?date=2025-11-04", "?date=2025-11-03", "?as_of=2026-02-02",
		"?as_of=2025-11-03",
	},
	"/api/day-index":                      {"", "?gpu=RTX%20PRO%206000%20WS", "?date=2025-11-03"},
	"/api/daily-index/all":                {"", "?date=2025-11-03"},
	"/api/daily-index/{gpuName}/previous": {"H200", "RTX%20PRO%206000%20WS"},
	"/api/gpu/{gpuName}/index-history": {
		"H200", "RTX%20PRO%206000%20WS", "H200?startDate=2025-11-04", "H200?startDate=2025-11-03",
		"H200?granularity=hourly", "H200?granularity=auto&startDate=2026-02-01", "H200?as_of=2025-11-03",
	},
	"/api/h100-history":                              {"", "?startDate=2025-11-03", "?granularity=hourly"},
	"/api/gpu/{gpuName}/history":                     {"H200?datetime=2026-02-01"},
	"/api/gpu/{gpuName}/history-simple":              {"H200", "H200?granularity=hourly"},
	"/api/gpu/{gpuName}/history-range":               {"H200", "H200?granularity=hourly"},
	"/api/gpu/{gpuName}/hourly":                      {"H200"},
	"/api/gpu/{gpuName}/rolling-24h-average":         {"H200"},
	"/api/gpu/{gpuName}/rolling-24h-average/history": {"H200"},
	"/api/gpu/{gpuName}/determination":               {"H200?date=2026-02-01", "H200?timestamp=2026-02-01T21:00:00Z"},
	"/api/determinations/{index}": {
		"otpi?series=openai&date=2026-01-30", "otpi?series=minimax&date=2026-01-30",
		"otpi?series=hidden&date=2026-01-30", "otpi?series=openai&date=2026-01-03",
		"workload?series=openai/all&date=2026-01-30", "workload-daily?series=openai/all&date=2026-01-30",
		"memory?series=mem_ddr5_16gb&date=2026-01-30", "llm-coding?series=cc/prs&date=2026-01-30",
		"sites?series=osl-1&date=2026-01-30",
	},
	"/api/gpu/{gpuName}/realtime": {"H200"},
	"/api/gpu/{gpuName}/volatility": {
		"H200?startDate=2026-01-30&endDate=2026-02-03",
		"H200?startDate=2026-01-30&endDate=2026-02-03&granularity=hourly",
	},
	"/api/gpu/{gpuName}/volume-metrics": {"H200", "H200?granularity=hourly"},
	"/api/bulk":                         {"", "?dataset=gpu-hourly"},
	"/api/bulk/{dataset}/{file}":        {"gpu-daily", "gpu-hourly"},
	"/api/corrections":                  {"", "?granularity=hourly"},
	"/api/stream": {
		"", "?event=price", "?event=print", "?event=hour", "?event=correction", "?event=observation", "?event=notice",
		"?event=day,hour", "?family=gpu", "?family=memory", "?family=models", "?family=coding", "?family=sites",
		"?family=utilization", "?gpu=RTX%20PRO%206000%20WS", "?gpu=unknown", "?region=global", "?last_event_id=x",
	},
	"/api/corrections/{family}":        {"models", "coding?limit=1", "sites"},
	"/api/memory-index":                {"", "?type=mem_ddr5_16gb", "?category=flash", "?as_of=2026-01-01"},
	"/api/memory/{memoryType}/history": {"mem_ddr5_16gb", "mem_ddr5_16gb?startDate=2025-12-01", "mem_ddr6"},
	"/api/llm-coding/index":            {"?product=cc-prs"},
	"/api/llm-coding/history":          {"?product=cc-prs", "?product=cc-vs-codex&startDate=2025-12-01"},
	"/api/otpi": {
		"", "?lab=openai", "?lab=minimax", "?date=2026-01-04", "?date=2026-01-03", "?startDate=2026-01-04",
		"?startDate=2026-01-03", "?as_of=2026-01-03",
	},
	"/api/workload":                 {"", "?lab=openai&family=flagship"},
	"/api/neocloud/sites":           {"?city=oslo"},
	"/api/neocloud/sites/aggregate": {"", "?by=gpu_type"},
	"/api/account/sessions/{id}":    {"3f9c2a71d0b8"},
	"/api/keys/{id}":                {"4fQz8K"},
	"/api/keys/{id}/rotate":         {"4fQz8K"},
	"/api/alerts/{id}":              {"al_k3v7m2q9x4"},
	"/api/ingest/{family}":          {"transactions"},
	"/api/webhooks/{id}":            {"wh_p8d2n5r7t1"},

	"/api/share-links/{id}": {"sl_p8d2n5r7t1"},
	"/api/views/{id}":       {"sv_p8d2n5r7t1"},
	"/s/{file}":             {"shl_k3v7m2q5x4p6d2n5r7t4abcdef.csv"},
	"/embed/gpu/{gpuName}":  {"H200", "RTX%20PRO%206000%20WS"},

	"/embed/picture/{gpuName}": {"H200", "RTX%20PRO%206000%20WS"},
	"/oembed":                  {"?url=http%3A%2F%2Fexample.com%2Fgpu%2FH200"},

	"/api/webhooks/{id}/secret/rotate":                {"wh_p8d2n5r7t1"},
	"/api/webhooks/{id}/test":                         {"wh_p8d2n5r7t1"},
	"/api/webhooks/{id}/deliveries":                   {"wh_p8d2n5r7t1"},
	"/api/webhooks/{id}/deliveries/{delivery}/replay": {"4711"},
	"/api/neocloud/map":                               {"", "?country=no", "?as_of=2026-01-01"},
}

// TestAccessMatrix writes what every caller gets from every route, for people to read: the status and, where the
// response names them, access and granularity.
func TestAccessMatrix(t *testing.T) {
	testenv.OneGoroutine(t)
	t.Parallel()
	callers := []string{
		"anonymous", "premium", "full", "revoked", "ended trial", "unknown key", "free session", "trial session",
		"premium session", "full session", "member session",
	}

	r := newRig(t)
	var b strings.Builder
	b.WriteString("What each caller gets. Today is 4 February 2026: the free window begins on 4 November 2025, that of token\n" +
		"prices on 4 January 2026.\n")
	for _, route := range r.allRoutes() {
		fmt.Fprintf(&b, "\n%s %s (%s)\n", route.Method, route.Path, route.Rule)
		targets := asks[route.Path]
		if targets == nil {
			targets = []string{""}
		}
		for _, ask := range targets {
			name, query, asked := strings.Cut(ask, "?")
			target := pathVariable.ReplaceAllString(route.Path, name)
			if asked {
				target += "?" + query
			}
			if ask != "" {
				fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(ask, "%20", " "))
			}
			outcomes := make([]string, len(callers))
			for i, caller := range callers {
				outcomes[i] = outcome(r.Do(route.Method, caller, target))
			}
			writeOutcomes(&b, callers, outcomes)
			if route.Method == http.MethodDelete {
				clear(r.Sessions) // a caller who has signed out signs in again
			}
		}
	}
	apitest.Golden(t, "matrix.txt", b.String())
}

// writeOutcomes writes a line per outcome, with the callers who get it.
func writeOutcomes(b *strings.Builder, callers, outcomes []string) {
	written := map[string]bool{}
	for _, this := range outcomes {
		if written[this] {
			continue
		}
		written[this] = true
		var who []string
		for i, caller := range callers {
			if outcomes[i] == this {
				who = append(who, caller)
			}
		}
		names := strings.Join(who, ", ")
		if len(who) == len(callers) {
			names = "every caller"
		}
		fmt.Fprintf(b, "    %-24s %s\n", this, names)
	}
}

func outcome(r apitest.Reply) string {
	var body struct{ Access, Granularity, Code string }
	if r.StatusCode != 304 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal([]byte(r.Text), &body); err != nil {
			return err.Error()
		}
	}
	words := []string{fmt.Sprint(r.StatusCode)}
	for _, word := range []string{body.Access, body.Granularity, body.Code} {
		if word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}
