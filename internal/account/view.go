package account

import (
	"slices"

	"github.com/assaydata/assay"
)

// View is an account as its owner sees it.
type View struct {
	assay.Account
	Tier          assay.Tier // what it may read now
	Plan          assay.Plan // the highest plan in force, or none
	Source        string     // of the plan: grant, organization, or empty
	Organization  string     // the organization that has the plan, or empty
	PlanUntil     int64      // when the plan ends; 0: open, or no plan
	Trial         bool       // whether the plan is a trial
	KeyTier       string     // of the key that it may create now: premium, full, or empty for none
	Grants        []assay.Grant
	Organizations []assay.Organization
}

// Account returns an account, with grants and organizations oldest first.
func (s *Service) Account(accountID int64) (View, error) {
	one, err := s.person(accountID)
	if err != nil {
		return View{}, err
	}
	return one.view(s.now()), nil
}

func (p *person) view(now int64) View {
	v := View{Account: p.Account, Tier: p.tierAt(now), Plan: p.grantedPlan(now), Grants: slices.Clone(p.grants)}
	if v.Plan != assay.PlanNone {
		v.Source, v.PlanUntil = "grant", p.grantedUntil(v.Plan, now)
	}
	for _, m := range p.memberships {
		if !isIn(now, m.From, m.Until) {
			continue
		}
		o := m.view(now)
		o.Role = m.Role
		v.Organizations = append(v.Organizations, o)
		if o.Plan.Tier() > v.Plan.Tier() { // a grant takes precedence over an equal plan
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
	for _, m := range o.members {
		if isIn(now, m.From, m.Until) && m.ClosedAt == 0 {
			shown.Members = append(shown.Members, assay.Member{
				AccountID: m.ID, Email: m.Email, Name: m.Name, Role: m.Role, Since: m.From,
			})
		}
	}
	return shown
}

// errNoAccount is the error of a session whose account no longer exists. Other callers never see it.
var errNoAccount = &assay.Error{Kind: assay.NotFound, Code: "unknown_account", Message: "There is no such account."}

func (s *Service) person(accountID int64) (*person, error) {
	if one := s.people.Load().byID[accountID]; one != nil {
		return one, nil
	}
	return nil, errNoAccount
}

// TierOf is what an account may read now; open is false if it is closed. It does not wait for the database.
func (s *Service) TierOf(accountID int64) (tier assay.Tier, open bool) {
	one, err := s.person(accountID)
	if err != nil || one.ClosedAt != 0 {
		return assay.Anonymous, false
	}
	return one.tierAt(s.now()), true
}
