package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/client"
	"github.com/assaydata/assay/internal/apitest"
)

// routeCall is a method of the client, and the request that it must send. A route may have several.
type routeCall struct {
	target string
	call   func(context.Context, *client.Client) (any, error)
	params client.Params // of the method; nil if it takes none
}

// of makes a call whose result may be any response.
func of[T any](f func(context.Context, *client.Client) (*T, error)) func(context.Context, *client.Client) (any, error) {
	return func(ctx context.Context, c *client.Client) (any, error) { return f(ctx, c) }
}

// routeCalls has every method.
func routeCalls() []routeCall {
	type ctx = context.Context
	type cl = *client.Client
	const h200 = "/api/gpu/H200/"
	return []routeCall{
		{"/health", of(func(ctx ctx, c cl) (*client.Health, error) { return c.Health(ctx) }), nil},
		{"/api/gpu-types", of(func(ctx ctx, c cl) (*client.List[client.GPUType], error) { return c.GPUTypes(ctx) }), nil},
		{"/api/gpu-types-free", of(func(ctx ctx, c cl) (*client.List[client.GPUType], error) { return c.FreeGPUTypes(ctx) }), nil},
		{"/api/regions", of(func(ctx ctx, c cl) (*client.List[client.Region], error) { return c.Regions(ctx) }), nil},
		{"/api/token-types", of(func(ctx ctx, c cl) (*client.List[client.TokenType], error) { return c.TokenTypes(ctx) }), nil},
		{"/api/token-types-free", of(func(ctx ctx, c cl) (*client.List[client.TokenType], error) { return c.FreeTokenTypes(ctx) }), nil},
		{"/api/memory-types", of(func(ctx ctx, c cl) (*client.List[assay.MemoryType], error) { return c.MemoryTypes(ctx) }), nil},
		{"/api/llm-coding/products", of(func(ctx ctx, c cl) (*client.List[client.CodingProduct], error) { return c.CodingProducts(ctx) }), nil},
		{"/api/gpu/H100%20SXM?as_of=2026-02-02&region=us-east", of(func(ctx ctx, c cl) (*client.One[client.Price], error) {
			return c.GPUPrice(ctx, "H100 SXM", &client.GPUParams{Region: "us-east", AsOf: "2026-02-02"})
		}), &client.GPUParams{}},
		{"/api/gpu-prices", of(func(ctx ctx, c cl) (*client.List[client.Price], error) { return c.GPUPrices(ctx, nil) }), &client.GPUParams{}},
		{"/api/daily-index?date=2025-10-25&gpuType=B200", of(func(ctx ctx, c cl) (*client.One[client.DailyValue], error) {
			return c.DailyIndex(ctx, &client.DailyIndexParams{GPUType: "B200", Date: "2025-10-25"})
		}), &client.DailyIndexParams{}},
		{"/api/daily-index/all?date=2026-01-31", of(func(ctx ctx, c cl) (*client.DailyIndexAll, error) {
			return c.DailyIndexAll(ctx, &client.DailyIndexAllParams{Date: "2026-01-31"})
		}), &client.DailyIndexAllParams{}},
		{"/api/daily-index/H200/previous", of(func(ctx ctx, c cl) (*client.PreviousDailyIndex, error) {
			return c.PreviousDailyIndex(ctx, "H200", nil)
		}), &client.GPUParams{}},
		{h200 + "index-history?endDate=2026-02-01&granularity=hourly&limit=3&order=desc&startDate=2026-01-30", of(func(ctx ctx, c cl) (*client.Series[client.Point], error) {
			return c.IndexHistory(ctx, "H200", &client.HistoryParams{
				StartDate: "2026-01-30", EndDate: "2026-02-01", Granularity: "hourly", Order: "desc", Limit: 3,
			})
		}), &client.HistoryParams{}},
		{"/api/h100-history", of(func(ctx ctx, c cl) (*client.Series[client.Point], error) { return c.H100History(ctx, nil) }), &client.HistoryParams{}},
		{h200 + "history?datetime=0001-01-01", of(func(ctx ctx, c cl) (*client.NearestValue, error) {
			return c.NearestValue(ctx, "H200", &client.NearestValueParams{DateTime: "0001-01-01"})
		}), &client.NearestValueParams{}},
		{h200 + "history-simple", of(func(ctx ctx, c cl) (*client.Series[client.Point], error) { return c.HistorySimple(ctx, "H200", nil) }), &client.HistoryParams{}},
		{h200 + "history-range?endDate=2026-01-22&limit=5&startDate=2026-01-02", of(func(ctx ctx, c cl) (*client.HistoryRange, error) {
			return c.HistoryRange(ctx, "H200", &client.HistoryParams{StartDate: "2026-01-02", EndDate: "2026-01-22", Limit: 5})
		}), &client.HistoryParams{}},
		{h200 + "hourly", of(func(ctx ctx, c cl) (*client.Series[client.Point], error) { return c.HourlyHistory(ctx, "H200", nil) }), &client.SeriesParams{}},
		{h200 + "realtime?minutes=5", of(func(ctx ctx, c cl) (*client.Realtime, error) {
			return c.Realtime(ctx, "H200", &client.RealtimeParams{Minutes: 5})
		}), &client.RealtimeParams{}},
		{h200 + "rolling-24h-average", of(func(ctx ctx, c cl) (*client.One[client.RollingAverage], error) {
			return c.RollingAverage(ctx, "H200", nil)
		}), &client.GPUParams{}},
		{h200 + "rolling-24h-average/history", of(func(ctx ctx, c cl) (*client.Series[client.RollingAverage], error) {
			return c.RollingAverageHistory(ctx, "H200", nil)
		}), &client.SeriesParams{}},
		{h200 + "volatility?endDate=2025-08-05&startDate=2025-08-01&windowDays=10", of(func(ctx ctx, c cl) (*client.Series[client.VolatilityRow], error) {
			return c.Volatility(ctx, "H200", &client.VolatilityParams{StartDate: "2025-08-01", EndDate: "2025-08-05", WindowDays: 10})
		}), &client.VolatilityParams{}},
		{h200 + "volume-metrics?partial=true&startDate=2026-02-03", of(func(ctx ctx, c cl) (*client.Series[client.VolumeMetricsRow], error) {
			return c.VolumeMetrics(ctx, "H200", &client.VolumeMetricsParams{StartDate: "2026-02-03", Partial: true})
		}), &client.VolumeMetricsParams{}},
		{"/api/gpu-utilization", of(func(ctx ctx, c cl) (*client.List[client.Utilization], error) { return c.GPUUtilization(ctx, nil) }), &client.GPUParams{}},
		{"/api/memory-index", of(func(ctx ctx, c cl) (*client.MemoryIndex, error) { return c.MemoryIndex(ctx, nil) }), &client.MemoryIndexParams{}},
		{"/api/memory/DDR5%2016Gb%20%282Gx8%29%204800%2F5600/history?limit=2", of(func(ctx ctx, c cl) (*client.MemoryHistory, error) {
			return c.MemoryHistory(ctx, "DDR5 16Gb (2Gx8) 4800/5600", &client.MemoryHistoryParams{Limit: 2})
		}), &client.MemoryHistoryParams{}},
		{"/api/llm-coding/index?product=cc-prs", of(func(ctx ctx, c cl) (*client.One[client.CodingValue], error) {
			return c.CodingIndex(ctx, &client.CodingIndexParams{Product: "cc-prs"})
		}), &client.CodingIndexParams{}},
		{"/api/llm-coding/history?product=cc-vs-codex", of(func(ctx ctx, c cl) (*client.CodingHistory, error) {
			return c.CodingHistory(ctx, &client.CodingHistoryParams{Product: "cc-vs-codex"})
		}), &client.CodingHistoryParams{}},
		{"/api/llm-coding/history?limit=2&product=cc-prs", of(func(ctx ctx, c cl) (*client.CodingHistory, error) {
			return c.CodingHistory(ctx, &client.CodingHistoryParams{Product: "cc-prs", Limit: 2})
		}), &client.CodingHistoryParams{}},
		{"/api/otpi", of(func(ctx ctx, c cl) (*client.TokenPrices, error) { return c.OTPI(ctx, nil) }), &client.OTPIParams{}},
		{"/api/otpi?lab=openai&limit=2&offset=1&startDate=2026-01-20", of(func(ctx ctx, c cl) (*client.TokenPrices, error) {
			return c.OTPI(ctx, &client.OTPIParams{Lab: "openai", StartDate: "2026-01-20", Limit: 2, Offset: 1})
		}), &client.OTPIParams{}},
		{"/api/workload?lab=anthropic&limit=3&windowDays=1", of(func(ctx ctx, c cl) (*client.Workload, error) {
			return c.Workload(ctx, &client.WorkloadParams{Lab: "anthropic", WindowDays: 1, Limit: 3})
		}), &client.WorkloadParams{}},
		{"/api/workload", of(func(ctx ctx, c cl) (*client.Workload, error) { return c.Workload(ctx, nil) }), &client.WorkloadParams{}},
		{"/api/gpu/H100%20SXM/determination?date=2026-01-30&region=us-east&revision=0", of(func(ctx ctx, c cl) (*client.Determination, error) {
			return c.Determination(ctx, "H100 SXM", &client.DeterminationParams{Date: "2026-01-30", Revision: new(0), Region: "us-east"})
		}), &client.DeterminationParams{}},
		{"/api/gpu/H100%20SXM/determination?date=2026-01-29&region=us-east", of(func(ctx ctx, c cl) (*client.Determination, error) {
			return c.Determination(ctx, "H100 SXM", &client.DeterminationParams{Date: "2026-01-29", Region: "us-east"})
		}), &client.DeterminationParams{}},
		{"/api/determinations/otpi?date=2026-01-30&series=openai", of(func(ctx ctx, c cl) (*client.ValueDetermination, error) {
			return c.ValueDetermination(ctx, "otpi", &client.ValueDeterminationParams{Series: "openai", Date: "2026-01-30"})
		}), &client.ValueDeterminationParams{}},
		{"/api/determinations/llm-coding?date=2026-01-30&series=cc%2Fprs", of(func(ctx ctx, c cl) (*client.ValueDetermination, error) {
			return c.ValueDetermination(ctx, "llm-coding", &client.ValueDeterminationParams{Series: "cc/prs", Date: "2026-01-30"})
		}), &client.ValueDeterminationParams{}},
		{"/api/corrections?gpuType=H100+SXM&limit=4", of(func(ctx ctx, c cl) (*client.Corrections[client.Correction], error) {
			return c.Corrections(ctx, &client.CorrectionsParams{GPUType: "H100 SXM", Limit: 4})
		}), &client.CorrectionsParams{}},
		{"/api/corrections/coding", of(func(ctx ctx, c cl) (*client.Corrections[client.FamilyCorrection], error) {
			return c.FamilyCorrections(ctx, "coding", nil)
		}), &client.FamilyCorrectionsParams{}},
		{"/api/bulk?dataset=gpu-hourly", of(func(ctx ctx, c cl) (*client.BulkFiles, error) {
			return c.Bulk(ctx, &client.BulkParams{Dataset: "gpu-hourly"})
		}), &client.BulkParams{}},
		{"/api/methodology?version=1.1.0", of(func(ctx ctx, c cl) (*client.Methodologies, error) {
			return c.Methodology(ctx, &client.MethodologyParams{Version: "1.1.0"})
		}), &client.MethodologyParams{}},
		{"/api/notices", of(func(ctx ctx, c cl) (*client.Notices, error) { return c.Notices(ctx, nil) }), &client.NoticesParams{}},
		{"/api/publications/latest", of(func(ctx ctx, c cl) (*client.LatestPublication, error) { return c.LatestPublication(ctx, nil) }), &client.AsOfParams{}},
		{"/api/neocloud/sites?lat=59.9139&lng=10.7522&radius_km=0.5&scope=all", of(func(ctx ctx, c cl) (*client.Sites, error) {
			return c.Sites(ctx, &client.SitesParams{Lat: new(59.9139), Lng: new(10.7522), RadiusKm: 0.5, Scope: "all"})
		}), &client.SitesParams{}},
		{"/api/neocloud/sites?country=no&limit=1", of(func(ctx ctx, c cl) (*client.Sites, error) {
			return c.Sites(ctx, &client.SitesParams{Country: "no", Limit: 1})
		}), &client.SitesParams{}},
		{"/api/neocloud/sites/aggregate?by=gpu_type", of(func(ctx ctx, c cl) (*client.SitesAggregate, error) {
			return c.SitesAggregate(ctx, &client.SitesAggregateParams{By: "gpu_type"})
		}), &client.SitesAggregateParams{}},
		{"/api/neocloud/map?scope=all", of(func(ctx ctx, c cl) (*client.SitesMap, error) {
			return c.SitesMap(ctx, &client.SitesMapParams{Scope: "all"})
		}), &client.SitesMapParams{}},
	}
}

// recorder notes what a client requests.
type recorder struct {
	addresses

	target string
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	r.target = request.URL.RequestURI()
	return r.addresses.RoundTrip(request)
}

// Each method requests its route, and what it returns is what the server has sent: encoded again, it is the same JSON.
// So no field is missing, none has another name, and no digit is lost.
func TestRoutes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, route := range routeCalls() {
		t.Run(route.target, func(t *testing.T) {
			sent := &recorder{}
			c := r.client(t, "full", client.WithHTTPClient(&http.Client{Transport: sent}))
			got, err := route.call(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if sent.target != route.target {
				t.Errorf("it requests %s, want %s", sent.target, route.target)
			}
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			want := r.Get("full", route.target)
			if diff := cmp.Diff(normal(t, want.Text), normal(t, string(text))); diff != "" {
				t.Errorf("the result is not what the server sends (-server +client):\n%s", diff)
			}
		})
	}
}

// others are the routes without a method, and why.
var others = map[string]string{
	"/api/alerts":                   "it is for the pages of an account and for keys that write",
	"/api/webhooks":                 "likewise",
	"/api/webhooks/{id}/deliveries": "likewise",
	"/api/share-links":              "likewise",
	"/api/watchlist":                "it is for the pages of an account",
	"/api/views":                    "likewise",
	"/s/{file}":                     "a link has its own form, for spreadsheets and pages",
	"/embed/gpu/{gpuName}":          "a page, not JSON",
	"/embed/picture":                "for previews of links",
	"/embed/picture/{gpuName}":      "likewise",
	"/oembed":                       "for pages that embed a chart",
	"/api/gpu-overview":             "for the dashboard: GPUPrices and IndexHistory have the same",
	"/llms.txt":                     "it is for language models",
	"/llms-full.txt":                "likewise",
	"/docs/{page}":                  "likewise",
	"/livez":                        "for load balancers", "/readyz": "for load balancers",
	"/openapi.json": "the description itself", "/openapi.yaml": "the description itself",
	"/api/bulk/{dataset}/{file}": "not JSON: see TestBulkFile",
	"/api/day-index":             "deprecated",
	"/api/stream":                "not JSON: see TestStream",
	"/api/log/inclusion":         "the fixture has no log: see TestLog",
	"/api/log/consistency":       "the fixture has no log: see TestLog",
	"/api/keys":                  "for accounts", "/api/usage": "for accounts",
}

// Every route of market data has a method, whose parameters are those of the description.
func TestRoutes_AsTheDescriptionSays(t *testing.T) {
	t.Parallel()
	document, err := apitest.Description(assay.DefaultCatalog())
	if err != nil {
		t.Fatal(err)
	}
	paths := http.NewServeMux() // knows which path a request is for
	for path := range document.Paths.Map() {
		paths.Handle(path, http.NotFoundHandler())
	}
	calls := map[string]routeCall{}
	for _, route := range routeCalls() {
		_, path := paths.Handler(httptest.NewRequest(http.MethodGet, route.target, nil))
		calls[path] = route
	}
	for path, item := range document.Paths.Map() {
		account := strings.HasPrefix(path, "/api/session") || strings.HasPrefix(path, "/api/account")
		if item.Get == nil || account || strings.HasPrefix(path, "/log/") || others[path] != "" {
			continue
		}
		route, ok := calls[path]
		if !ok {
			t.Errorf("no method requests %s", path)
			continue
		}
		var want []string
		for _, p := range item.Get.Parameters {
			if p.Value.In == "query" && !isAlias(path, p.Value.Name) {
				want = append(want, p.Value.Name)
			}
		}
		slices.Sort(want)
		if got := names(route.params); !slices.Equal(got, want) {
			t.Errorf("%s: the parameters are %v, and in the description %v", path, got, want)
		}
	}
}

// isAlias reports whether a parameter is another name of one that the client has, or that of tables.
func isAlias(path, name string) bool {
	if strings.HasPrefix(path, "/api/daily-index") && (name == "gpu" || name == "gpu_type" || name == "gpu_name") {
		return true
	}
	return name == "format"
}

// names are the names of parameters in the API. Each has the name of its field, too.
func names(params client.Params) (list []string) {
	if params == nil {
		return nil
	}
	for field := range reflect.TypeOf(params).Elem().Fields() {
		list = append(list, field.Tag.Get("query"))
	}
	slices.Sort(list)
	return list
}

// The fields of parameters have the names of the API.
func TestParams_Names(t *testing.T) {
	t.Parallel()
	for _, route := range routeCalls() {
		if route.params == nil {
			continue
		}
		for field := range reflect.TypeOf(route.params).Elem().Fields() {
			name := strings.ReplaceAll(field.Tag.Get("query"), "_", "")
			if !strings.EqualFold(name, field.Name) {
				t.Errorf("%s: field %s is the parameter %s", route.target, field.Name, name)
			}
		}
	}
}
