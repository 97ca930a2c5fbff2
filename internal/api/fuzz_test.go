package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzRequest sends any path and query: the response is described in openapi.yaml, is no 5xx and leaks no key.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		"/api/gpu/H100%20SXM?region=global", "/api/gpu/%2F/history?datetime=2026-01-01", "/api/gpu/%00", "/api/gpu/%ff%fe/hourly",
		"/api/daily-index?gpu=H200&date=0001-01-01", "/api/gpu/H200/index-history?startDate=2026-01-01T00:00:00+14:00&endDate=9999-12-31&limit=1e400",
		"/api/gpu/H200/history-range?limit=-0&granularity=auto&order=desc", "//", "/../..", "/api/h100-history?startDate=&&=&%zz",
		"/api/daily-index/H200/previous?region=%F0%9F%92%A9", "/api/gpu/H200/history-simple?limit=10000&limit=",
		"/api/gpu/H200/index-history?as_of=0001-01-01&granularity=auto", "/api/gpu/H100%20SXM/hourly?region=us-east&as_of=2026-02-02&startDate=2026-01-01",
		"/api/gpu/H200/realtime?minutes=1440&as_of=2026-02-04T10:00:00Z", "/api/gpu/H200/determination?date=2026-01-30&revision=2147483647",
		"/api/gpu/H200/determination?timestamp=9999-12-31T23:00:00Z", "/api/corrections?since=NQBob3VybHkAbWwza2tzZzAAdXMtZWFzdABIMTAwIFNYTRU-iTg&limit=1",
		"/api/determinations/otpi?series=openai&date=2026-01-30&revision=1", "/api/determinations/workload?series=openai%2F%00&date=9999-12-31",
		"/api/methodology?version=1.0.0", "/api/publications/latest", "/api/gpu-utilization?region=us-east&as_of=2026-01-01",
		"/api/gpu/H200/volatility?startDate=0001-01-01&endDate=9999-12-31&windowDays=365&granularity=hourly",
		"/api/memory-index?type=mem_ddr5_16gb&category=dram&as_of=2026-01-01", "/api/memory/%2F/history?startDate=0001-01-01&endDate=9999-12-31&limit=1",
		"/api/llm-coding/index?product=cc-prs&as_of=0001-01-01", "/api/llm-coding/history?product=cc-vs-codex&startDate=0001-01-01&endDate=9999-12-31",
		"/api/gpu/H200/volume-metrics?startDate=0001-01-01&endDate=9999-12-31&granularity=hourly&order=asc",
		"/api/neocloud/sites?lat=-90&lng=180&radius_km=500&scope=all&limit=1000&offset=0", "/api/neocloud/sites?city=%C3%B8&country=st.+lucia&gpu_type=%00",
		"/api/neocloud/sites/aggregate?by=gpu_type&scope=all&as_of=2026-02-02", "/api/neocloud/map?bbox=170,-50,-170,0&country=fj",
	} {
		f.Add(seed)
	}
	r := newRig(f)
	f.Fuzz(func(t *testing.T, target string) {
		r.Test = t
		if !strings.HasPrefix(target, "/") {
			target = "/" + target
		}
		parsed, err := url.ParseRequestURI(target)
		if err != nil {
			return // net/http refuses it before it reaches us
		}
		for _, caller := range []string{"", "premium", "full"} {
			request := httptest.NewRequest(http.MethodGet, "/", nil)
			request.URL, request.RequestURI = parsed, target
			if caller != "" {
				request.Header.Set("Authorization", "Bearer "+r.Keys[caller])
			}
			r.Logs.Reset()
			r.Sent++
			request.RemoteAddr = fmt.Sprintf("[2001:db8:%x::1]:1", r.Sent&0xffff) // another /64, another limit
			got := r.Send(request)
			if got.StatusCode >= 500 || got.StatusCode < 200 {
				t.Errorf("%s: %d %s", target, got.StatusCode, got.Text)
			}
			if strings.Contains(r.Logs.String(), r.Keys["full"]) {
				t.Errorf("%s: the log holds the key", target)
			}
		}
	})
}

// FuzzAuthorization sends any Authorization header: only the right key is accepted, and no part of it is logged.
func FuzzAuthorization(f *testing.F) {
	r := newRig(f)
	for _, seed := range []string{"", "Bearer", "bearer x", "BEARER sk_live_", "Basic YTpi", "Bearer " + r.Keys["revoked"], "Bearer \x00", "Bearer " + strings.Repeat("k", 5000)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		r.Test = t
		r.Logs.Reset()
		request := httptest.NewRequest(http.MethodGet, "/api/gpu/H200/history?datetime=2026-01-01", nil)
		request.Header["Authorization"] = []string{header}
		got := r.Send(request)
		hasKey := strings.Contains(header, r.Keys["full"]) || strings.Contains(header, r.Keys["premium"])
		if got.StatusCode != 401 && !hasKey {
			t.Errorf("%q: %d", header, got.StatusCode)
		}
		if len(header) > 20 && strings.Contains(r.Logs.String(), header[15:]) {
			t.Errorf("%q is in the log", header)
		}
	})
}
