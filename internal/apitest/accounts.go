package apitest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/factor"
	"github.com/assaydata/assay/internal/seal"
	"github.com/assaydata/assay/internal/web"
)

// Password is that of every account that has one.
const Password = "correct horse battery"

// Session returns the cookie of a caller such as "premium session". It creates account and session on first use: an
// account without a grant (free), with one (trial, premium, full), or a member of an organization on full access
// (member).
func (r *Rig) Session(caller string) string {
	r.Test.Helper()
	name, _, _ := strings.Cut(caller, " ")
	if cookie, ok := r.Sessions[name]; ok {
		return cookie
	}
	email := name + "@example.com"
	who := account.Identity{Issuer: "https://issuer.example", Subject: name, Email: email}
	in, err := r.Accounts.SignInAs(context.Background(), account.Client{}, who)
	r.Must(err)
	r.Sessions[name] = web.SessionCookie + "=" + in.Session.Reveal()
	if strings.HasPrefix(r.web.PublicURL, "https://") {
		r.Sessions[name] = web.HostPrefix + r.Sessions[name]
	}
	view, err := r.Accounts.Account(in.Account.ID)
	r.Must(err)
	switch {
	case name == "free" || view.Plan != assay.PlanNone:
	case name == "member":
		r.Organization("Fund", assay.PlanFull, email)
	default:
		r.Grant(email, assay.Plan(name))
	}
	return r.Sessions[name]
}

// Grant gives an account a plan.
func (r *Rig) Grant(email string, plan assay.Plan) assay.Grant {
	r.Test.Helper()
	g, err := r.Accounts.AddGrant(context.Background(), email, account.GrantRequest{Plan: plan})
	r.Must(err)
	return g
}

// Organization makes an organization with members.
func (r *Rig) Organization(name string, plan assay.Plan, members ...string) {
	r.Test.Helper()
	_, err := r.Accounts.AddOrganization(context.Background(), name, plan)
	r.Must(err)
	for _, email := range members {
		r.Must(r.Accounts.AddMember(context.Background(), name, email, assay.RoleMember))
	}
}

// CreateKey makes a key as a caller.
func (r *Rig) CreateKey(caller string) (key, id string) {
	r.Test.Helper()
	got := r.Write(http.MethodPost, caller, "/api/create-api-key", `{"name":"a test"}`)
	var made struct {
		Key  string
		Data struct{ ID string }
	}
	r.Must(json.Unmarshal([]byte(got.Text), &made))
	if got.StatusCode != http.StatusCreated || made.Key == "" {
		r.Test.Fatalf("creating a key as %s: %d %s", caller, got.StatusCode, got.Text)
	}
	return made.Key, made.Data.ID
}

// Origin is that of the pages of a server with SecondFactors.
const Origin = "https://data.example"

// SecondFactors is an option for a server with second factors, passkeys included.
func SecondFactors(c *Config) {
	secret, err := seal.NewKey([]byte(strings.Repeat("k", seal.MinSecret)))
	if err != nil {
		panic(err) // it is long enough
	}
	site, err := factor.NewSite(Origin)
	if err != nil {
		panic(err) // it is https
	}
	c.Console.Accounts.Secret, c.Console.Accounts.Passkeys = secret, site
	c.Web.PublicURL = Origin
}
