package web

import (
	"fmt"
	"testing"

	"github.com/assaydata/assay"
)

func TestKinds_EveryOneHasAStatus(t *testing.T) {
	t.Parallel()
	seen := map[string]assay.Kind{}
	for _, k := range assay.Kinds() {
		row := kinds[k]
		if row.status < 400 || row.status > 599 || row.label == "" {
			t.Errorf("kind %d has the status %d and the label %q", k, row.status, row.label)
		}
		// Status and label together identify the kind, so that a client can map them back.
		key := fmt.Sprint(row.status, row.label)
		if other, ok := seen[key]; ok {
			t.Errorf("kinds %d and %d share the row %q", other, k, key)
		}
		seen[key] = k
	}
	if len(kinds) != len(seen) {
		t.Errorf("the table has %d rows for %d kinds", len(kinds), len(seen))
	}
}

func TestKinds_AsTheContractSays(t *testing.T) {
	t.Parallel()
	f := func(k assay.Kind, status int, label string) {
		t.Helper()
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			if got := kinds[k]; got.status != status || got.label != label || Status(k) != status {
				t.Errorf("got %d %q, want %d %q", got.status, got.label, status, label)
			}
		})
	}
	f(assay.Invalid, 400, "Bad request")
	f(assay.Unauthorized, 401, "Unauthorized")
	f(assay.Forbidden, 403, "Forbidden")
	f(assay.NotFound, 404, "Not found")
	f(assay.NoData, 404, "No data available")
	f(assay.MethodNotAllowed, 405, "Method not allowed")
	f(assay.TooLarge, 413, "Payload too large")
	f(assay.URITooLong, 414, "URI too long")
	f(assay.TooMany, 429, "Too many requests")
	f(assay.Internal, 500, "Internal server error")
	f(assay.Unavailable, 503, "Service unavailable")
}
