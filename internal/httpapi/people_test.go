package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
)

// password is everybody's who has one.
const password = "correct horse battery"

// must stops the test at an error that is not what it is about.
func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// session is the cookie of a caller such as "premium session". Account and session are made when they are first asked for: an
// account without a grant (free), with one (trial, premium, full), or a member of an organization on full access (member).
func (r *rig) session(caller string) string {
	r.t.Helper()
	name, _, _ := strings.Cut(caller, " ")
	if cookie, ok := r.sessions[name]; ok {
		return cookie
	}
	email := name + "@example.com"
	token, who, err := r.Accounts.SignInAs(context.Background(), "https://issuer.example", name, email, "")
	r.must(err)
	r.sessions[name] = sessionCookie + "=" + token.Reveal()
	view, err := r.Accounts.Account(who.ID)
	r.must(err)
	switch {
	case name == "free" || view.Plan != assay.PlanNone:
	case name == "member":
		r.organization("Fund", assay.PlanFull, email)
	default:
		r.grant(email, assay.Plan(name))
	}
	return r.sessions[name]
}

func (r *rig) grant(email string, plan assay.Plan) assay.Grant {
	r.t.Helper()
	g, err := r.Accounts.AddGrant(context.Background(), email, account.GrantAsk{Plan: plan})
	r.must(err)
	return g
}

func (r *rig) organization(name string, plan assay.Plan, members ...string) {
	r.t.Helper()
	_, err := r.Accounts.AddOrganization(context.Background(), name, plan)
	r.must(err)
	for _, email := range members {
		r.must(r.Accounts.AddMember(context.Background(), name, email, assay.RoleMember))
	}
}

// write sends a body of JSON.
func (r *rig) write(method, caller, target, body string, headers ...string) reply {
	r.t.Helper()
	request := httptest.NewRequest(method, target, strings.NewReader(body))
	request.RequestURI = target
	request.Header.Set("Content-Type", "application/json")
	if caller != "" {
		request.Header.Set("Cookie", r.session(caller))
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "peer" {
			request.RemoteAddr = headers[i+1]
			continue
		}
		request.Header.Set(headers[i], headers[i+1])
	}
	return r.send(request)
}

// createKey makes a key as a caller.
func (r *rig) createKey(caller string) (key, id string) {
	r.t.Helper()
	got := r.write(http.MethodPost, caller, "/api/create-api-key", `{"name":"a test"}`)
	var made struct {
		Key  string
		Data struct{ ID string }
	}
	r.must(unmarshal([]byte(got.body), &made))
	if got.StatusCode != http.StatusCreated || made.Key == "" {
		r.t.Fatalf("creating a key as %s: %d %s", caller, got.StatusCode, got.body)
	}
	return made.Key, made.Data.ID
}
