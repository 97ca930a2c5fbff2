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
