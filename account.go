package assay

import "fmt"

// Plan is the access of an account or an organization. Several plans lead to the same tier, which is what a caller may
// read.
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

// ParsePlan parses a plan.
func ParsePlan(s string) (Plan, error) {
	switch p := Plan(s); p {
	case PlanNone, PlanTrial, PlanPremium, PlanFull:
		return p, nil
	}
	return PlanNone, fmt.Errorf("plan %q: allowed are none, trial, premium and full", s)
}

// Account is a person who can sign in.
type Account struct {
	ID          int64
	Email       string // in lower case
	Name        string
	HasPassword bool
	Temporary   bool   // whether the operator has set the password, and its owner must change it
	Issuer      string // of the linked OpenID Connect identity; empty: none
	CreatedAt   int64
	ClosedAt    int64 // 0: open

	SecondFactor bool // whether it has one
}

// Grant is access that was given to an account.
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

// Covers reports whether a grant is in force at an instant.
func (g Grant) Covers(at int64) bool {
	until := g.Until()
	return g.StartsAt <= at && (until == 0 || at < until)
}

// Organization is a group of accounts with a plan. No member has less access than the plan gives.
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

// Session is a sign-in that has not ended, as the account's owner sees it.
type Session struct {
	ID         string    `json:"id"`
	CreatedAt  Timestamp `json:"created_at"`
	LastUsedAt Timestamp `json:"last_used_at"` // give or take minutes
	ExpiresAt  Timestamp `json:"expires_at"`   // unless it is used again
	Address    *string   `json:"address"`      // of the client that signed in; nil if unknown
	UserAgent  *string   `json:"user_agent"`   // its program in short, such as Firefox on Linux; nil if unknown
	Current    bool      `json:"current"`      // whether the request that lists it belongs to it
}

// Key is an API key as its owner sees it.
type Key struct {
	KeySummary
	ExpiresAt  Timestamp `json:"expires_at"` // when it ends or ended, at the latest with the access it is based on
	LastUsedAt Timestamp `json:"last_used_at"`
	RevokedAt  Timestamp `json:"revoked_at"`
	Status     string    `json:"status"`
}

// KeySummary is what the owner sees of a key when it is created.
type KeySummary struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Prefix    string    `json:"prefix"` // the beginning of the key, with its id
	Tier      Tier      `json:"tier"`
	CreatedAt Timestamp `json:"created_at"`
}

// Timestamp is an instant, or 0 for none, which is null in JSON.
type Timestamp int64

// MarshalJSON writes t as in every response, or null.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	if t == 0 {
		return []byte("null"), nil
	}
	return []byte(`"` + FormatInstant(int64(t)) + `"`), nil
}
