package assay

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestKinds_EveryOneHasARow(t *testing.T) {
	seen := map[string]Kind{}
	for k := range kinds {
		if k.Status() < 400 || k.Status() > 599 || k.Label() == "" {
			t.Errorf("kind %d has the status %d and the label %q", k, k.Status(), k.Label())
		}
		// Status and label together name the kind, so that a client can turn the table round.
		row := fmt.Sprint(k.Status(), k.Label())
		if other, ok := seen[row]; ok {
			t.Errorf("kinds %d and %d share the row %q", other, k, row)
		}
		seen[row] = k
	}
}

func TestKinds_AsTheContractSays(t *testing.T) {
	f := func(k Kind, status int, label string) {
		t.Helper()
		if k.Status() != status || k.Label() != label {
			t.Errorf("got %d %q, want %d %q", k.Status(), k.Label(), status, label)
		}
	}
	f(Invalid, 400, "Bad request")
	f(Unauthorized, 401, "Unauthorized")
	f(Forbidden, 403, "Forbidden")
	f(NotFound, 404, "Not found")
	f(NoData, 404, "No data available")
	f(MethodNotAllowed, 405, "Method not allowed")
	f(TooLarge, 413, "Payload too large")
	f(URITooLong, 414, "URI too long")
	f(TooMany, 429, "Too many requests")
	f(Internal, 500, "Internal server error")
	f(Unavailable, 503, "Service unavailable")
}

func TestAsError_HidesInternals(t *testing.T) {
	cause := errors.New("dial tcp 10.0.0.7:5432: password of assay refused")
	e := AsError(fmt.Errorf("read the keys: %w", cause))
	if e.Kind != Internal || e.Code != "internal" || e.Kind.Status() != http.StatusInternalServerError {
		t.Errorf("got kind %d and code %q", e.Kind, e.Code)
	}
	for _, internal := range []string{"10.0.0.7", "password", "keys"} {
		if strings.Contains(e.Message, internal) {
			t.Errorf("the caller reads %q in %q", internal, e.Message)
		}
	}
	if !errors.Is(e, cause) || !strings.Contains(e.Error(), cause.Error()) {
		t.Errorf("the log does not get the cause: %v", e)
	}
}

func TestAsError_FindsOurs(t *testing.T) {
	ours := &Error{Kind: NotFound, Code: "unknown_region", Message: "No such region."}
	if got := AsError(fmt.Errorf("answer: %w", ours)); got != ours {
		t.Errorf("got %+v", got)
	}
	if ours.Error() != "No such region." || ours.Unwrap() != nil {
		t.Errorf("without a cause the text is %q, the cause %v", ours.Error(), ours.Unwrap())
	}
}
