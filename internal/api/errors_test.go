package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/snapshot"
)

// TestErrors holds every error text of the contract.
func TestErrors(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(caller, target string, status int, label, message string, headers ...string) {
		t.Helper()
		got := r.Get(caller, target, headers...)
		want := fmt.Sprintf(`{"error":%q,"message":%q,`, label, message)
		if got.StatusCode != status || !strings.HasPrefix(got.Text, want) {
			t.Errorf("%s as %q:\n got %d %s\nwant %d %s", target, caller, got.StatusCode, got.Text, status, want)
		}
		if got.Header.Get("Cache-Control") != "no-store" || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: headers %v", target, got.Header)
		}
	}
	const (
		unknownGPU = "Invalid GPU type. Allowed: H100 SXM, H200, A100 SXM4, RTX 5090, B200, RTX PRO 6000 WS"
		noKey      = "API key required. Use Authorization: Bearer YOUR_API_KEY"
		dailyOnly  = "Premium access is daily-grain only. Hourly and real-time data require a full subscription."
		noDatetime = "datetime query parameter is required (format: YYYY-MM-DD HH:MM:SS or ISO 8601)"
	)
	f("", "/api/gpu/H100", 400, "Bad request", unknownGPU)
	f("", "/api/gpu/h200", 400, "Bad request", unknownGPU)
	f("premium", "/api/daily-index?gpu=TPU", 400, "Bad request", unknownGPU)
	f("", "/api/daily-index/TPU/previous", 400, "Bad request", unknownGPU)
	f("", "/api/gpu/TPU/index-history?startDate=2000-01-01", 400, "Bad request", unknownGPU)
	f("full", "/api/gpu/A%2FB/hourly", 400, "Bad request", unknownGPU)

	f("", "/api/gpu/RTX%20PRO%206000%20WS", 401, "Unauthorized", "API key required for RTX PRO 6000 WS. Use Authorization: Bearer YOUR_API_KEY")
	f("", "/api/otpi?lab=minimax", 401, "Unauthorized", "API key required for minimax. Use Authorization: Bearer YOUR_API_KEY")
	f("", "/api/otpi?date=2026-01-03", 401, "Unauthorized", "API key required for dates before 2026-01-04. Use Authorization: Bearer YOUR_API_KEY")
	f("", "/api/gpu/H200/index-history?startDate=2025-11-03", 401, "Unauthorized", "API key required for dates before 2025-11-04. Use Authorization: Bearer YOUR_API_KEY")
	f("", "/api/gpu/H200/history", 401, "Unauthorized", noKey)
	f("", "/api/gpu/TPU/hourly?limit=x", 401, "Unauthorized", noKey)
	for _, header := range []string{"", "Bearer", "Bearer ", "Basic abc", "sk_live_x", "Bearer\tx"} {
		f("", "/api/gpu/H200", 401, "Unauthorized", noKey, "Authorization", header)
	}
	f("", "/api/gpu/H200", 401, "Unauthorized", noKey, "Authorization", "Bearer a", "Authorization", "Bearer b")
	f("", "/api/gpu/H200", 401, "Unauthorized", "Invalid API key", "Authorization", "Bearer nonsense")
	f("", "/api/gpu/H200", 401, "Unauthorized", "Invalid API key", "Authorization", "Bearer "+r.Keys["full"]+"x")
	f("unknown key", "/api/gpu/H200", 401, "Unauthorized", "Invalid API key")
	f("revoked", "/api/gpu/H200/hourly", 401, "Unauthorized", "API key is inactive")
	f("ended trial", "/api/gpu/H200", 401, "Unauthorized", "API key is inactive")

	f("premium", "/api/gpu/TPU/hourly?limit=x", 403, "Forbidden", dailyOnly)
	f("premium", "/api/gpu/H200/rolling-24h-average", 403, "Forbidden", dailyOnly)

	f("premium", "/api/gpu/H200/history", 400, "Bad request", noDatetime)
	f("premium", "/api/gpu/H200/history?datetime=", 400, "Bad request", noDatetime)

	f("", "/api/gpu/H200?region=mars", 404, "Not found", "No data found for H200 in the region mars")
	f("", "/api/gpu/H200?region=eu-west", 404, "Not found", "No data found for H200 in the region eu-west")
	f("", "/api/gpu/H200/index-history?region=mars", 404, "Not found", "No data found for H200 in the region mars")
	f("", "/api/daily-index/all?region=mars", 404, "Not found", "No data found for any GPU in the region mars")
	f("", "/api/daily-index?date=2026-02-04", 404, "No data available", "No daily index data found for H100 SXM on 2026-02-04")
	f("", "/api/daily-index/all?date=2026-02-04", 404, "No data available", "No daily index data found for any GPU on 2026-02-04")
	f("", "/api/nothing", 404, "Not found", "There is no such path. The API is described at /openapi.json.")
	f("", "/api/gpu-types/", 404, "Not found", "There is no such path. The API is described at /openapi.json.")
	f("", "/api//gpu-types", 404, "Not found", "There is no such path: it has an empty or a dot segment.")
	f("", "/api/./gpu-types", 404, "Not found", "There is no such path: it has an empty or a dot segment.")
	f("", "/api/gpu/%2E%2e", 404, "Not found", "There is no such path: it has an empty or a dot segment.")
	f("", "/api/gpu/H200/"+strings.Repeat("x", 9000), 414, "URI too long", "The request target is longer than 8192 bytes.")

	r.Use(snapshot.New(assay.DefaultCatalog(), 1))
	f("", "/api/gpu/H100%20SXM", 404, "Not found", "No data found for H100 SXM in the region global")
	f("", "/api/daily-index", 404, "No data available", "No daily index data found for H100 SXM")
	f("", "/api/daily-index/all", 404, "No data available", "No daily index data found for any GPU")
	f("", "/api/daily-index/H100%20SXM/previous", 404, "No data available", "No daily index data found for H100 SXM")
	f("", "/api/h100-history", 404, "No data available", "No daily index data found for H100 SXM")
	f("full", "/api/gpu/H100%20SXM/history?datetime=2026-01-01", 404, "No data available", "No daily index data found for H100 SXM")
	f("full", "/api/gpu/H100%20SXM/rolling-24h-average", 404, "Not found", "No data found for H100 SXM in the region global")
}

// TestParameters: the response to a bad parameter has its name, its value and the allowed values.
func TestParameters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(query, name, value, allowed string) {
		t.Helper()
		got := r.Get("full", "/api/gpu/H200/history-simple?"+query)
		for _, part := range []string{`"error":"Bad request"`, `for \"` + name + `\": must be`, value, allowed} {
			if got.StatusCode != 400 || !strings.Contains(got.Text, part) {
				t.Errorf("%s: %d %s\nwant %s", query, got.StatusCode, got.Text, part)
			}
		}
	}
	const dates, limits = "YYYY-MM-DD", "an integer from 1 to 10000"
	f("startDate=2025-13-01", "startDate", "2025-13-01", dates)
	f("startDate=yesterday", "startDate", "yesterday", dates)
	f("endDate=2026-02-30", "endDate", "2026-02-30", dates)
	f("startDate=2026-02-02&endDate=2026-02-01", "startDate", "2026-02-02", "not after endDate")
	f("limit=0", "limit", `\"0\"`, limits)
	f("limit=10001", "limit", "10001", limits)
	f("limit=-1", "limit", "-1", limits)
	f("limit=1e3", "limit", "1e3", limits)
	f("limit=1e400", "limit", "1e400", limits)
	f("limit=NaN", "limit", "NaN", limits)
	f("limit=-0", "limit", "-0", limits)
	f("limit=99999999999999999999", "limit", "99999999999999999999", limits)
	f("order=up", "order", "up", "asc or desc")
	f("granularity=minutely", "granularity", "minutely", "daily, hourly or auto")
	f("limit=1&limit=1", "limit", `\"1\"`, "once")
	f("region=a&region=b", "region", `\"b\"`, "once")
	f("limit=%00", "limit", `\\x00`, limits)
	f("limit=%ff%fe", "limit", `\\xff\\xfe`, limits)
	f("limit="+strings.Repeat("9", 500), "limit", strings.Repeat("9", 64)+"…", limits)
	f("startDate="+r.Keys["full"], "startDate", "sk_live_…", dates)
	if got := r.Get("full", "/api/gpu/H200/history-simple?limit=%zz"); got.StatusCode != 400 || !strings.Contains(got.Text, "percent-encoded") {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
	if got := r.Get("", "/api/daily-index?gpu=H200&gpuType=B200"); got.StatusCode != 400 || !strings.Contains(got.Text, `for \"gpu\": must be`) {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
}

// TestErrors_ForPrograms: what a program needs to correct a request is not only in the sentence.
func TestErrors_ForPrograms(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(caller, target, want string) {
		t.Helper()
		if got := r.Get(caller, target); !strings.HasSuffix(strings.TrimSpace(got.Text), want) {
			t.Errorf("%s as %q: %s, want %s", target, caller, got.Text, want)
		}
	}
	const models = `"allowed":["H100 SXM","H200","A100 SXM4","RTX 5090","B200","RTX PRO 6000 WS"]}`
	f("", "/api/gpu/TPU", `"param":"gpuName",`+models)
	f("", "/api/daily-index?gpu_type=TPU", `"param":"gpu_type",`+models)
	f("full", "/api/corrections?gpuType=TPU", `"param":"gpuType",`+models)
	f("full", "/api/gpu/H200/history-simple?order=up", `"param":"order","allowed":["asc","desc"]}`)
	f("full", "/api/gpu/H200/history-simple?limit=0", `"param":"limit"}`)
	f("full", "/api/gpu/H200/history", `"param":"datetime"}`)
	f("full", "/api/memory-index?category=x", `"param":"category","allowed":["dram","flash","module"]}`)
	f("", "/api/otpi?date=2026-01-03", `"free_from":"2026-01-04"}`)
	f("", "/api/gpu/H200/index-history?startDate=2025-11-03", `"free_from":"2025-11-04"}`)
	for caller, want := range map[string]string{
		"":            `Bearer realm="assay"`,
		"unknown key": `Bearer realm="assay", error="invalid_token", error_description="Invalid API key"`,
		"revoked":     `Bearer realm="assay", error="invalid_token", error_description="API key is inactive"`,
		"premium":     `Bearer realm="assay", error="insufficient_scope"`,
	} {
		if got := r.Get(caller, "/api/gpu/H200/hourly").Header.Get("Www-Authenticate"); got != want {
			t.Errorf("as %q: %s, want %s", caller, got, want)
		}
	}
}
