package api_test

import (
	"strings"
	"testing"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(name, caller, target string) { t.Helper(); r.GoldenResponse(t, name, caller, target) }
	f("gpu-types", "anonymous", "/api/gpu-types")
	f("gpu-types-free", "anonymous", "/api/gpu-types-free")
	f("regions", "anonymous", "/api/regions")
	f("token-types", "anonymous", "/api/token-types")
	f("token-types-free", "anonymous", "/api/token-types-free")
	f("memory-types", "anonymous", "/api/memory-types")
	f("llm-coding-products", "anonymous", "/api/llm-coding/products")

	f("gpu-anonymous", "anonymous", "/api/gpu/H100%20SXM")
	f("gpu-premium", "premium", "/api/gpu/RTX%20PRO%206000%20WS")
	f("gpu-full-region", "full", "/api/gpu/H100%20SXM?region=us-east")
	f("gpu-prices-anonymous", "anonymous", "/api/gpu-prices")
	f("gpu-prices-full-region", "full", "/api/gpu-prices?region=us-east")
	f("gpu-overview-anonymous", "anonymous", "/api/gpu-overview")
	f("gpu-overview-premium-region", "premium", "/api/gpu-overview?region=us-east")
	f("daily-index", "anonymous", "/api/daily-index")
	f("daily-index-date", "premium", "/api/daily-index?gpuType=B200&date=2025-10-25")
	f("day-index", "anonymous", "/api/day-index?gpu=H200")
	f("daily-index-all-anonymous", "anonymous", "/api/daily-index/all")
	f("daily-index-all-full", "full", "/api/daily-index/all?date=2026-01-31")
	f("previous", "anonymous", "/api/daily-index/H100%20SXM/previous")
	f("index-history-anonymous", "anonymous", "/api/gpu/H200/index-history?startDate=2026-01-28&granularity=hourly")
	f("index-history-window", "anonymous", "/api/gpu/H200/index-history")
	f("index-history-premium", "premium", "/api/gpu/H200/index-history?startDate=2025-10-31&endDate=2025-11-04&granularity=auto")
	f("index-history-full-auto", "full", "/api/gpu/H200/index-history?startDate=2026-02-04T06:00:00Z&granularity=auto")
	f("index-history-desc", "full", "/api/gpu/H200/index-history?order=desc&limit=3")
	f("h100-history", "anonymous", "/api/h100-history?endDate=2025-11-06")
	f("history-premium", "premium", "/api/gpu/H200/history?datetime=2026-02-01%2012:00:00")
	f("history-full", "full", "/api/gpu/H200/history?datetime=2026-02-01T12:00:00Z")
	f("history-out-of-range", "full", "/api/gpu/H200/history?datetime=1999-01-01")
	f("history-simple", "premium", "/api/gpu/H200/history-simple?limit=3")
	f("history-range-premium", "premium", "/api/gpu/H200/history-range?startDate=2026-01-19&endDate=2026-01-22&limit=3")
	f("history-range-full", "full", "/api/gpu/H200/history-range?granularity=hourly&startDate=2026-01-20&limit=3")
	f("hourly", "full", "/api/gpu/H200/hourly?startDate=2026-02-04T09:30:00Z")
	f("rolling-24h-average", "full", "/api/gpu/H200/rolling-24h-average")
	f("rolling-24h-average-history", "premium", "/api/gpu/H200/rolling-24h-average/history?startDate=2026-02-01")
	f("realtime", "full", "/api/gpu/H200/realtime?minutes=3")
	f("volatility-premium", "premium", "/api/gpu/H200/volatility?startDate=2025-08-01&endDate=2025-08-05&granularity=hourly")
	f("volatility-full", "full", "/api/gpu/H200/volatility?startDate=2026-02-04T11:00:00Z&endDate=2026-02-04&granularity=hourly&windowDays=24&order=asc")
	f("volume-metrics-premium", "premium", "/api/gpu/H200/volume-metrics?startDate=2026-02-01")
	f("volume-metrics-full", "full", "/api/gpu/H200/volume-metrics?granularity=hourly&limit=3")
	f("volume-metrics-partial", "premium", "/api/gpu/H200/volume-metrics?startDate=2026-02-03&partial=true")
	f("gpu-utilization", "premium", "/api/gpu-utilization")
	f("gpu-utilization-region", "full", "/api/gpu-utilization?region=us-east")
	f("index-history-as-of", "premium", "/api/gpu/H100%20SXM/index-history?region=us-east&startDate=2026-01-28&as_of=2026-02-02")

	f("determination-daily", "premium", "/api/gpu/H100%20SXM/determination?region=us-east&date=2026-01-30")
	f("determination-hourly", "full", "/api/gpu/H200/determination?timestamp=2026-02-01T21:00:00Z")
	f("determination-gone", "premium", "/api/gpu/H100%20SXM/determination?region=us-east&date=2026-01-29")
	f("determination-value", "anonymous", "/api/determinations/otpi?series=openai&date=2026-01-30")
	f("determination-value-gone", "premium", "/api/determinations/llm-coding?series=cc/prs&date=2026-01-30")
	f("corrections-premium", "premium", "/api/corrections")
	f("corrections-family", "premium", "/api/corrections/models")
	f("corrections-full", "full", "/api/corrections?gpuType=H100%20SXM&region=us-east&limit=4")
	f("methodology", "anonymous", "/api/methodology")
	f("notices", "anonymous", "/api/notices?gpuType=H200")
	f("methodology-version", "anonymous", "/api/methodology?version=1.1.0")
	f("memory-index-premium", "premium", "/api/memory-index")
	f("memory-index-full", "full", "/api/memory-index?category=flash")
	f("memory-index-type", "full", "/api/memory-index?type=mem_ddr5_16gb")
	f("memory-history-premium", "premium", "/api/memory/mem_ddr5_16gb/history?startDate=2026-01-28")
	f("memory-history-full", "full", "/api/memory/mem_ddr5_16gb/history?startDate=2026-01-28&as_of=2026-02-02&order=desc&limit=2")
	f("memory-history-anonymous", "anonymous", "/api/memory/mem_ddr5_16gb/history")
	f("llm-coding-index-premium", "premium", "/api/llm-coding/index?product=cc-prs")
	f("llm-coding-index-full", "full", "/api/llm-coding/index?product=cursor-merge")
	f("llm-coding-history-premium", "premium", "/api/llm-coding/history?product=cc-merge&startDate=2026-01-30")
	f("llm-coding-history-full", "full", "/api/llm-coding/history?product=cc-vs-codex&startDate=2026-01-30&order=desc&limit=3")
	f("llm-coding-history-anonymous", "anonymous", "/api/llm-coding/history?product=cc-merge")
	f("publications-latest", "anonymous", "/api/publications/latest")
}

// TestNotShown names what must not be in a response.
func TestNotShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(caller, target string, never ...string) {
		t.Helper()
		got := r.Get(caller, target)
		if got.StatusCode != 200 {
			t.Errorf("%s: %d %s", target, got.StatusCode, got.Text)
		}
		for _, text := range never {
			if strings.Contains(got.Text, text) {
				t.Errorf("%s as %q shows %s", target, caller, text)
			}
		}
	}
	hourly := "T11:00:00.000Z"
	f("", "/api/gpu/H200/index-history?granularity=hourly", hourly, "2025-11-03", `"hourly"`)
	f("premium", "/api/gpu/H200/index-history?granularity=hourly", hourly, `"hourly"`)
	f("premium", "/api/gpu/H200/index-history?granularity=auto&startDate=2026-02-01", hourly, `"hourly"`)
	f("premium", "/api/gpu/H200/history-simple?granularity=hourly&limit=10000", hourly, `"hourly"`)
	f("premium", "/api/gpu/H200/history-range?granularity=hourly&limit=10000", hourly, `"data_type":"hourly"`)
	f("premium", "/api/gpu/H200/history?datetime=2026-02-04T11:00:00Z", `"timestamp":"2026-02-04T11`, `"hourly"`)
	f("premium", "/api/gpu/H200/volatility?startDate=2026-01-01&endDate=2026-02-04&granularity=hourly", hourly, `"hourly"`)
	f("premium", "/api/gpu/H200/volume-metrics?granularity=hourly", `"recorded_at":"2026-02-04T12`, `"hourly"`)
	f("premium", "/api/corrections", `"hourly"`)
	f("premium", "/api/corrections?granularity=hourly", `"hourly"`)
	f("", "/api/publications/latest", `"ops"`)
	f("full", "/api/corrections", `"ops"`)
	f("", "/api/daily-index/all", "RTX PRO 6000 WS")
	f("", "/api/gpu-prices", "RTX PRO 6000 WS")
	f("", "/api/gpu-types-free", "RTX PRO 6000 WS")
	f("full", "/api/gpu-types-free", "RTX PRO 6000 WS")
}

func TestHistory_Edges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(caller, target, want string) {
		t.Helper()
		got := r.Get(caller, target)
		if got.StatusCode != 200 || !strings.Contains(got.Text, want) {
			t.Errorf("%s: %d %.300s\nwant %s", target, got.StatusCode, got.Text, want)
		}
	}
	const empty = `"count":0,"has_more":false,"data":[]}`
	f("", "/api/gpu/H200/index-history?startDate=2030-01-01", empty)
	f("", "/api/gpu/H200/index-history?endDate=2020-01-01", empty)
	f("full", "/api/gpu/H200/hourly?startDate=2020-01-01&endDate=2020-12-31", empty)
	f("premium", "/api/gpu/H200/history-range?startDate=2030-01-01", empty)
	f("premium", "/api/gpu/H200/history-simple?startDate=2030-01-01", empty)
	// The window's first day is open, and a date-only end includes its settlement.
	f("", "/api/gpu/H200/index-history?startDate=2025-11-04&endDate=2025-11-04", `"count":1,"has_more":false,"data":[{"timestamp":"2025-11-04T21:00:00.000Z"`)
	f("premium", "/api/gpu/H200/index-history?startDate=2025-08-05T20:00:00Z&endDate=2025-08-05T20:00:00Z", `"count":1,`)
	f("premium", "/api/gpu/H200/index-history?startDate=2025-08-05T20:00:00.001Z&endDate=2025-08-06T19:59:59Z", empty)
	// The fixing moves with New York's clock.
	f("premium", "/api/gpu/H200/index-history?startDate=2025-11-01&endDate=2025-11-02", `[{"timestamp":"2025-11-01T20:00:00.000Z","index_value":2.2671},{"timestamp":"2025-11-02T21:00:00.000Z","index_value":2.2708}]`)
	// Hourly has seven days unless asked for more; 31 days is the edge of auto.
	f("full", "/api/gpu/H200/hourly", `"count":168,"has_more":false,"data":[{"timestamp":"2026-01-28T13:00:00.000Z"`)
	f("full", "/api/gpu/H200/index-history?granularity=auto&startDate=2026-01-01T00:00:00Z&endDate=2026-02-01T00:00:00Z", `"granularity":"hourly"`)
	f("full", "/api/gpu/H200/index-history?granularity=auto&startDate=2025-12-31T23:59:59Z&endDate=2026-02-01T00:00:00Z", `"granularity":"daily"`)
	f("full", "/api/gpu/H200/index-history?granularity=auto", `"granularity":"daily"`)
	f("full", "/api/gpu/H200/index-history?granularity=hourly&limit=2", `"count":2,"has_more":true`)
	f("full", "/api/gpu/H200/hourly?order=desc&limit=1", `[{"timestamp":"2026-02-04T12:00:00.000Z"`)
	f("premium", "/api/gpu/H200/history-simple?order=asc&limit=1", `[{"timestamp":"2025-08-01T20:00:00.000Z"`)
	// A tie goes to the earlier record.
	f("full", "/api/gpu/H200/history?datetime=2026-02-01T12:30:00Z", `"time_difference":1800,"is_exact":false,"data":{"gpu_type":"H200","region":"global","timestamp":"2026-02-01T12:00:00.000Z"`)
	f("full", "/api/gpu/H200/history?datetime=2026-02-01T14:00:00.001+01:00", `"time_difference":0.001,"is_exact":false`)
	f("full", "/api/gpu/H200/history?datetime=9999-12-31T23:59:59Z", `"timestamp":"2026-02-04T12:00:00.000Z"`)
	// Empty counts as absent, unknown is ignored, the spellings of global are one.
	f("", "/api/gpu/H200/index-history?startDate=&limit=&foo=bar&region=", `"region":"global"`)
	f("", "/api/gpu/H200/index-history?region=global", `"region":"global"`)
	f("", "/api/gpu/H200?region=global", `"region":""`)
	f("", "/api/daily-index?gpu=H200&gpuType=H200", `"H200"`)
	f("", "/api/daily-index?date=2026-02-01T03:00:00Z", `"date":"2026-02-01T21:00:00.000Z"`)
}
