package mcp_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay/internal/apitest"
)

// calls has a call of every tool that a Full key allows, and a part of its result.
var calls = []struct{ tool, arguments, want string }{
	{"list_gpu_types", `{}`, `{"gpu_name":"RTX PRO 6000 WS","region":""}`},
	{"get_gpu_price", `{"gpu":"H100 SXM","region":"us-east"}`, `"region":"us-east","index_value":`},
	{"get_market_index", `{}`, `"count":6,"data":[{"gpu_name":"A100 SXM4"`},
	{
		"get_gpu_index_history", `{"gpu":"H200","startDate":"2026-02-01","endDate":"2026-02-02"}`,
		`"count":2,"has_more":false,"data":[{"timestamp":"2026-02-01T21:00:00.000Z"`,
	},
	{"get_daily_index", `{"gpu":"B200","date":"2026-02-01"}`, `"date":"2026-02-01T21:00:00.000Z"`},
	{"get_daily_index_snapshot", `{}`, `"count":6,"data":[{"gpu_type":"A100 SXM4"`},
	{"get_gpu_price_history", `{"gpu":"H200","startDate":"2026-01-01"}`, `"daily_stats":{"min_index"`},
	{"get_gpu_price_at", `{"gpu":"H200","datetime":"2026-02-01T10:20:00Z"}`, `"time_difference":1200`},
	{"get_gpu_rolling_average", `{"gpu":"H200"}`, `"average_usd_per_hour":`},
	{"get_gpu_rolling_average", `{"gpu":"H200","startDate":"2026-01-25"}`, `"truncated":false,"total":`},
	{"get_gpu_volatility", `{"gpu":"H200","startDate":"2026-01-01","endDate":"2026-02-03","windowDays":7}`, `"window_days":7`},
	{"get_gpu_volume_metrics", `{"gpu":"H200"}`, `"utilization_ratio":`},
	{"list_memory_types", `{}`, `"category":"dram"`},
	{"get_memory_index", `{"category":"flash"}`, `"weeklyHigh"`},
	{"get_memory_index", `{"type":"mem_ddr5_16gb"}`, `"memoryType":"DDR5 16Gb`},
	{"get_memory_price_history", `{"memoryType":"mem_ddr5_16gb"}`, `"truncated":false`},
	{"list_token_types", `{}`, `{"lab":"z-ai","label":"Z.ai"}`},
	{"get_token_price_index", `{}`, `"indexPerMtok":`},
	{"get_token_price_index", `{"lab":"openai","startDate":"2026-01-20"}`, `"startDate":"2026-01-20"`},
	{"get_workload_index", `{"lab":"openai","family":"all"}`, `"cCents":`},
	{"list_llm_coding_products", `{}`, `"id":"cc-vs-codex"`},
	{"get_llm_coding_index", `{"product":"cc-prs"}`, `"value":`},
	{"get_llm_coding_history", `{"product":"cc-vs-codex"}`, `"value2":`},
	{"get_neocloud_sites", `{"country":"Norway","limit":1}`, `"count":1,"total":2,"has_more":true`},
	{"get_neocloud_aggregate", `{"by":"gpu_type"}`, `"total_power_mw":`},
	{"list_corrections", `{"limit":1}`, `"count":1,"has_more":true,"next":"`},
	{"list_corrections", `{"family":"memory"}`, `"next":"`},
	{"get_determination", `{"gpu":"H200","date":"2026-02-01"}`, `"granularity":"daily","revisions":1`},
	{"get_determination", `{"index":"otpi","series":"openai","date":"2026-01-30"}`, `"index":"otpi"`},
	{"verify_value", `{"gpu":"H200","date":"2026-02-01"}`, `"verified":false,"reason":"`},
	{"verify_value", `{"index":"otpi","series":"openai","date":"2026-01-30"}`, `"checked_by":"the server"`},
	{
		"search", `{"query":"H100"}`,
		`{"id":"gpu:H100 SXM","title":"H100 SXM (GPU model, price in USD per GPU-hour)","url":"http://example.com/gpu/H100%20SXM"}`,
	},
	{"fetch", `{"id":"gpu:H100 SXM"}`, `"text":"{\"success\":true`},
	{"fetch", `{"id":"doc:api.md#rate-limits"}`, `"url":"http://example.com/docs/api.md#rate-limits"`},
	{"fetch", `{"id":"coding:cc-vs-codex"}`, `value2`},
	{"fetch", `{"id":"lab:openai"}`, `indexPerMtok`},
	{"fetch", `{"id":"memory:mem_ddr5_16gb"}`, `weeklyHigh`},
}

// promised are the tools that agents know by name.
var promised = strings.Fields(`
	list_gpu_types get_gpu_price get_gpu_index_history get_daily_index get_daily_index_snapshot get_market_index
	get_gpu_price_history get_gpu_volatility get_gpu_volume_metrics get_gpu_rolling_average get_gpu_price_at
	list_memory_types list_token_types get_token_price_index list_llm_coding_products get_memory_index
	get_memory_price_history get_llm_coding_index get_llm_coding_history get_workload_index search fetch
	get_neocloud_sites get_neocloud_aggregate get_determination verify_value list_corrections`)

func TestTools_List(t *testing.T) {
	t.Parallel()
	tools := newRig(t).list()
	if diff := cmp.Diff(slices.Sorted(slices.Values(promised)), slices.Sorted(maps.Keys(tools))); diff != "" {
		t.Errorf("the tools (-promised +listed):\n%s", diff)
	}
	for name, tool := range tools {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compile(t, tool.InputSchema)
			compile(t, tool.OutputSchema)
			hints := tool.Annotations
			if !hints.ReadOnlyHint || !hints.IdempotentHint || hints.DestructiveHint == nil || *hints.DestructiveHint ||
				hints.OpenWorldHint == nil || *hints.OpenWorldHint {
				t.Errorf("it has the hints %+v", hints)
			}
			if tool.Title == "" || len(tool.Description) < 40 || len(tool.Description) > 500 {
				t.Errorf("it says %q, %q", tool.Title, tool.Description)
			}
			if !strings.Contains(tool.Description, "key") && !strings.Contains(tool.Description, "get_determination") {
				t.Errorf("it does not say which access it needs: %s", tool.Description)
			}
			if !strings.HasPrefix(string(tool.OutputSchema), `{`) || !strings.Contains(string(tool.OutputSchema), `"type":"object"`) {
				t.Errorf("the schema of its results is not that of an object: %.100s", tool.OutputSchema)
			}
			for _, word := range []string{"H100 SXM\",", "RTX 5090", "$ref\":\"#/components", "/api/gpu-types"} {
				if text := string(tool.InputSchema) + string(tool.OutputSchema); strings.Contains(text, word) {
					t.Errorf("its schemas have %q: catalogs grow, and routes say nothing to an agent", word)
				}
			}
		})
	}
}

// An agent sees the words that an argument can have, unless they are those of a catalog.
func TestTools_Words(t *testing.T) {
	t.Parallel()
	tools := newRig(t).list()
	f := func(tool, argument string, want ...any) {
		t.Helper()
		var schema struct {
			Properties map[string]struct{ Enum []any }
		}
		if err := json.Unmarshal(tools[tool].InputSchema, &schema); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, schema.Properties[argument].Enum); diff != "" {
			t.Errorf("%s of %s (-want +got):\n%s", argument, tool, diff)
		}
	}
	f("get_gpu_index_history", "granularity", "daily", "hourly", "auto")
	f("get_memory_index", "category", "dram", "flash", "module")
	f("get_workload_index", "windowDays", 1.0, 7.0)
	f("get_gpu_price", "gpu")
}

// Every tool has a result that fits its schema, in both forms.
func TestTools_Results(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tools := r.list()
	called := map[string]bool{}
	for _, c := range calls {
		t.Run(c.tool+" "+c.arguments, func(t *testing.T) {
			got := r.call("full", c.tool, c.arguments)
			if got.Error != nil || got.Result.IsError {
				t.Fatalf("%+v %s", got.Error, got.text())
			}
			called[c.tool] = true
			if !strings.Contains(got.text(), c.want) {
				t.Errorf("%s\nlacks %s", got.text(), c.want)
			}
			if diff := cmp.Diff(value(t, got.text()), value(t, string(got.Result.Structured))); diff != "" {
				t.Errorf("the text and the structured content differ:\n%s", diff)
			}
			fits(t, tools[c.tool].OutputSchema, got.Result.Structured)
		})
	}
	for name := range tools {
		if !called[name] {
			t.Errorf("%s is not called", name)
		}
	}
}

// The caller's key decides what a tool returns, as with the route.
func TestTools_Access(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(caller, tool, arguments, want string) {
		t.Helper()
		got := r.call(caller, tool, arguments)
		if !strings.Contains(got.text(), want) {
			t.Errorf("%s as %q: %s\nwant %s", tool, caller, got.text(), want)
		}
		if failed := strings.Contains(want, `"code"`); got.Result.IsError != failed || failed != (got.Result.Structured == nil) {
			t.Errorf("%s as %q: isError is %v, structured content %s", tool, caller, got.Result.IsError, got.Result.Structured)
		}
	}
	f("", "get_gpu_index_history", `{"gpu":"H200"}`, `"access":"public-3mo"`)
	f("premium", "get_gpu_index_history", `{"gpu":"H200","granularity":"hourly"}`, `"access":"premium","granularity":"daily"`)
	f("full", "get_gpu_index_history", `{"gpu":"H200","granularity":"hourly"}`, `"access":"full","granularity":"hourly"`)
	f("", "get_gpu_index_history", `{"gpu":"H200","startDate":"2025-08-01"}`, `"code":"outside_free_window"`)
	f("", "get_gpu_price", `{"gpu":"RTX PRO 6000 WS"}`, `"code":"key_required"`)
	f("", "get_workload_index", `{}`, `"code":"key_required"`)
	f("premium", "get_neocloud_sites", `{"country":"Germany"}`, `"code":"full_required"`)
	f("premium", "get_gpu_rolling_average", `{"gpu":"H200"}`, `"code":"full_required"`)
	f("premium", "get_gpu_rolling_average", `{"gpu":"H200","endDate":"2026-02-04"}`, `"access":"premium"`)
	f("unknown key", "get_gpu_price", `{"gpu":"H200"}`, `"code":"invalid_key"`)
	f("revoked", "get_gpu_price", `{"gpu":"H200"}`, `"code":"inactive_key"`)
	f("unknown key", "list_gpu_types", `{}`, `"success":true`)
	f("", "fetch", `{"id":"gpu:RTX PRO 6000 WS"}`, `"code":"key_required"`)
	// A session is for pages of this server. Their cookie is not looked at.
	f2 := r.call("", "get_workload_index", `{}`, "Cookie", r.Session("full session"))
	if !strings.Contains(f2.text(), `"code":"key_required"`) {
		t.Errorf("with the cookie of a session: %s", f2.text())
	}
}

// What an agent gets wrong, it can correct: the error says what is allowed.
func TestTools_Errors(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(tool, arguments string, want ...string) {
		t.Helper()
		t.Run(tool+" "+arguments, func(t *testing.T) {
			got := r.call("full", tool, arguments, "X-Request-Id", "try-1")
			for _, part := range append(want, `"request_id":"try-1"`) {
				if !strings.Contains(got.text(), part) || !got.Result.IsError {
					t.Errorf("%+v %s\nwant %s", got.Error, got.text(), part)
				}
			}
		})
	}
	f("get_gpu_price", `{}`, `get_gpu_price needs the argument \"gpu\".`, `"param":"gpu"`)
	f("get_gpu_price", `{"gpu":""}`, `needs the argument`)
	f("get_gpu_price", `{"gpu":null}`, `needs the argument`)
	f("get_gpu_price", `{"gpu":"H300"}`, `"code":"unknown_gpu"`, `"allowed":["H100 SXM",`)
	f("get_gpu_price", `{"gpu":["H200"]}`, `Invalid value \"[\\\"H200\\\"]\" for \"gpu\": must be a text, a number, true or false.`)
	f("get_gpu_price", `{"gpu":"H200","model":"H100"}`, `Unknown argument \"model\": get_gpu_price takes gpu, region and as_of.`)
	f("get_gpu_price", `{"gpu":"H200","gpu_name":"B200"}`, `Invalid value \"B200\" for \"gpu\": must be given once.`)
	f("get_gpu_price", `{"gpu":"H200","region":"moon"}`, `"code":"unknown_region"`)
	f("get_gpu_price", `{"gpu":"../../health"}`, `"code":"unknown_gpu"`)
	f("get_gpu_price", `{"gpu":".."}`, `"code":"unknown_path"`)
	f("get_gpu_price", `{"gpu":"H200?region=eu-west#"}`, `"code":"unknown_gpu"`)
	f("get_gpu_price", `{"gpu":"{region}","region":"H200"}`, `"code":`)
	f("get_gpu_price", `{"gpu":"a\nb"}`, `"code":"unknown_gpu"`)
	f("get_gpu_price", `"H200"`, `The arguments must be a JSON object.`)
	f("get_gpu_price", `{"gpu":"`+strings.Repeat("x", 9000)+`"}`, `"code":"uri_too_long"`)
	f("get_gpu_index_history", `{"gpu":"H200","limit":0}`, `Invalid value \"0\" for \"limit\": must be an integer from 1 to 1000.`)
	f("get_gpu_index_history", `{"gpu":"H200","limit":1e9}`, `must be an integer from 1 to 1000`)
	f("get_gpu_index_history", `{"gpu":"H200","limit":2.5}`, `Invalid value \"2.5\"`)
	f("get_gpu_index_history", `{"gpu":"H200","granularity":"weekly"}`, `"param":"granularity"`, `"allowed":[`)
	f("get_gpu_index_history", `{"gpu":"H200","startDate":"yesterday"}`, `"param":"startDate"`)
	f("get_gpu_index_history", `{"gpu":"H200","format":"csv"}`, `Unknown argument`)
	f("get_gpu_volatility", `{"gpu":"H200"}`, `needs the argument \"startDate\"`)
	f("list_gpu_types", `{"gpu":"H200"}`, `list_gpu_types takes none.`)
	f("get_determination", `{"gpu":"H200","index":"otpi","series":"openai","date":"2026-01-30"}`, `Unknown argument \"gpu\"`)
	f("verify_value", `{"gpu":"H200","date":"2019-01-01"}`, `"code":"no_data"`)
	f("search", `{}`, `search needs the argument \"query\".`)
	f("fetch", `{"id":"doc:../README.md#x"}`, `There is nothing with the id`)
	f("fetch", `{"id":"gpu:H300"}`, `"code":"unknown_gpu"`)
	f("fetch", `{"id":"sk_live_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`, `There is nothing with the id`)
}

// All spellings of an argument are one, and a number is one as a text too.
func TestTools_Spellings(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const want = `"count":2,`
	for _, arguments := range []string{
		`{"gpu":"H200","startDate":"2026-01-01","limit":2}`,
		`{"gpu_name":"H200","start_date":"2026-01-01","limit":"2"}`,
		`{"gpuType":"H200","start-date":"2026-01-01","limit":2.0}`,
		`{"gpuName":"H200","gpu":"H200","STARTDATE":"2026-01-01","limit":2,"region":null,"as_of":""}`,
	} {
		if got := r.call("full", "get_gpu_index_history", arguments); !strings.Contains(got.text(), want) {
			t.Errorf("%s: %s", arguments, got.text())
		}
	}
}

// A long series has its newest rows, oldest first, how many there are, and where the others are.
func TestTools_Truncated(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(tool, arguments, want string) {
		t.Helper()
		if got := r.call("full", tool, arguments); !strings.HasSuffix(got.text(), want) {
			t.Errorf("%s %s\n%s\nwant %s", tool, arguments, got.text(), want)
		}
	}
	f("get_gpu_index_history", `{"gpu":"H100 SXM","region":"us-east","startDate":"2026-01-01","limit":2}`,
		`"count":2,"has_more":false,"data":[{"timestamp":"2026-02-02T21:00:00.000Z","index_value":2.0468},`+
			`{"timestamp":"2026-02-03T21:00:00.000Z","index_value":2.0505}],"truncated":true,"total":33,`+
			`"full_range":"http://example.com/api/gpu/H100%20SXM/index-history?region=us-east&startDate=2026-01-01",`+
			`"full_range_csv":"http://example.com/api/gpu/H100%20SXM/index-history?region=us-east&startDate=2026-01-01&format=csv"}`)
	f("get_gpu_volume_metrics", `{"gpu":"H200","limit":1}`,
		`"full_range_csv":"http://example.com/api/gpu/H200/volume-metrics?limit=10000&format=csv"}`)
	long := r.call("full", "get_gpu_index_history", `{"gpu":"H200","granularity":"hourly"}`).text()
	if !strings.Contains(long, `"count":200,`) || strings.Count(long, `"timestamp"`) != 200 || !strings.Contains(long, `"timestamp":"2026-02-04T12:00:00.000Z"`) {
		t.Errorf("a long series: %.300s", long)
	}
	whole := r.Get("full", "/api/gpu/H200/volume-metrics?order=asc&limit=10000").Text
	got := r.call("full", "get_gpu_volume_metrics", `{"gpu":"H200","limit":1000}`).text()
	if before, _, _ := strings.Cut(got, `,"truncated":false`); before+"}" != whole {
		t.Errorf("a short series: %s\nwant %s", got, whole)
	}
}

// The address of the whole range begins with the one that the operator has configured.
func TestTools_PublicURL(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *apitest.Config) { c.Web.PublicURL = "https://data.example.org" })
	got := r.call("", "get_gpu_index_history", `{"gpu":"H200","limit":1}`, "Host", "evil.example.net").text()
	if !strings.Contains(got, `"full_range":"https://data.example.org/api/gpu/H200/index-history"`) {
		t.Error(got)
	}
}

// value is what a JSON text means.
func value(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
