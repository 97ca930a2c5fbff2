package httpapi

import "github.com/assaydata/assay/internal/access"

// route is one row of the API: what limits it, who may call it, what serves it.
type route struct {
	path  string
	limit limitClass
	rule  access.Rule
	serve func(*call) (answer, error)
}

// limitClass says which limiter a route is under.
type limitClass uint8

const (
	unlimited     limitClass = iota
	publicLimiter            // by client address, before authentication
	keyLimiter               // by key, after authentication
)

// routes is the whole API. Every route takes GET and HEAD.
var routes = []route{
	{"/health", unlimited, access.Public, health},
	{"/openapi.json", unlimited, access.Public, openAPIJSON},
	{"/openapi.yaml", unlimited, access.Public, openAPIYAML},

	{"/api/gpu-types", publicLimiter, access.Public, gpuTypes},
	{"/api/gpu-types-free", publicLimiter, access.Public, gpuTypesFree},
	{"/api/token-types", publicLimiter, access.Public, tokenTypes},
	{"/api/token-types-free", publicLimiter, access.Public, tokenTypesFree},
	{"/api/memory-types", publicLimiter, access.Public, memoryTypes},
	{"/api/llm-coding/products", publicLimiter, access.Public, codingProducts},
	{"/api/methodology", publicLimiter, access.Public, methodology},
	{"/api/publications/latest", publicLimiter, access.Public, latestPublication},

	{"/api/gpu/{gpuName}", publicLimiter, access.FreeGPU, currentPrice},
	{"/api/daily-index", publicLimiter, access.FreeGPU, dailyIndex},
	{"/api/day-index", publicLimiter, access.FreeGPU, dayIndex},
	{"/api/daily-index/all", publicLimiter, access.FreeGPU, dailyIndexAll},
	{"/api/daily-index/{gpuName}/previous", publicLimiter, access.FreeGPU, dailyIndexPrevious},
	{"/api/gpu/{gpuName}/index-history", publicLimiter, access.FreeGPU, indexHistory},
	{"/api/h100-history", publicLimiter, access.FreeGPU, h100History},

	{"/api/gpu/{gpuName}/history", keyLimiter, access.Keyed, nearest},
	{"/api/gpu/{gpuName}/history-simple", keyLimiter, access.Keyed, historySimple},
	{"/api/gpu/{gpuName}/history-range", keyLimiter, access.Keyed, historyRange},
	{"/api/gpu/{gpuName}/hourly", keyLimiter, access.FullGrain, hourly},
	{"/api/gpu/{gpuName}/realtime", keyLimiter, access.FullGrain, realtime},
	{"/api/gpu/{gpuName}/rolling-24h-average", keyLimiter, access.FullGrain, rollingAverage},
	{"/api/gpu/{gpuName}/rolling-24h-average/history", keyLimiter, access.Keyed, rollingAverageHistory},
	{"/api/gpu/{gpuName}/volatility", keyLimiter, access.Keyed, volatility},
	{"/api/gpu/{gpuName}/volume-metrics", keyLimiter, access.Keyed, volumeMetrics},
	{"/api/gpu-utilization", keyLimiter, access.Keyed, gpuUtilization},
	{"/api/gpu/{gpuName}/determination", keyLimiter, access.Keyed, determination},
	{"/api/corrections", keyLimiter, access.Keyed, corrections},

	{"/api/memory-index", keyLimiter, access.Keyed, memoryIndex},
	{"/api/memory/{memoryType}/history", keyLimiter, access.Keyed, memoryHistory},
	{"/api/llm-coding/index", keyLimiter, access.Keyed, codingIndex},
	{"/api/llm-coding/history", keyLimiter, access.Keyed, codingHistory},
	{"/api/otpi", publicLimiter, access.FreeLab, otpi},
	{"/api/workload", keyLimiter, access.Keyed, workload},
	{"/api/neocloud/sites", keyLimiter, access.FullSites, neocloudSites},
	{"/api/neocloud/sites/aggregate", keyLimiter, access.FullSites, sitesAggregate},
	{"/api/neocloud/map", keyLimiter, access.FullSites, sitesMap},
}
