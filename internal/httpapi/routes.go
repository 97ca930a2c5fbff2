package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
)

// route is one row of the API: what limits it, who may call it, what serves it.
type route struct {
	method string
	path   string
	limit  limitClass
	rule   access.Rule
	serve  func(*call) (answer, error)
}

// The methods of routes. What takes GET takes HEAD too, and every path takes OPTIONS.
const (
	get  = http.MethodGet
	post = http.MethodPost
	put  = http.MethodPut
	del  = http.MethodDelete
)

// limitClass says which limiter a route is under.
type limitClass uint8

const (
	unlimited     limitClass = iota
	publicLimiter            // by client address, before authentication
	keyLimiter               // by key, after authentication
)

// routes is what programs read, from whatever origin.
var routes = []route{
	{get, healthPath, unlimited, access.Public, health},
	{get, "/openapi.json", unlimited, access.Public, openAPIJSON},
	{get, "/openapi.yaml", unlimited, access.Public, openAPIYAML},

	{get, "/api/gpu-types", publicLimiter, access.Public, gpuTypes},
	{get, "/api/gpu-types-free", publicLimiter, access.Public, gpuTypesFree},
	{get, "/api/regions", publicLimiter, access.Public, regions},
	{get, "/api/token-types", publicLimiter, access.Public, tokenTypes},
	{get, "/api/token-types-free", publicLimiter, access.Public, tokenTypesFree},
	{get, "/api/memory-types", publicLimiter, access.Public, memoryTypes},
	{get, "/api/llm-coding/products", publicLimiter, access.Public, codingProducts},
	{get, "/api/methodology", publicLimiter, access.Public, methodology},
	{get, "/api/publications/latest", publicLimiter, access.Public, latestPublication},

	{get, "/api/gpu/{gpuName}", publicLimiter, access.FreeGPU, currentPrice},
	{get, "/api/daily-index", publicLimiter, access.FreeGPU, dailyIndex},
	{get, "/api/day-index", publicLimiter, access.FreeGPU, dayIndex},
	{get, "/api/daily-index/all", publicLimiter, access.FreeGPU, dailyIndexAll},
	{get, "/api/daily-index/{gpuName}/previous", publicLimiter, access.FreeGPU, dailyIndexPrevious},
	{get, "/api/gpu/{gpuName}/index-history", publicLimiter, access.FreeGPU, indexHistory},
	{get, "/api/h100-history", publicLimiter, access.FreeGPU, h100History},

	{get, "/api/gpu/{gpuName}/history", keyLimiter, access.Keyed, nearest},
	{get, "/api/gpu/{gpuName}/history-simple", keyLimiter, access.Keyed, historySimple},
	{get, "/api/gpu/{gpuName}/history-range", keyLimiter, access.Keyed, historyRange},
	{get, "/api/gpu/{gpuName}/hourly", keyLimiter, access.FullGrain, hourly},
	{get, "/api/gpu/{gpuName}/realtime", keyLimiter, access.FullGrain, realtime},
	{get, "/api/gpu/{gpuName}/rolling-24h-average", keyLimiter, access.FullGrain, rollingAverage},
	{get, "/api/gpu/{gpuName}/rolling-24h-average/history", keyLimiter, access.Keyed, rollingAverageHistory},
	{get, "/api/gpu/{gpuName}/volatility", keyLimiter, access.Keyed, volatility},
	{get, "/api/gpu/{gpuName}/volume-metrics", keyLimiter, access.Keyed, volumeMetrics},
	{get, "/api/gpu-utilization", keyLimiter, access.Keyed, gpuUtilization},
	{get, "/api/gpu/{gpuName}/determination", keyLimiter, access.Keyed, determination},
	{get, "/api/corrections", keyLimiter, access.Keyed, corrections},

	{get, "/api/memory-index", keyLimiter, access.Keyed, memoryIndex},
	{get, "/api/memory/{memoryType}/history", keyLimiter, access.Keyed, memoryHistory},
	{get, "/api/llm-coding/index", keyLimiter, access.Keyed, codingIndex},
	{get, "/api/llm-coding/history", keyLimiter, access.Keyed, codingHistory},
	{get, "/api/otpi", publicLimiter, access.FreeLab, otpi},
	{get, "/api/workload", keyLimiter, access.Keyed, workload},
	{get, "/api/neocloud/sites", keyLimiter, access.FullSites, neocloudSites},
	{get, "/api/neocloud/sites/aggregate", keyLimiter, access.FullSites, sitesAggregate},
	{get, "/api/neocloud/map", keyLimiter, access.FullSites, sitesMap},
}

// ownRoutes is what our own pages ask for: accounts, sessions and keys. No other origin may, and nothing is cached.
var ownRoutes = []route{
	{get, "/api/session", unlimited, access.Public, showSession},
	{post, "/api/session", unlimited, access.Public, signIn},
	{del, "/api/session", unlimited, access.Public, signOut},
	{get, ticketPath, publicLimiter, access.Public, oidcBegin},
	{get, OIDCCallback, publicLimiter, access.Public, oidcCallback},

	{get, "/api/account", keyLimiter, access.SignedIn, showAccount},
	{put, "/api/account/password", keyLimiter, access.SignedIn, changePassword},
	{get, "/api/keys", keyLimiter, access.SignedIn, listKeys},
	{post, "/api/create-api-key", keyLimiter, access.SignedIn, createKey},
	{del, "/api/keys/{id}", keyLimiter, access.SignedIn, revokeKey},
	{post, "/api/keys/{id}/rotate", keyLimiter, access.SignedIn, rotateKey},
	{get, "/api/usage", keyLimiter, access.SignedInOrKey, showUsage},
}

// resource is a path with all of its routes.
type resource struct {
	routes []route
	allow  string // the header Allow
	takes  string // the same in a sentence
	own    bool   // for our own pages: no other origin may ask, and nothing is cached
}

// resources puts the routes of a table together by path, in the table's order.
func resources(table []route, own bool) (list []*resource) {
	byPath := map[string]*resource{}
	for _, r := range table {
		found := byPath[r.path]
		if found == nil {
			found = &resource{own: own}
			byPath[r.path] = found
			list = append(list, found)
		}
		found.routes = append(found.routes, r)
	}
	for _, r := range list {
		methods := r.methods()
		r.allow, r.takes = strings.Join(append(methods, http.MethodOptions), ", "), sentence(methods, "and")
	}
	return list
}

func (r *resource) methods() (methods []string) {
	for _, route := range r.routes {
		methods = append(methods, route.method)
		if route.method == get {
			methods = append(methods, http.MethodHead)
		}
	}
	return methods
}

// route finds the route of a method. What no route takes belongs to the first one, for the limiter and the log.
func (r *resource) route(method string) (found *route, ok bool) {
	if method == http.MethodHead {
		method = get
	}
	for i := range r.routes {
		if r.routes[i].method == method {
			return &r.routes[i], true
		}
	}
	return &r.routes[0], false
}

// wrongMethod is the refusal of a method, for a path that takes others.
func wrongMethod(takes, given string) error {
	return &assay.Error{Kind: assay.MethodNotAllowed, Code: "method_not_allowed", Message: fmt.Sprintf("This path takes %s, not %s.", takes, shorten(given))}
}
