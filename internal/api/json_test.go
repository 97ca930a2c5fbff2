package api

import (
	"encoding/json"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/snapshot"
)

// TestAppend: what is appended is what encoding/json would have written, and what was there before stays.
func TestAppend(t *testing.T) {
	t.Parallel()
	f := func(got []byte, want any) {
		t.Helper()
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != "x"+string(text) {
			t.Errorf("appended %s, want x%s", got, text)
		}
	}
	x := func() []byte { return []byte("x") }
	for _, s := range []string{"", "H100 SXM", `a"b\c`, "<&>", "ü\x00\n", "\xff", "日本"} {
		f(assay.AppendString(x(), s), s)
	}
	type stats struct {
		Min     *assay.Nanos `json:"min_index"`
		Max     *assay.Nanos `json:"max_index"`
		StdDev  *assay.Nanos `json:"std_dev"`
		Samples int          `json:"samples_count"`
	}
	low, high, dev := assay.Nanos(1_500_000_000), assay.Nanos(2_000_100_000), assay.Nanos(1_000)
	f(appendStats(x(), index.Stats{Min: low, Max: high, StdDev: dev, Samples: 24}), stats{&low, &high, &dev, 24})
	f(appendStats(x(), index.Stats{}), stats{})
	type row struct {
		GPUType string      `json:"gpu_type"`
		Region  string      `json:"region"`
		Average assay.Nanos `json:"average_usd_per_hour"`
		At      string      `json:"timestamp"`
	}
	h := &gpuHistory{line: snapshot.New(assay.DefaultCatalog(), 1).Line("H200", assay.Global)}
	f(h.appendAverageRow(x(), assay.Point{At: 1, Value: low}), row{"H200", "global", low, "1970-01-01T00:00:00.001Z"})
}
