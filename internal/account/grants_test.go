package account

import (
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// Dates far enough apart to tell, in days since the start.
func day(n int64) int64 { return start + n*assay.Day }

func TestDecideGrant(t *testing.T) {
	t.Parallel()
	const now = start
	f := func(has []assay.Grant, request GrantRequest, from, until int64, ends ...int64) {
		t.Helper()
		got, err := decideGrant(has, request, now)
		if err != nil {
			t.Errorf("%+v: %v", request, err)
			return
		}
		if got.Add.Plan != request.Plan || got.Add.StartsAt != from || got.Add.EndsAt != until || got.At != from {
			t.Errorf("%+v gives %+v, want it from %d until %d", request, got, from, until)
		}
		if len(got.End) != len(ends) || len(ends) > 0 && got.End[0] != ends[0] {
			t.Errorf("%+v ends the grants %v, want %v", request, got.End, ends)
		}
	}
	grant := func(id int64, plan assay.Plan, from, until int64) assay.Grant {
		return assay.Grant{ID: id, Plan: plan, StartsAt: from, EndsAt: until}
	}
	trial, premium := GrantRequest{Plan: assay.PlanTrial}, GrantRequest{Plan: assay.PlanPremium}
	full := GrantRequest{Plan: assay.PlanFull}
	f(nil, trial, now, now+assay.TrialLength)
	f(nil, GrantRequest{Plan: assay.PlanTrial, From: day(2)}, day(2), day(5))
	f(nil, premium, now, 0)
	f(nil, GrantRequest{Plan: assay.PlanFull, From: day(2), Until: day(3)}, day(2), day(3))

	open := []assay.Grant{grant(1, assay.PlanPremium, day(-9), 0)}
	f(open, full, now, 0, 1)                                                        // up
	f([]assay.Grant{grant(2, assay.PlanFull, day(-9), day(9))}, premium, now, 0, 2) // down
	f(open, GrantRequest{Plan: assay.PlanFull, From: day(5)}, day(5), 0, 1)         // later
	f([]assay.Grant{grant(3, assay.PlanTrial, day(-1), day(2))}, premium, now, 0, 3)
	f([]assay.Grant{grant(3, assay.PlanTrial, day(-9), day(-6))}, premium, now, 0)  // over long ago
	f([]assay.Grant{grant(4, assay.PlanPremium, day(-9), day(9))}, premium, now, 0) // extended
	f([]assay.Grant{grant(4, assay.PlanPremium, day(-9), day(9))},
		GrantRequest{Plan: assay.PlanPremium, From: day(9), Until: day(19)}, day(9), day(19))
	f([]assay.Grant{grant(5, assay.PlanFull, day(9), 0)},
		GrantRequest{Plan: assay.PlanPremium, Until: day(9)}, now, day(9)) // until the other begins
	f([]assay.Grant{{ID: 6, Plan: assay.PlanFull, StartsAt: day(9), EndedAt: day(-1)}},
		premium, now, 0) // ended before it began
	f([]assay.Grant{grant(7, assay.PlanTrial, day(-9), day(-6))},
		GrantRequest{Plan: assay.PlanTrial, Again: true}, now, now+assay.TrialLength)

	refused := func(has []assay.Grant, request GrantRequest, why string) {
		t.Helper()
		if _, err := decideGrant(has, request, now); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%+v: the error is %v, want %q", request, err, why)
		}
	}
	refused(nil, GrantRequest{Plan: assay.PlanNone}, `plan "none": allowed are trial, premium and full`)
	refused(nil, GrantRequest{Plan: assay.PlanFull, From: now - 1}, "is past")
	refused(nil, GrantRequest{Plan: assay.PlanFull, From: day(3), Until: day(3)}, "is not after the start")
	refused(nil, GrantRequest{Plan: assay.PlanFull, Until: now - 1}, "is not after the start")
	refused(nil, GrantRequest{Plan: assay.PlanTrial, Until: day(9)}, "a trial lasts 72 hours")
	refused([]assay.Grant{grant(7, assay.PlanTrial, day(-9), day(-6))}, trial, "the account has had a trial, from ")
	refused(open, premium, "the account is granted premium for that time already (grant 1)")
	refused([]assay.Grant{grant(4, assay.PlanPremium, day(-9), day(9))},
		GrantRequest{Plan: assay.PlanPremium, Until: day(9)}, "already (grant 4)")
	refused([]assay.Grant{grant(5, assay.PlanFull, day(9), 0)}, premium, "end grant 5 first")
	refused(open, trial, "the account has premium access, which a trial would take away")
}

func TestGrants_View(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testGrantsView)
}

func testGrantsView(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	id := h.add("ann@example.com")
	want := func(plan assay.Plan, source string, until int64, trial bool) {
		t.Helper()
		v, err := h.Account(id)
		if err != nil || v.Plan != plan || v.Source != source || v.PlanUntil != until || v.Trial != trial || v.Tier != plan.Tier() {
			t.Errorf("the view is %+v (%v), want %s by %q until %d", v, err, plan, source, until)
		}
	}
	want(assay.PlanNone, "", 0, false)
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanTrial})
	want(assay.PlanTrial, "grant", start+assay.TrialLength, true)
	h.organization("Fund", assay.PlanPremium, "ann@example.com")
	want(assay.PlanTrial, "grant", start+assay.TrialLength, true) // no more than its own
	h.must(h.SetPlan(h.ctx(), "Fund", assay.PlanFull))
	want(assay.PlanFull, "organization", 0, false)
	h.must(h.SetPlan(h.ctx(), "Fund", assay.PlanTrial))
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanPremium, Until: day(10)})
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanPremium, From: day(10), Until: day(20)})
	want(assay.PlanPremium, "grant", day(20), false) // the two are one
	h.at = day(20)
	want(assay.PlanNone, "", 0, false) // the organization's trial is over, too
	v, err := h.Account(id)
	if err != nil || len(v.Grants) != 3 || len(v.Organizations) != 1 || v.Organizations[0].Plan != assay.PlanNone || v.Organizations[0].Role != assay.RoleMember {
		t.Errorf("the view is %+v (%v)", v, err)
	}
	if members := v.Organizations[0].Members; len(members) != 1 || members[0] != (assay.Member{AccountID: id, Email: "ann@example.com", Role: assay.RoleMember, Since: start}) {
		t.Errorf("the members are %+v", members)
	}
	_, err = h.Account(99)
	wantCode(t, err, assay.NotFound, "unknown_account")
}
