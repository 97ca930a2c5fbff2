package api_test

import (
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/snapshot"
)

func TestNotices(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(target string, status int, want ...string) {
		t.Helper()
		got := r.Get("", target)
		if got.StatusCode != status {
			t.Errorf("%s: %d %s, want %d", target, got.StatusCode, got.Text, status)
		}
		for _, w := range want {
			if !strings.Contains(got.Text, w) {
				t.Errorf("%s: %s\nwant %s", target, got.Text, w)
			}
		}
	}
	f("/api/notices", 200, `"count":0,"has_more":false,"data":[]`)
	at := r.Clock.UnixMilli()
	r.Use(r.Snapshots.Load().With(snapshot.Update{Notices: []assay.Notice{
		{Number: 1, At: at, Kind: assay.NoValueNotice, GPU: "H200", Region: "eu-west", About: at, Text: "no value", Actor: "secret"},
		{Number: 2, At: at, Kind: assay.MessageNotice, Text: "to <all>", Approver: "secret"},
		{Number: 3, At: at, Kind: assay.CessationNotice, GPU: "B200", About: at, Text: "the end"},
		{Number: 4, At: at, Kind: assay.MessageNotice, GPU: "GPU that is hidden", Text: "hidden"},
	}}))
	f("/api/notices", 200, `"count":3,"has_more":false,"data":[{"number":3,`, `"gpu_type":null,"region":null,"about":null,`)
	if text := r.Get("", "/api/notices").Text; strings.Contains(text, "secret") || strings.Contains(text, "hidden") {
		t.Errorf("a secret is public: %s", text)
	}
	f("/api/notices?gpuType=H200", 200, `"count":2,"has_more":false,"data":[{"number":2,`, `{"number":1,`)
	f("/api/notices?kind=cessation", 200, `"count":1,"has_more":false,"data":[{"number":3,`)
	f("/api/notices?limit=1", 200, `"count":1,"has_more":true,"next":{"before":"3"},"data":[{"number":3,`)
	f("/api/notices?limit=1&before=3", 200, `"count":1,"has_more":true,"next":{"before":"2"},"data":[{"number":2,`)
	f("/api/notices?limit=1&before=2", 200, `"count":1,"has_more":false,"data":[{"number":1,`)
	f("/api/notices?gpuType=H20", 400, `"unknown_gpu"`)
	f("/api/notices?kind=all", 400, `"kind\": must be no_value, fallback, history, methodology, cessation, resumption or message`)
	f("/api/notices?limit=0", 400, `an integer from 1 to 1000`)
	f("/api/notices?before=0", 400, `an integer from 1 to 9007199254740991`)
}

// Responses that were dropped are made again, and are the same.
func TestDropIdle_SameResponses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	targets := []string{
		"/api/gpu/H200/index-history", "/api/gpu/H200/history-range?granularity=hourly&limit=5",
		"/api/gpu/H200/index-history?as_of=2026-02-02", "/api/memory/mem_ddr5_16gb/history",
		"/api/llm-coding/history?product=cc-merge", "/api/workload", "/api/otpi", "/api/neocloud/map",
	}
	read := func() (texts []string) {
		for _, target := range targets {
			got := r.Get("full", target)
			texts = append(texts, got.Header.Get("ETag")+got.Text)
		}
		return texts
	}
	before := read()
	r.API.DropIdle()
	for i, text := range read() {
		if text != before[i] {
			t.Errorf("%s: %s, and %s before", targets[i], text, before[i])
		}
	}
}
