package assay

import "testing"

func TestPlan_Tier(t *testing.T) {
	t.Parallel()
	for plan, want := range map[Plan]Tier{PlanNone: Anonymous, "": Anonymous, PlanTrial: Premium, PlanPremium: Premium, PlanFull: Full} {
		if got := plan.Tier(); got != want {
			t.Errorf("%q is of the tier %s, want %s", plan, got, want)
		}
	}
}

func TestParsePlan(t *testing.T) {
	t.Parallel()
	for _, plan := range []Plan{PlanNone, PlanTrial, PlanPremium, PlanFull} {
		if got, err := ParsePlan(string(plan)); got != plan || err != nil {
			t.Errorf("%s is read as %s (%v)", plan, got, err)
		}
	}
	for _, bad := range []string{"", "Full", "anonymous", " full"} {
		if got, err := ParsePlan(bad); err == nil {
			t.Errorf("%q is read as %s", bad, got)
		}
	}
}

func TestGrant_Covers(t *testing.T) {
	t.Parallel()
	f := func(g Grant, at int64, want bool) {
		t.Helper()
		if got := g.Covers(at); got != want {
			t.Errorf("%+v covers %d: %t, want %t", g, at, got, want)
		}
	}
	open, ends := Grant{StartsAt: 10}, Grant{StartsAt: 10, EndsAt: 20}
	f(open, 9, false)
	f(open, 10, true)
	f(open, 1<<60, true)
	f(ends, 19, true)
	f(ends, 20, false)
	f(Grant{StartsAt: 10, EndsAt: 20, EndedAt: 15}, 14, true)
	f(Grant{StartsAt: 10, EndsAt: 20, EndedAt: 15}, 15, false)
	f(Grant{StartsAt: 10, EndedAt: 15}, 15, false)
	f(Grant{StartsAt: 10, EndsAt: 12, EndedAt: 15}, 12, false) // ended after its end
	f(Grant{StartsAt: 10, EndedAt: 5}, 10, false)              // called off before it began
}
