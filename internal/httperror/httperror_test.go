package httperror_test

import (
	"fmt"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/httperror"
)

func TestKinds_EveryOneHasAStatus(t *testing.T) {
	t.Parallel()
	seen := map[string]assay.Kind{}
	for _, k := range assay.Kinds() {
		status, label := httperror.Status(k), httperror.Label(k)
		if status < 400 || status > 599 || label == "" {
			t.Errorf("kind %d has the status %d and the label %q", k, status, label)
		}
		// Status and label together identify the kind, so that a client can map them back.
		key := fmt.Sprint(status, label)
		if other, ok := seen[key]; ok {
			t.Errorf("kinds %d and %d share the row %q", other, k, key)
		}
		seen[key] = k
	}
}

func TestKinds_AsTheContractSays(t *testing.T) {
	t.Parallel()
	f := func(k assay.Kind, status int, label string) {
		t.Helper()
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			if gotStatus, gotLabel := httperror.Status(k), httperror.Label(k); gotStatus != status || gotLabel != label {
				t.Errorf("got %d %q, want %d %q", gotStatus, gotLabel, status, label)
			}
			if got := httperror.Kind(status, label); got != k {
				t.Errorf("%d %s is read as kind %d, want %d", status, label, got, k)
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

// Proxies respond with what the server never would.
func TestKind_OfOthers(t *testing.T) {
	t.Parallel()
	f := func(status int, label string, want assay.Kind) {
		t.Helper()
		if got := httperror.Kind(status, label); got != want {
			t.Errorf("%d %q is read as kind %d, want %d", status, label, got, want)
		}
	}
	f(404, "", assay.NotFound)
	f(404, "No data available", assay.NoData)
	f(429, "slow down", assay.TooMany)
	f(502, "", assay.Unavailable)
	f(504, "", assay.Unavailable)
	f(431, "", assay.Invalid)
	f(418, "", assay.Invalid)
	f(500, "", assay.Internal)
	f(507, "", assay.Internal)
	f(302, "", assay.Internal)
}
