package api_test

import (
	"fmt"
	"testing"

	"github.com/assaydata/assay"
)

// TestRespond_CachedOrNot: a series caches the responses to some ranges only, and the text is the same either way.
func TestRespond_CachedOrNot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	series := r.Snapshots.Load().Line("H200", assay.Global).Series(assay.Daily)
	for i := range series.Len() {
		got := r.Get("full", "/api/gpu/H200/index-history?startDate="+string(assay.AppendInstant(nil, series.At(i).At)))
		head := fmt.Sprintf(`{"success":true,"gpu_type":"H200","region":"global","access":"full","granularity":"daily","count":%d,"has_more":false,"data":[`, series.Len()-i)
		if got.Text != head+string(series.AppendText(nil, i, series.Len()))+"]}" {
			t.Fatalf("from row %d: %.200s", i, got.Text)
		}
	}
}
