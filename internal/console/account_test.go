package console_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
)

func TestAccount(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Session("trial session")
	r.Organization("Fund", assay.PlanFull, "trial@example.com")
	r.Organization("Club", assay.PlanNone, "trial@example.com")
	apitest.Golden(t, filepath.Join("responses", "account.txt"), "GET /api/account as a trial that is a member of two organizations\n\n"+r.Get("trial session", "/api/account").Golden())
	if got := r.Get("free session", "/api/account"); !strings.Contains(got.Text, `"plan":"none","plan_source":null,"plan_organization":null,"plan_until":null,"trial":false,"key_tier":null,"grants":[],"organizations":[]`) {
		t.Errorf("%s", got.Text)
	}
	for _, caller := range []string{"", "full", "revoked"} {
		if got := r.Get(caller, "/api/account"); got.StatusCode != 401 || !strings.Contains(got.Text, `"message":"Sign in first.","code":"session_required"`) {
			t.Errorf("as %q: %d %s", caller, got.StatusCode, got.Text)
		}
	}
}
