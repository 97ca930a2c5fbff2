package httpapi

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydata/assay"
)

func TestAccount(t *testing.T) {
	r := newRig(t)
	r.session("trial session")
	r.organization("Fund", assay.PlanFull, "trial@example.com")
	r.organization("Club", assay.PlanNone, "trial@example.com")
	golden(t, filepath.Join("answers", "account.txt"), "GET /api/account as a trial that is a member of two organizations\n\n"+r.get("trial session", "/api/account").text())
	if got := r.get("free session", "/api/account"); !strings.Contains(got.body, `"plan":"none","plan_source":null,"plan_organization":null,"plan_until":null,"trial":false,"key_tier":null,"grants":[],"organizations":[]`) {
		t.Errorf("%s", got.body)
	}
	for _, caller := range []string{"", "full", "revoked"} {
		if got := r.get(caller, "/api/account"); got.StatusCode != 401 || !strings.Contains(got.body, `"message":"Sign in first.","code":"session_required"`) {
			t.Errorf("as %q: %d %s", caller, got.StatusCode, got.body)
		}
	}
}
