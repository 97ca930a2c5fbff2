package console

import (
	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/web"
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
		ID: v.ID, Email: v.Email, Name: v.Name, HasPassword: v.HasPassword, Issuer: web.Optional(v.Issuer),
		CreatedAt: assay.FormatInstant(v.CreatedAt), Tier: v.Tier.String(), Plan: v.Plan, Source: web.Optional(v.Source),
		Organization: web.Optional(v.Organization), PlanUntil: optionalInstant(v.PlanUntil), Trial: v.Trial,
		KeyTier: web.Optional(v.KeyTier), Grants: []grantView{}, Organizations: []organizationView{},
	}
	for _, g := range v.Grants {
		shown.Grants = append(shown.Grants, grantView{
			ID: g.ID, Plan: g.Plan, StartsAt: assay.FormatInstant(g.StartsAt), EndsAt: optionalInstant(g.Until()),
		})
	}
	for _, o := range v.Organizations {
		shown.Organizations = append(shown.Organizations, newOrganizationView(&o))
	}
	return shown
}

func newOrganizationView(o *assay.Organization) organizationView {
	shown := organizationView{
		ID: o.ID, Name: o.Name, Plan: o.Plan, PlanUntil: optionalInstant(o.PlanUntil), Role: o.Role, Members: []memberView{},
	}
	for _, m := range o.Members {
		shown.Members = append(shown.Members, memberView{
			Email: m.Email, Name: m.Name, Role: m.Role, Since: assay.FormatInstant(m.Since),
		})
	}
	return shown
}

// showAccount serves who is signed in, what they have and what they may do.
func (c *Console) showAccount(r *web.Request) (web.Response, error) {
	view, err := c.Accounts.Account(r.Caller().AccountID)
	if err != nil {
		return web.Response{}, err
	}
	return data(newAccountView(&view))
}

// changePassword replaces the password, and ends all other sessions.
func (c *Console) changePassword(r *web.Request) (web.Response, error) {
	var given struct {
		Current string `json:"current"`
		Next    string `json:"next"`
	}
	if err := r.ReadJSON(&given, "current", "next"); err != nil {
		return web.Response{}, err
	}
	finished, err := c.guesses.changePassword(r)
	if err != nil {
		return web.Response{}, err
	}
	err = c.Accounts.ChangePassword(r.Context(), r.Caller().AccountID, given.Current, given.Next, r.SessionToken())
	finished(err)
	if err != nil {
		return web.Response{}, err
	}
	return done()
}
