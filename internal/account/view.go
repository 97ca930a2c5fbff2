package account

import (
	"slices"

	"github.com/assaydata/assay"
)

// View is an account as its owner sees it.
type View struct {
	assay.Account
	Tier          assay.Tier // what it may read now
	Plan          assay.Plan // in force, from where it is highest; none without one
	Source        string     // where the plan comes from: grant, organization, or empty
	Organization  string     // whose plan it is, if an organization's
	PlanUntil     int64      // when the plan ends; 0: open, or no plan
	Trial         bool       // whether the plan is a trial
	KeyTier       string     // of the key that it may create now: premium, full, or empty for none
	Grants        []assay.Grant
	Organizations []assay.Organization
}

// Account shows an account: grants and organizations oldest first.
func (s *Service) Account(accountID int64) (View, error) {
	one, err := s.person(accountID)
	if err != nil {
		return View{}, err
	}
	return one.view(s.now()), nil
}

func (p *person) view(now int64) View {
	v := View{Account: p.Account, Tier: p.tierAt(now), Plan: p.ownPlan(now), Grants: slices.Clone(p.grants)}
	if v.Plan != assay.PlanNone {
		v.Source, v.PlanUntil = "grant", p.ownPlanUntil(v.Plan, now)
	}
	for _, s := range p.seats {
		if !isIn(now, s.From, s.Until) {
			continue
		}
		o := s.view(now)
		o.Role = s.Role
		v.Organizations = append(v.Organizations, o)
		if o.Plan.Tier() > v.Plan.Tier() { // its own goes first where both are equal
			v.Source, v.Organization, v.Plan, v.PlanUntil = "organization", o.Name, o.Plan, o.PlanUntil
		}
	}
	v.Trial = v.Plan == assay.PlanTrial
	if tier, _, _, err := p.keyTierAt(now); err == nil {
		v.KeyTier = tier.String()
	}
	return v
}

// view is an organization with its plan and its members at an instant.
func (o *organization) view(now int64) assay.Organization {
	shown := o.Organization
	shown.Plan, shown.PlanUntil = o.planAt(now)
	for _, m := range o.seats {
		if isIn(now, m.From, m.Until) && m.ClosedAt == 0 {
			shown.Members = append(shown.Members, assay.Member{AccountID: m.ID, Email: m.Email, Name: m.Name, Role: m.Role, Since: m.From})
		}
	}
	return shown
}

// errNoAccount is what a session reads whose account is gone; nobody else is told.
var errNoAccount = &assay.Error{Kind: assay.NotFound, Code: "unknown_account", Message: "There is no such account."}

func (s *Service) person(accountID int64) (*person, error) {
	if one := s.people.Load().byID[accountID]; one != nil {
		return one, nil
	}
	return nil, errNoAccount
}
