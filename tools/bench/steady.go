package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// All routes are requested together at a steady rate that does not wait for responses. The time of a request counts
// from when it was due, so a late response makes those behind it late too, as it would for their callers.
const (
	steadyRate    = 2000 // requests a second, over all routes
	steadyWorkers = 64   // requests at a time; more would mean that the server is far behind
	steadyLimit   = 5 * time.Millisecond
)

// steadyPaths is the request for each route: as a reader of the demo would send it, with a Full key where one is
// needed, and with a session where only that will do.
func steadyPaths(now time.Time) map[string]string {
	const gpu = "/api/gpu/H100%20SXM"
	day := func(years, months, days int) string {
		return now.UTC().AddDate(years, months, days).Format(time.DateOnly)
	}
	quarter := "startDate=" + day(0, 0, -89)
	week := "startDate=" + day(0, 0, -6)
	return map[string]string{
		"/health":                                        "/health",
		"/livez":                                         "/livez",
		"/readyz":                                        "/readyz",
		"/openapi.json":                                  "/openapi.json",
		"/openapi.yaml":                                  "/openapi.yaml",
		"/api/gpu-types":                                 "/api/gpu-types",
		"/api/gpu-types-free":                            "/api/gpu-types-free",
		"/api/regions":                                   "/api/regions",
		"/api/token-types":                               "/api/token-types",
		"/api/token-types-free":                          "/api/token-types-free",
		"/api/memory-types":                              "/api/memory-types",
		"/api/llm-coding/products":                       "/api/llm-coding/products",
		"/api/methodology":                               "/api/methodology",
		"/api/notices":                                   "/api/notices",
		"/api/publications/latest":                       "/api/publications/latest",
		"/api/gpu/{gpuName}":                             gpu,
		"/api/gpu-prices":                                "/api/gpu-prices",
		"/api/gpu-overview":                              "/api/gpu-overview",
		"/api/daily-index":                               "/api/daily-index?gpu=H200",
		"/api/day-index":                                 "/api/day-index",
		"/api/daily-index/all":                           "/api/daily-index/all",
		"/api/daily-index/{gpuName}/previous":            "/api/daily-index/B200/previous",
		"/api/gpu/{gpuName}/index-history":               gpu + "/index-history?" + quarter,
		"/api/h100-history":                              "/api/h100-history",
		"/api/gpu/{gpuName}/history":                     gpu + "/history?datetime=" + day(0, -2, 0),
		"/api/gpu/{gpuName}/history-simple":              gpu + "/history-simple",
		"/api/gpu/{gpuName}/history-range":               gpu + "/history-range?" + quarter,
		"/api/gpu/{gpuName}/hourly":                      gpu + "/hourly",
		"/api/gpu/{gpuName}/realtime":                    gpu + "/realtime",
		"/api/gpu/{gpuName}/rolling-24h-average":         gpu + "/rolling-24h-average",
		"/api/gpu/{gpuName}/rolling-24h-average/history": gpu + "/rolling-24h-average/history?" + quarter,
		"/api/gpu/{gpuName}/volatility":                  gpu + "/volatility?" + quarter + "&endDate=" + day(0, 0, 0),
		"/api/gpu/{gpuName}/volume-metrics":              gpu + "/volume-metrics?" + quarter,
		"/api/gpu-utilization":                           "/api/gpu-utilization",
		recordRoute:                                      gpu + "/determination?date=" + day(0, 0, -3),
		bulkRoute:                                        "/api/bulk?dataset=gpu-daily",
		"/api/corrections":                               "/api/corrections",
		"/api/corrections/{family}":                      "/api/corrections/models",
		"/api/memory-index":                              "/api/memory-index",
		"/api/memory/{memoryType}/history":               "/api/memory/mem_ddr5_16gb/history?" + quarter,
		"/api/otpi":                                      "/api/otpi?" + week,
		"/api/workload":                                  "/api/workload?lab=anthropic&" + quarter,
		"/api/llm-coding/index":                          "/api/llm-coding/index?product=cc-prs",
		"/api/llm-coding/history":                        "/api/llm-coding/history?product=cc-vs-codex&" + quarter,
		"/api/neocloud/sites":                            "/api/neocloud/sites?lat=48.86&lng=2.35&radius_km=300",
		"/api/neocloud/sites/aggregate":                  "/api/neocloud/sites/aggregate",
		"/api/neocloud/map":                              "/api/neocloud/map",
		"/log/checkpoint":                                "/log/checkpoint",
		"/log/vkey":                                      "/log/vkey",
		"/log/keys":                                      "/log/keys",
		"/log/tile/{path}":                               "/log/tile/entries/000",
		"/api/log/consistency":                           "/api/log/consistency?from=1000&to=100000",
		"/llms.txt":                                      "/llms.txt",
		"/llms-full.txt":                                 "/llms-full.txt",
		"/docs/{page}":                                   "/docs/api.md",
		"/embed/gpu/{gpuName}":                           "/embed/gpu/H100%20SXM",
		"/embed/picture":                                 "/embed/picture",
		"/embed/picture/{gpuName}":                       "/embed/picture/H100%20SXM",
		"/api/session":                                   "/api/session",
		"/api/usage":                                     "/api/usage",
		keysRoute:                                        keysRoute,
	}
}

const onePage = "only signed-in people use it, one page at a time"

// notSteady are the routes that are left out, and why.
var notSteady = map[string]string{
	"/api/determinations/{index}":   "the methodology of the demo lets no family settle, so there are no such records",
	"/log/anchors":                  "the demo has no authority for timestamps",
	"/api/stream":                   "a response of it does not end",
	"/api/account":                  onePage,
	"/api/account/sessions":         onePage,
	"/api/account/second-factors":   onePage,
	"/api/alerts":                   onePage,
	"/api/webhooks":                 onePage,
	"/api/webhooks/{id}/deliveries": onePage,
	"/api/share-links":              onePage,
	"/api/watchlist":                onePage,
	"/api/views":                    onePage,
	"/s/{file}":                     "a link belongs to an account, and its rows are those of other routes",
	"/oembed":                       "it takes the address of the server itself, which differs from run to run",
	"/api/session/oidc":             "the demo has no provider to sign in through",
	"/api/session/oidc/callback":    "the demo has no provider to sign in through",
}

// steadyRoute is one route under the steady load.
type steadyRoute struct {
	route    string
	scenario scenario
	took     []time.Duration // in the order of the requests; by index, so that workers need no lock
	sample   sample
}

// steadyRoutes returns a request for every route that the server describes.
func (a *assayServer) steadyRoutes(ctx context.Context, now time.Time) (routes []*steadyRoute, err error) {
	text, err := fetch(ctx, a.base, scenario{path: "/openapi.json"})
	if err != nil {
		return nil, err
	}
	var description struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(text, &description); err != nil {
		return nil, fmt.Errorf("parse /openapi.json: %w", err)
	}
	paths := steadyPaths(now)
	session := ""
	if description.Paths[keysRoute]["get"] != nil {
		if session, err = a.signIn(ctx); err != nil {
			return nil, err
		}
	}
	for route, methods := range description.Paths {
		if methods["get"] == nil || notSteady[route] != "" {
			continue
		}
		path := paths[route]
		if route == inclusionRoute {
			if path, err = a.inclusionPath(ctx, paths[recordRoute]); err != nil {
				return nil, err
			}
		}
		if route == bulkFileRoute {
			if path, err = a.bulkFilePath(ctx, paths[bulkRoute]); err != nil {
				return nil, err
			}
		}
		if path == "" {
			return nil, fmt.Errorf("steadyPaths has no request for %s", route)
		}
		s := scenario{name: route, path: path, key: a.keys.Full}
		if route == keysRoute {
			s.key, s.session = "", session
		}
		routes = append(routes, &steadyRoute{route: route, scenario: s})
	}
	slices.SortFunc(routes, func(a, b *steadyRoute) int { return strings.Compare(a.route, b.route) })
	for _, r := range routes { // each must work at all, and is requested once before it is timed
		if _, err := fetch(ctx, a.base, r.scenario); err != nil {
			return nil, err
		}
	}
	return routes, nil
}

const (
	keysRoute      = "/api/keys"
	recordRoute    = "/api/gpu/{gpuName}/determination"
	inclusionRoute = "/api/log/inclusion"
	bulkRoute      = "/api/bulk"
	bulkFileRoute  = "/api/bulk/{dataset}/{file}"
)

// bulkFilePath requests the newest file of a list.
func (a *assayServer) bulkFilePath(ctx context.Context, list string) (string, error) {
	text, err := fetch(ctx, a.base, scenario{path: list, key: a.keys.Full})
	if err != nil {
		return "", err
	}
	var found struct{ Data []struct{ URL string } }
	if err := json.Unmarshal(text, &found); err != nil {
		return "", err
	}
	if len(found.Data) == 0 {
		return "", fmt.Errorf("%s lists no file", list)
	}
	return found.Data[len(found.Data)-1].URL, nil
}

// inclusionPath requests the proof of a record.
func (a *assayServer) inclusionPath(ctx context.Context, record string) (string, error) {
	text, err := fetch(ctx, a.base, scenario{path: record, key: a.keys.Full})
	if err != nil {
		return "", err
	}
	var found struct{ Data struct{ Hash string } }
	err = json.Unmarshal(text, &found)
	return inclusionRoute + "?record=" + found.Data.Hash, err
}

// measureSteady requests all routes for a while.
func (a *assayServer) measureSteady(ctx context.Context, d time.Duration, now time.Time) ([]*steadyRoute, error) {
	routes, err := a.steadyRoutes(ctx, now)
	if err != nil {
		return nil, err
	}
	return routes, a.requestSteadily(ctx, d, routes)
}

// requestSteadily requests routes in turn for a while.
func (a *assayServer) requestSteadily(ctx context.Context, d time.Duration, routes []*steadyRoute) error {
	each := int(d.Seconds()) * steadyRate / len(routes)
	for _, r := range routes {
		r.took = make([]time.Duration, each)
	}
	client := &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: steadyWorkers, DisableCompression: true},
	}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, steadyWorkers)
	begun := time.Now().Add(100 * time.Millisecond)
	for worker := range steadyWorkers {
		wg.Go(func() {
			for errs[worker] == nil && ctx.Err() == nil {
				n := int(next.Add(1) - 1)
				if n >= each*len(routes) {
					return
				}
				due := begun.Add(time.Duration(n) * time.Second / steadyRate)
				time.Sleep(time.Until(due))
				r := routes[n%len(routes)]
				errs[worker] = get(ctx, client, a.base, r.scenario, n)
				r.took[n/len(routes)] = time.Since(due)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return a.Explain(err)
	}
	for _, r := range routes {
		r.sample = sampleOf(r.took, d)
	}
	return nil
}

// sampleOf sums up how long requests took that were sent in a time.
func sampleOf(took []time.Duration, d time.Duration) sample {
	slices.Sort(took)
	n := len(took)
	return sample{rate: float64(n) / d.Seconds(), p50: took[n/2], p99: took[n*99/100]}
}

// get sends one request and reads the response to its end. Requests come from many addresses, so that none reaches
// its limit.
func get(ctx context.Context, client *http.Client, base string, s scenario, n int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+s.path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", n>>16&127, n>>8&255, n&255))
	for _, h := range s.headers() {
		req.Header.Set(h.name, h.value)
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return fmt.Errorf("GET %s: %w", s.path, err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", s.path, res.Status)
	}
	return nil
}

// slowest is the route with the largest p99.
func slowest(routes []*steadyRoute) *steadyRoute {
	return slices.MaxFunc(routes, func(a, b *steadyRoute) int { return int(a.sample.p99 - b.sample.p99) })
}

// steadyTable shows the routes, in cells.
func steadyTable(routes []*steadyRoute) [][]string {
	rows := [][]string{{fmt.Sprintf("route, all together at %s req/s", thousands(steadyRate)), "p50", "p99"}}
	for _, r := range routes {
		rows = append(rows, []string{"`" + r.scenario.path + "`", millis(r.sample.p50), millis(r.sample.p99)})
	}
	return rows
}
