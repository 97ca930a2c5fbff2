package assay

import (
	"encoding/json"
	"testing"
)

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

func TestKey_JSON(t *testing.T) {
	t.Parallel()
	key := Key{
		KeySummary: KeySummary{ID: "4fQz8K", Name: "desk", Prefix: "sk_prem_4fQz8K", Tier: Premium, CreatedAt: 1},
		RevokedAt:  2, Status: "revoked",
	}
	got, err := json.Marshal(key)
	want := `{"id":"4fQz8K","name":"desk","prefix":"sk_prem_4fQz8K","tier":"premium",` +
		`"created_at":"1970-01-01T00:00:00.001Z","expires_at":null,"last_used_at":null,` +
		`"revoked_at":"1970-01-01T00:00:00.002Z","status":"revoked"}`
	if err != nil || string(got) != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}
