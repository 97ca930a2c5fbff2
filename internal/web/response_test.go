package web_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/web"
)

// targets are responses of every form: ready bodies large and small, rows in one piece, rows one by one.
var targets = []string{
	"/api/gpu/H200",
	"/api/gpu-types",
	"/api/memory-types",
	"/openapi.json",
	"/openapi.yaml",
	"/api/daily-index/all",
	"/api/gpu/H200/index-history",
	"/api/gpu/H200/index-history?granularity=hourly",
	"/api/gpu/H200/index-history?startDate=2025-09-01&endDate=2026-01-01",
	"/api/gpu/H200/index-history?order=desc",
	"/api/gpu/H200/index-history?limit=2",
	"/api/gpu/H200/history-range?limit=100",
	"/api/gpu/H200/rolling-24h-average/history",
	"/api/gpu/H200/history?datetime=2026-01-01",
	"/api/gpu/H100%20SXM/index-history?region=us-east&granularity=hourly&as_of=2026-02-02",
	"/api/gpu/H200/realtime?minutes=1440",
	"/api/gpu/H200/volatility?startDate=2025-09-01&endDate=2026-01-01",
	"/api/gpu/H200/volume-metrics",
	"/api/gpu-utilization",
	"/api/gpu/H200/determination?date=2026-01-30",
	"/api/corrections",
	"/api/corrections?limit=3",
	"/api/methodology",
	"/api/publications/latest",
	"/api/memory-index",
	"/api/memory-index?type=mem_ddr5_16gb",
	"/api/memory/mem_ddr5_16gb/history",
	"/api/memory/mem_ddr5_16gb/history?order=desc",
	"/api/llm-coding/index?product=cc-prs",
	"/api/llm-coding/history?product=cc-vs-codex",
	"/api/llm-coding/history?product=cc-prs&endDate=2026-01-15",
}

func TestRespond_CodingsAgree(t *testing.T) {
	r := newRig(t)
	for _, target := range targets {
		plain := r.Get("full", target)
		tags := map[string]bool{plain.Header.Get("Etag"): true}
		for coding, open := range map[string]func(io.Reader) (io.Reader, error){
			"gzip": func(b io.Reader) (io.Reader, error) { return gzip.NewReader(b) },
			"zstd": func(b io.Reader) (io.Reader, error) { return zstd.NewReader(b) },
		} {
			got := r.Get("full", target, "Accept-Encoding", coding)
			if compressed := got.Header.Get("Content-Encoding") != ""; compressed != (len(plain.Text) >= web.CompressFrom) {
				t.Errorf("%s, which has %d bytes, in %s: compressed: %t", target, len(plain.Text), coding, compressed)
			} else if !compressed {
				continue
			}
			body, err := open(strings.NewReader(got.Text))
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(body)
			if err != nil || string(text) != plain.Text {
				t.Errorf("%s in %s is another text: %v", target, coding, err)
			}
			if len(got.Text) >= len(plain.Text) || tags[got.Header.Get("Etag")] {
				t.Errorf("%s in %s: %d bytes of %d, ETag %s", target, coding, len(got.Text), len(plain.Text), got.Header.Get("Etag"))
			}
			tags[got.Header.Get("Etag")] = true
		}
	}
}

func TestRespond_HeadIsGetWithoutBody(t *testing.T) {
	r := newRig(t)
	for _, target := range append(targets, "/health", "/nothing", "/api/gpu/TPU") {
		for _, coding := range []string{"identity", "gzip", "zstd"} {
			get, head := r.Get("full", target, "Accept-Encoding", coding, "X-Request-Id", "x"), r.Do(http.MethodHead, "full", target, "Accept-Encoding", coding, "X-Request-Id", "x")
			if head.Text != "" || head.StatusCode != get.StatusCode {
				t.Errorf("HEAD %s: %d with %d bytes, GET %d", target, head.StatusCode, len(head.Text), get.StatusCode)
			}
			for _, name := range []string{"Content-Type", "Content-Encoding", "Etag", "Cache-Control", "Last-Modified"} {
				if head.Header.Get(name) != get.Header.Get(name) {
					t.Errorf("HEAD %s: %s is %q, with GET %q", target, name, head.Header.Get(name), get.Header.Get(name))
				}
			}
			if length := head.Header.Get("Content-Length"); length != "" && length != itoa(len(get.Text)) {
				t.Errorf("HEAD %s says %s bytes, GET has %d", target, length, len(get.Text))
			}
		}
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

func TestRespond_NotModified(t *testing.T) {
	r := newRig(t)
	for _, target := range targets {
		etag := r.Get("full", target).Header.Get("Etag")
		if len(etag) < 5 || etag[0] != '"' {
			t.Errorf("%s has the ETag %s", target, etag)
		}
		for given, status := range map[string]int{etag: 304, "W/" + etag: 304, `"a", ` + etag: 304, "*": 304, `"a"`: 200, strings.Trim(etag, `"`): 200} {
			got := r.Get("full", target, "If-None-Match", given)
			if got.StatusCode != status || (status == 304) != (got.Text == "") {
				t.Errorf("%s with %s: %d and %d bytes", target, given, got.StatusCode, len(got.Text))
			}
		}
	}
}

// TestRespond_ETagFollowsTheData: another caller, range or publication is another ETag; the same is the same, also
// after the clock has moved.
func TestRespond_ETagFollowsTheData(t *testing.T) {
	r := newRig(t)
	seen := map[string]string{}
	for _, caller := range []string{"", "premium", "full"} {
		for _, target := range []string{
			"/api/gpu/H200", "/api/gpu/B200", "/api/gpu/H200/index-history", "/api/gpu/H200/index-history?limit=1",
			"/api/gpu/H200/index-history?limit=1&order=desc", "/api/gpu/H200/index-history?startDate=2026-01-01", "/api/gpu/H200/index-history?startDate=2026-01-02&endDate=2026-01-09",
			"/api/gpu/H200/index-history?startDate=2026-01-03&endDate=2026-01-10",
		} {
			etag := r.Get(caller, target).Header.Get("Etag")
			if other, ok := seen[etag]; ok {
				t.Errorf("%s as %q and %s share %s", target, caller, other, etag)
			}
			seen[etag] = target + " as " + caller
		}
	}
	const price, days = "/api/gpu/H200", "/api/gpu/H200/index-history?startDate=2026-01-01"
	priceTag, daysTag := r.Get("", price).Header.Get("Etag"), r.Get("", days).Header.Get("Etag")
	r.Clock = r.Clock.Add(time.Hour)
	if r.Get("", price).Header.Get("Etag") != priceTag || r.Get("", days).Header.Get("Etag") != daysTag {
		t.Error("the ETag changes with the clock")
	}
	line := assay.Line{GPU: "H200", Region: assay.Global}
	r.Use(r.Snapshots.Load().With(snapshot.Update{Version: 8, Series: []snapshot.SeriesUpdate{{
		Line: line, Grain: assay.Hourly, Version: 8, Published: 1,
		Revisions: []assay.Revision{{Point: assay.Point{At: apitest.Now.UnixMilli(), Value: assay.One}, Version: 8}},
	}}}))
	if r.Get("", price).Header.Get("Etag") == priceTag {
		t.Error("the ETag of the price stays with a new print")
	}
	if r.Get("", days).Header.Get("Etag") != daysTag {
		t.Error("the ETag of the days changes with a new hour")
	}
}

func TestRespond_CacheControl(t *testing.T) {
	r := newRig(t)
	f := func(now time.Time, caller, want string) {
		t.Helper()
		r.Clock = now
		if got := r.Get(caller, "/api/gpu/H200").Header.Get("Cache-Control"); got != want {
			t.Errorf("at %s: %s, want %s", now.Format(time.TimeOnly), got, want)
		}
	}
	covered := time.Date(2026, 2, 4, 12, 0, 0, 0, time.UTC)
	f(covered.Add(time.Minute), "", "public, max-age=60, s-maxage=3540")
	f(covered.Add(time.Minute), "full", "private, max-age=3540")
	f(covered.Add(time.Hour-time.Second), "", "public, max-age=1")
	f(covered.Add(time.Hour), "", "public, max-age=1") // due, and not yet there
	f(covered.Add(3*time.Hour), "premium", "private, max-age=1")
	brief := func(now time.Time, caller, target, want string) {
		t.Helper()
		r.Clock = now
		if got := r.Get(caller, target).Header.Get("Cache-Control"); got != want {
			t.Errorf("%s at %s: %s, want %s", target, now.Format(time.TimeOnly), got, want)
		}
	}
	for _, target := range []string{
		"/api/gpu/H200/realtime", "/api/gpu/H200/volume-metrics", "/api/gpu-utilization", "/api/corrections",
		"/api/memory-index", "/api/memory/mem_ddr5_16gb/history", "/api/llm-coding/index?product=cc-prs", "/api/llm-coding/history?product=cc-prs",
	} {
		brief(covered.Add(time.Minute), "full", target, "private, max-age=60")
		brief(covered.Add(61*time.Second), "full", target, "private, max-age=59")
		brief(covered.Add(119*time.Second), "full", target, "private, max-age=1")
		brief(covered.Add(3*time.Hour+30*time.Second), "full", target, "private, max-age=1")
	}
	brief(covered.Add(90*time.Second), "", "/api/publications/latest", "public, max-age=30")
}

// What a key gets of a past that is complete everywhere does not change. A session's plan can, and so can
// what is recent.
func TestRespond_CacheControlOfThePast(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(caller, target, want string) {
		t.Helper()
		got := r.Get(caller, target)
		if got := got.Header.Get("Cache-Control"); got != want {
			t.Errorf("%s, %s: %s, want %s", caller, target, got, want)
		}
	}
	const price, forever = "/api/gpu/H200?as_of=", "private, max-age=31536000, immutable"
	f("full", price+"2026-02-02", forever)
	f("premium", "/api/memory-index?as_of=2026-01-10", forever)
	f("premium session", price+"2026-02-02", "private, max-age=1504")
	f("", price+"2026-02-02", "public, max-age=60, s-maxage=1504")
	f("full", price+"2026-02-04T12:34:00Z", "private, max-age=1504")
	f("full", price+"2026-02-03T12:34:00Z", "private, max-age=1504")
	f("full", price+"2027-01-01", "private, max-age=1504") // is now
	f("full", "/api/gpu/H200", "private, max-age=1504")
	f("full", "/api/gpu/H200?as_of=2020-01-01", "no-store") // an error
}
