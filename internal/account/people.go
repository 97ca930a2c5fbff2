package account

import (
	"cmp"
	"maps"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/store"
)

// people is the directory as of one load.
type people struct {
	counter       int64
	byID          map[int64]*person
	byEmail       map[string]*person
	organizations map[int64]*organization
	ends          *keys.Ends
}

// person is an account with its access history.
type person struct {
	assay.Account
	grants      []assay.Grant // oldest first
	memberships []membership  // oldest first
}

// membership is a period in which a person is a member of an organization.
type membership struct {
	*organization
	store.Membership
}

// organization is an organization with its history.
type organization struct {
	assay.Organization
	plans   []store.OrgPlan
	members []member // oldest first
}

// member is a period in which an organization has a member.
type member struct {
	*person
	store.Membership
}

func newPeople(d *store.Directory) *people {
	p := &people{
		counter: d.Counters.Accounts, ends: keys.NewEnds(d),
		byID: map[int64]*person{}, byEmail: map[string]*person{}, organizations: map[int64]*organization{},
	}
	for _, a := range d.Accounts {
		one := &person{Account: a}
		p.byID[a.ID], p.byEmail[a.Email] = one, one
	}
	for _, g := range d.Grants {
		if one := p.byID[g.AccountID]; one != nil {
			one.grants = append(one.grants, g)
		}
	}
	for _, o := range d.Organizations {
		p.organizations[o.ID] = &organization{Organization: o}
	}
	for _, plan := range d.Plans {
		if o := p.organizations[plan.OrgID]; o != nil {
			o.plans = append(o.plans, plan)
		}
	}
	for _, m := range d.Memberships {
		if one, o := p.byID[m.AccountID], p.organizations[m.OrgID]; one != nil && o != nil {
			one.memberships = append(one.memberships, membership{organization: o, Membership: m})
			o.members = append(o.members, member{person: one, Membership: m})
		}
	}
	return p
}

// organization finds an organization by its name.
func (p *people) organization(name string) *organization {
	for _, o := range p.organizations {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// inOrder lists accounts, oldest first.
func (p *people) inOrder() []*person {
	return slices.SortedFunc(maps.Values(p.byID), func(a, b *person) int { return cmp.Compare(a.ID, b.ID) })
}

// organizationsInOrder lists organizations, oldest first.
func (p *people) organizationsInOrder() []*organization {
	byID := func(a, b *organization) int { return cmp.Compare(a.ID, b.ID) }
	return slices.SortedFunc(maps.Values(p.organizations), byID)
}

// isIn reports whether an instant lies in [from, until); until 0 means no end.
func isIn(at, from, until int64) bool { return from <= at && (until == 0 || at < until) }

// planAt is the plan of an organization at an instant, and when it ends; 0 for no end.
func (o *organization) planAt(at int64) (assay.Plan, int64) {
	for _, p := range o.plans {
		if isIn(at, p.From, p.Until) {
			return p.Plan, p.Until
		}
	}
	return assay.PlanNone, 0
}

// grantedPlan is the highest plan of a person's grants at an instant.
func (p *person) grantedPlan(at int64) assay.Plan {
	plan := assay.PlanNone
	for _, g := range p.grants {
		if g.Covers(at) && g.Plan.Tier() > plan.Tier() {
			plan = g.Plan
		}
	}
	return plan
}

// grantedUntil is when a granted plan ends that is in force at an instant; 0 for no end.
func (p *person) grantedUntil(plan assay.Plan, at int64) int64 {
	var spans []access.Period
	for _, g := range p.grants {
		if g.Plan == plan {
			span := access.Period{From: g.StartsAt, Until: g.Until()}
			if span.Until == 0 {
				span.Until = access.Forever
			}
			spans = append(spans, span)
		}
	}
	if until := access.CoveredUntil(spans, at); until != access.Forever {
		return until
	}
	return 0
}

// tierAt is what a person may read at an instant: the highest tier of grants and organizations.
func (p *person) tierAt(at int64) assay.Tier {
	tier := p.grantedPlan(at).Tier()
	for _, m := range p.memberships {
		if isIn(at, m.From, m.Until) {
			plan, _ := m.planAt(at)
			tier = max(tier, plan.Tier())
		}
	}
	return tier
}

// keyTierAt is the tier of the key that a person may create at an instant, its basis, and the organization it is based
// on, or 0.
func (p *person) keyTierAt(at int64) (tier assay.Tier, basis access.Basis, org int64, err error) {
	var plans []assay.Plan
	for _, m := range p.memberships {
		if !isIn(at, m.From, m.Until) {
			continue
		}
		plan, _ := m.planAt(at)
		plans = append(plans, plan)
		if plan == assay.PlanFull && org == 0 {
			org = m.OrgID
		}
	}
	tier, basis, err = access.KeyTier(p.grantedPlan(at), plans)
	if basis != access.OnOrganization {
		org = 0
	}
	return tier, basis, org, err
}
