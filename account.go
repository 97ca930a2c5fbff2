package assay

import "fmt"

// Plan is what an account or an organization was given. A tier is what a caller may read; several plans lead to the
// same.
type Plan string

// The plans, lowest first.
const (
	PlanNone    Plan = "none"  // of organizations and of accounts without a grant
	PlanTrial   Plan = "trial" // Premium for TrialLength
	PlanPremium Plan = "premium"
	PlanFull    Plan = "full"
)

// TrialLength is how long a trial lasts from its start.
const TrialLength = 72 * Hour

// Tier is what a plan lets its holder read.
func (p Plan) Tier() Tier {
	switch p {
	case PlanTrial, PlanPremium:
		return Premium
	case PlanFull:
		return Full
	case PlanNone:
	}
	return Anonymous
}

// ParsePlan reads a plan's word.
func ParsePlan(s string) (Plan, error) {
	switch p := Plan(s); p {
	case PlanNone, PlanTrial, PlanPremium, PlanFull:
		return p, nil
	}
	return PlanNone, fmt.Errorf("plan %q: allowed are none, trial, premium and full", s)
}

// Account is somebody who signs in.
type Account struct {
	ID          int64
	Email       string // in lower case
	Name        string
	HasPassword bool
	Issuer      string // of the OpenID Connect identity that is linked; empty without one
	CreatedAt   int64
	ClosedAt    int64 // 0: open
}

// Grant is access that an account was given itself.
type Grant struct {
	ID        int64
	AccountID int64
	Plan      Plan
	StartsAt  int64
	EndsAt    int64 // as it was given; 0: open
	EndedAt   int64 // when it was ended early; 0: it was not
}

// Until is the instant at which a grant ends or ended; 0 when it has no end.
func (g Grant) Until() int64 {
	if g.EndedAt != 0 && (g.EndsAt == 0 || g.EndedAt < g.EndsAt) {
		return g.EndedAt
	}
	return g.EndsAt
}

// Covers tells whether a grant is in force at an instant.
func (g Grant) Covers(at int64) bool {
	until := g.Until()
	return g.StartsAt <= at && (until == 0 || at < until)
}

// Organization is a group of accounts with a plan: the floor below which none of its members falls.
type Organization struct {
	ID        int64
	Name      string
	CreatedAt int64
	Plan      Plan  // in force
	PlanUntil int64 // when it ends; 0: open
	Role      string
	Members   []Member
}

// Member is an account in an organization.
type Member struct {
	AccountID int64
	Email     string
	Name      string
	Role      string
	Since     int64
}

// The roles of members.
const (
	RoleOwner  = "owner"
	RoleMember = "member"
)
