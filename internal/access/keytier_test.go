package access

import (
	"testing"

	"github.com/assaydata/assay"
)

// Every own plan against every mixture of organizations' plans.
func TestKeyTier(t *testing.T) {
	t.Parallel()
	f := func(own assay.Plan, orgs []assay.Plan, tier assay.Tier, basis Basis) {
		t.Helper()
		gotTier, gotBasis, err := KeyTier(own, orgs)
		if gotTier != tier || gotBasis != basis {
			t.Errorf("own %s, organizations %v: got %s on %q, want %s on %q", own, orgs, gotTier, gotBasis, tier, basis)
		}
		if (err != nil) != (tier == assay.Anonymous) {
			t.Errorf("own %s, organizations %v: the error is %v", own, orgs, err)
		}
		if err == nil {
			return
		}
		const message = "API keys need an access grant of your own, or an organization on full access."
		if e := assay.AsError(err); e.Kind != assay.Forbidden || e.Code != "key_creation_refused" || e.Message != message {
			t.Errorf("the refusal is %+v", e)
		}
	}
	const none, trial, premium, full = assay.PlanNone, assay.PlanTrial, assay.PlanPremium, assay.PlanFull
	plans := func(list ...assay.Plan) []assay.Plan { return list }
	for _, without := range [][]assay.Plan{nil, plans(none), plans(trial), plans(premium), plans(trial, premium, none)} {
		f(none, without, assay.Anonymous, "")
		f("", without, assay.Anonymous, "")
		f(trial, without, assay.Premium, OnGrant)
		f(premium, without, assay.Premium, OnGrant)
		f(full, without, assay.Full, OnGrant)
	}
	for _, with := range [][]assay.Plan{plans(full), plans(none, full), plans(full, premium)} {
		f(none, with, assay.Full, OnOrganization)
		f("", with, assay.Full, OnOrganization)
		f(trial, with, assay.Premium, OnGrant)
		f(premium, with, assay.Premium, OnGrant)
		f(full, with, assay.Full, OnGrant)
	}
}
