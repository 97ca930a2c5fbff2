package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// duckDBTargets are requests for all kinds of columns: instants, days, decimals, counts, texts, lists, and empty cells.
var duckDBTargets = map[string]string{
	"index-history":  "/api/gpu/H100%20SXM/index-history?limit=100000",
	"hourly":         "/api/gpu/H100%20SXM/hourly?startDate=2025-01-01&limit=100000",
	"history-range":  "/api/gpu/H200/history-range?limit=1000",
	"volatility":     "/api/gpu/H200/volatility?startDate=2024-12-01&endDate=2026-10-31",
	"volume-metrics": "/api/gpu/H200/volume-metrics?partial=true&startDate=2026-09-01&endDate=2026-10-31",
	"utilization":    "/api/gpu-utilization?gpuType=H200",
	"price":          "/api/gpu/H200",
	"products":       "/api/llm-coding/products",
	"memory":         "/api/memory-index",
	"otpi":           "/api/otpi?startDate=2026-09-01&endDate=2026-10-31",
	"workload":       "/api/workload?startDate=2026-10-01&endDate=2026-10-31",
	"sites":          "/api/neocloud/sites?lat=52&lng=13&radiusKm=5000",
	"corrections":    "/api/corrections?limit=1000",
	"no-rows":        "/api/gpu/H200/index-history?startDate=2030-01-01",
}

// DuckDB reads the Parquet files of the server, and finds in them what the JSON of the same requests has.
func TestDuckDB_Agrees(t *testing.T) {
	t.Parallel()
	needProgram(t)
	if _, err := os.Stat("../../tools/duckdb/node_modules"); err != nil {
		t.Skip("NOT COVERED: make script installs DuckDB, if there is npm")
	}
	demo, err := sharedDemo()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, target := range duckDBTargets {
		for _, format := range []string{"json", "parquet"} {
			joint := "?"
			if strings.Contains(target, "?") {
				joint = "&"
			}
			response, body, err := getWith(http.DefaultClient, demo.keys.Full, demo.url+target+joint+"format="+format)
			if err != nil || response.StatusCode != http.StatusOK {
				t.Fatalf("%s as %s: %v, %.200s", target, format, err, body)
			}
			if err := os.WriteFile(filepath.Join(folder, name+"."+format), []byte(body), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	out, err := exec.CommandContext(t.Context(), "node", "../../tools/duckdb/agree.js", folder).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if lines := strings.Count(string(out), "\n"); lines != len(duckDBTargets) {
		t.Errorf("%d files were compared, want %d: %s", lines, len(duckDBTargets), out)
	}
	for _, column := range []string{"timestamp TIMESTAMP WITH TIME ZONE", "index_value DECIMAL(18,9)", "date DATE"} {
		if !strings.Contains(string(out), column) {
			t.Errorf("no file has a column %q: %s", column, out)
		}
	}
}

// DuckDB reads the files that assay download has fetched, and finds in them what the API has for each month and series.
func TestDuckDB_Downloaded(t *testing.T) {
	t.Parallel()
	needProgram(t)
	if _, err := os.Stat("../../tools/duckdb/node_modules"); err != nil {
		t.Skip("NOT COVERED: make script installs DuckDB, if there is npm")
	}
	demo, err := sharedDemo()
	if err != nil {
		t.Fatal(err)
	}
	folder, targets := t.TempDir(), t.TempDir()
	downloadFrom(t, demo.url, demo.keys.Full, folder, "all")
	const days, hours = "startDate=2026-09-01&endDate=2026-09-30", "startDate=2026-09-01&endDate=2026-09-30T23:59:59.999Z"
	for name, target := range map[string]string{
		"gpu-hourly 2026-09 H100 SXM us-east": "/api/gpu/H100%20SXM/hourly?region=us-east&" + hours,
		"gpu-daily 2026-09 H200 global":       "/api/gpu/H200/index-history?" + days,
		"gpu-utilization 2026-09 H200 global": "/api/gpu/H200/volume-metrics?order=asc&" + hours,
		"memory-daily 2026-09 mem_ddr5_16gb":  "/api/memory/mem_ddr5_16gb/history?" + days,
		"otpi 2026-09 openai":                 "/api/otpi?lab=openai&" + days,
		"workload 2026-09 openai all":         "/api/workload?lab=openai&family=all&" + days,
		"workload-daily 2026-09 openai all":   "/api/workload?lab=openai&family=all&windowDays=1&" + days,
		"coding 2026-09 cc-vs-codex":          "/api/llm-coding/history?product=cc-vs-codex&" + days,
	} {
		response, body, err := getWith(http.DefaultClient, demo.keys.Full, demo.url+target)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %.200s", target, err, body)
		}
		if err := os.WriteFile(filepath.Join(targets, name+".json"), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "node", "../../tools/duckdb/bulk.js", folder, targets).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if lines := strings.Count(string(out), "\n"); lines != 8 {
		t.Errorf("%d datasets were compared, want 8: %s", lines, out)
	}
}
