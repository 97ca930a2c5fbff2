package keys

import (
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// The ends of keys by the history they hang on. Every account and organization here is number 1.
func TestEnds(t *testing.T) {
	t.Parallel()
	f := func(k store.Key, r store.Directory, want int64) {
		t.Helper()
		if got := NewEnds(&r).Of(k); got != want {
			t.Errorf("%+v ends at %d, want %d", k, got, want)
		}
	}
	grants := func(list ...assay.Grant) store.Directory {
		for i := range list {
			list[i].AccountID = 1
		}
		return store.Directory{Grants: list}
	}
	premium := store.Key{AccountID: 1, Tier: assay.Premium, Basis: "grant", CreatedAt: 50}
	full := store.Key{AccountID: 1, Tier: assay.Full, Basis: "grant", CreatedAt: 50}
	f(store.Key{CreatedAt: 50}, store.Directory{}, 0) // the operator's
	f(store.Key{CreatedAt: 50, ExpiresAt: 70}, store.Directory{}, 70)
	f(premium, store.Directory{}, 50) // nothing to hang on
	f(premium, grants(assay.Grant{Plan: assay.PlanPremium, StartsAt: 10}), 0)
	f(premium, grants(assay.Grant{Plan: assay.PlanTrial, StartsAt: 10, EndsAt: 90}), 90)
	endedTrial := assay.Grant{Plan: assay.PlanTrial, StartsAt: 10, EndsAt: 90, EndedAt: 80}
	endedFull := assay.Grant{Plan: assay.PlanFull, StartsAt: 10, EndedAt: 80}
	f(premium, grants(endedTrial, assay.Grant{Plan: assay.PlanFull, StartsAt: 80}), 0)
	f(full, grants(endedFull, assay.Grant{Plan: assay.PlanPremium, StartsAt: 80}), 80)
	f(full, grants(endedFull, assay.Grant{Plan: assay.PlanFull, StartsAt: 81}), 80)
	soon := premium
	soon.ExpiresAt = 60
	f(soon, grants(assay.Grant{Plan: assay.PlanPremium, StartsAt: 10, EndsAt: 90}), 60)
	other := premium
	other.AccountID = 2
	f(other, grants(assay.Grant{Plan: assay.PlanPremium, StartsAt: 10}), 50)

	closed := grants(assay.Grant{Plan: assay.PlanPremium, StartsAt: 10})
	closed.Accounts = []assay.Account{{ID: 1, ClosedAt: 75}}
	f(premium, closed, 75)

	member := store.Key{AccountID: 1, Tier: assay.Full, Basis: "organization", OrgID: 1, CreatedAt: 50}
	seats := []store.Membership{{OrgID: 1, AccountID: 1, From: 10, Until: 60}, {OrgID: 1, AccountID: 1, From: 60}}
	floor := func(from, until int64, plan assay.Plan) store.OrgPlan {
		return store.OrgPlan{OrgID: 1, Plan: plan, From: from, Until: until}
	}
	f(member, store.Directory{Memberships: seats, Plans: []store.OrgPlan{floor(20, 0, assay.PlanFull)}}, 0)
	fullThenPremium := []store.OrgPlan{floor(20, 80, assay.PlanFull), floor(80, 0, assay.PlanPremium)}
	fullThenFull := []store.OrgPlan{floor(20, 80, assay.PlanFull), floor(80, 0, assay.PlanFull)}
	f(member, store.Directory{Memberships: seats, Plans: fullThenPremium}, 80)
	f(member, store.Directory{Memberships: seats, Plans: fullThenFull}, 0)
	f(member, store.Directory{Memberships: seats[:1], Plans: []store.OrgPlan{floor(20, 0, assay.PlanFull)}}, 60)
	f(member, store.Directory{Plans: []store.OrgPlan{floor(20, 0, assay.PlanFull)}}, 50)
	// A grant of its own does not hold a key that hangs on an organization.
	both := grants(assay.Grant{Plan: assay.PlanFull, StartsAt: 10})
	both.Memberships, both.Plans = seats[:1], []store.OrgPlan{floor(20, 0, assay.PlanFull)}
	f(member, both, 60)
}
