package httpapi

import (
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
)

// accountView is an account as its owner reads it.
type accountView struct {
	ID            int64              `json:"id"`
	Email         string             `json:"email"`
	Name          string             `json:"name"`
	HasPassword   bool               `json:"has_password"`
	Issuer        *string            `json:"oidc_issuer"`
	CreatedAt     string             `json:"created_at"`
	Tier          string             `json:"tier"`
	Plan          assay.Plan         `json:"plan"`
	Source        *string            `json:"plan_source"`
	Organization  *string            `json:"plan_organization"`
	PlanUntil     *string            `json:"plan_until"`
	Trial         bool               `json:"trial"`
	KeyTier       *string            `json:"key_tier"`
	Grants        []grantView        `json:"grants"`
	Organizations []organizationView `json:"organizations"`
}

type grantView struct {
	ID       int64      `json:"id"`
	Plan     assay.Plan `json:"plan"`
	StartsAt string     `json:"starts_at"`
	EndsAt   *string    `json:"ends_at"`
}

type organizationView struct {
	ID        int64        `json:"id"`
	Name      string       `json:"name"`
	Plan      assay.Plan   `json:"plan"`
	PlanUntil *string      `json:"plan_until"`
	Role      string       `json:"role"`
	Members   []memberView `json:"members"`
}

type memberView struct {
	Email string `json:"email"`
	Name  string `json:"name"`
	Role  string `json:"role"`
	Since string `json:"since"`
}

func newAccountView(v *account.View) accountView {
	shown := accountView{
		v.ID, v.Email, v.Name, v.HasPassword, given(v.Issuer), assay.FormatInstant(v.CreatedAt), v.Tier.String(), v.Plan, given(v.Source),
		given(v.Organization), givenInstant(v.PlanUntil), v.Trial, given(v.KeyTier),
		[]grantView{},
		[]organizationView{},
	}
	for _, g := range v.Grants {
		shown.Grants = append(shown.Grants, grantView{g.ID, g.Plan, assay.FormatInstant(g.StartsAt), givenInstant(g.Until())})
	}
	for _, o := range v.Organizations {
		members := []memberView{}
		for _, m := range o.Members {
			members = append(members, memberView{m.Email, m.Name, m.Role, assay.FormatInstant(m.Since)})
		}
		shown.Organizations = append(shown.Organizations, organizationView{o.ID, o.Name, o.Plan, givenInstant(o.PlanUntil), o.Role, members})
	}
	return shown
}

// givenInstant is nil for an instant that there is none of.
func givenInstant(ms int64) *string {
	if ms == 0 {
		return nil
	}
	return given(assay.FormatInstant(ms))
}

// showAccount answers who is signed in, what they have and what they may do.
func showAccount(c *call) (answer, error) {
	view, err := c.s.Accounts.Account(c.caller.AccountID)
	if err != nil {
		return answer{}, err
	}
	return data(newAccountView(&view))
}

// changePassword replaces the password, and ends all other sessions.
func changePassword(c *call) (answer, error) {
	var given struct {
		Current string `json:"current"`
		Next    string `json:"next"`
	}
	if err := c.readBody(&given, "current", "next"); err != nil {
		return answer{}, err
	}
	if err := c.countGuess(c.client, strconv.FormatInt(c.caller.AccountID, 10)); err != nil {
		return answer{}, err
	}
	if err := c.s.Accounts.ChangePassword(c.r.Context(), c.caller.AccountID, given.Current, given.Next, c.sessionToken()); err != nil {
		return answer{}, err
	}
	return done()
}

// data is the answer of a route of our own pages: one object.
func data(v any) (answer, error) {
	return own(struct {
		Success bool `json:"success"`
		Data    any  `json:"data"`
	}{true, v})
}

// done is the answer that says no more than that it was done.
func done() (answer, error) {
	return own(struct {
		Success bool `json:"success"`
	}{true})
}

// own is an answer that nobody may keep.
func own(v any) (answer, error) {
	a, err := object(v, 0)
	a.fresh = true
	return a, err
}
