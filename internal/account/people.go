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

// people is one reading of the directory.
type people struct {
	counter       int64
	byID          map[int64]*person
	byEmail       map[string]*person
	organizations map[int64]*organization
	ends          *keys.Ends
}

// person is an account with everything it was ever given.
type person struct {
	assay.Account
	grants []assay.Grant // oldest first
	seats  []seat        // oldest first
}

// seat is a person's time in an organization.
type seat struct {
	*organization
	store.Membership
}

// organization is one with its history.
type organization struct {
	assay.Organization
	floors []store.OrgPlan
	seats  []member // oldest first
}

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
	for _, f := range d.Plans {
		if o := p.organizations[f.OrgID]; o != nil {
			o.floors = append(o.floors, f)
		}
	}
	for _, m := range d.Memberships {
		if one, o := p.byID[m.AccountID], p.organizations[m.OrgID]; one != nil && o != nil {
			one.seats = append(one.seats, seat{o, m})
			o.seats = append(o.seats, member{one, m})
		}
	}
	return p
}

// organization finds one by its name.
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
	return slices.SortedFunc(maps.Values(p.organizations), func(a, b *organization) int { return cmp.Compare(a.ID, b.ID) })
}

// isIn tells whether an instant lies in [from, until); until 0 is no end.
func isIn(at, from, until int64) bool { return from <= at && (until == 0 || at < until) }

// planAt is the plan of an organization at an instant, and when it ends; 0 for no end.
func (o *organization) planAt(at int64) (assay.Plan, int64) {
	for _, f := range o.floors {
		if isIn(at, f.From, f.Until) {
			return f.Plan, f.Until
		}
	}
	return assay.PlanNone, 0
}

// ownPlan is the plan of a person's own grants at an instant.
func (p *person) ownPlan(at int64) assay.Plan {
	plan := assay.PlanNone
	for _, g := range p.grants {
		if g.Covers(at) && g.Plan.Tier() > plan.Tier() {
			plan = g.Plan
		}
	}
	return plan
}

// ownPlanUntil is when a plan of a person's own ends that is in force at an instant; 0 for no end.
func (p *person) ownPlanUntil(plan assay.Plan, at int64) int64 {
	var spans []access.Span
	for _, g := range p.grants {
		if g.Plan == plan {
			span := access.Span{From: g.StartsAt, Until: g.Until()}
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

// tierAt is what a person may read at an instant: the highest of what grants and organizations give.
func (p *person) tierAt(at int64) assay.Tier {
	tier := p.ownPlan(at).Tier()
	for _, s := range p.seats {
		if isIn(at, s.From, s.Until) {
			plan, _ := s.planAt(at)
			tier = max(tier, plan.Tier())
		}
	}
	return tier
}

// keyTierAt says which key a person may create at an instant, on what basis, and on which organization if on one.
func (p *person) keyTierAt(at int64) (assay.Tier, access.Basis, int64, error) {
	var plans []assay.Plan
	var full int64
	for _, s := range p.seats {
		if !isIn(at, s.From, s.Until) {
			continue
		}
		plan, _ := s.planAt(at)
		plans = append(plans, plan)
		if plan == assay.PlanFull && full == 0 {
			full = s.OrgID
		}
	}
	tier, basis, err := access.KeyTier(p.ownPlan(at), plans)
	if basis != access.OnOrganization {
		full = 0
	}
	return tier, basis, full, err
}
