package oidc_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/oidc"
	"github.com/assaydata/assay/internal/oidc/oidctest"
)

// rig is a provider, our client of it, and a clock that both read.
type rig struct {
	*oidc.Provider
	t    *testing.T
	far  *oidctest.Provider
	now  time.Time
	logs bytes.Buffer
}

var noon = time.Date(2026, 2, 4, 12, 0, 0, 0, time.UTC)

func newRig(t *testing.T) *rig {
	r := &rig{t: t, now: noon}
	r.far = oidctest.New(t, func() time.Time { return r.now })
	r.Provider = r.another(oidctest.ClientSecret)
	return r
}

// another returns the client of another node.
func (r *rig) another(secret string) *oidc.Provider { return oidc.New(r.config(secret)) }

func (r *rig) config(secret string) oidc.Config {
	return oidc.Config{
		Issuer:       r.far.URL,
		ClientID:     oidctest.ClientID,
		ClientSecret: secret,
		RedirectURL:  "https://assay.example/api/session/oidc/callback",
		Now:          func() time.Time { return r.now },
		Log:          slog.New(slog.NewTextHandler(&r.logs, nil)),
	}
}

// visit requests the provider's address and returns the query that the browser is sent back with.
func (r *rig) visit(address string) url.Values {
	r.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	back, err := response.Location()
	if err != nil {
		r.t.Fatalf("%s: %v", response.Status, err)
	}
	if !strings.HasPrefix(back.String(), "https://assay.example/api/session/oidc/callback?") {
		r.t.Fatalf("sent back to %s", back)
	}
	return back.Query()
}

func (r *rig) begin() (query url.Values, ticket string) {
	r.t.Helper()
	address, ticket, err := r.Begin(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return r.visit(address), ticket
}

func (r *rig) refused(err error, code string) {
	r.t.Helper()
	if e := assay.AsError(err); e.Code != code {
		r.t.Errorf("got %+v, want %s; the log says %s", e, code, r.logs.String())
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"RS256", "ES256"} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.far.Set(func(p *oidctest.Provider) { p.Algorithm = algorithm })
			query, ticket := r.begin()
			got, err := r.another(oidctest.ClientSecret).Finish(t.Context(), ticket, query) // on another node
			want := oidc.Identity{
				Issuer: r.far.URL, Subject: "subject-1", Email: "person@example.com", Name: "A Person", Ticket: got.Ticket,
			}
			if err != nil || got != want || got.Ticket.Ends != noon.Add(oidc.TicketLength).UnixMilli() {
				t.Errorf("got %+v (%v), want %+v", got, err, want)
			}
			if r.logs.Len() > 0 {
				t.Errorf("logged: %s", r.logs.String())
			}
		})
	}
}

// A code is valid once, and only with its own ticket.
func TestFinish_TicketAndCode(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	query, ticket := r.begin()
	other, otherTicket := r.begin()

	finish := func(ticket string, query url.Values) error {
		_, err := r.Finish(t.Context(), ticket, query)
		return err
	}
	r.refused(finish("", query), "oidc_failed")
	r.refused(finish("x"+ticket, query), "oidc_failed")
	r.refused(finish(ticket+"x", query), "oidc_failed")
	r.refused(finish(otherTicket, query), "oidc_failed")
	r.refused(finish(ticket, url.Values{"code": query["code"]}), "oidc_failed")
	r.refused(finish(ticket, url.Values{"code": query["code"], "state": {"wrong"}}), "oidc_failed")
	r.refused(finish(ticket, url.Values{"state": query["state"], "error": {"access_denied"}}), "oidc_failed")
	r.refused(finish(ticket, url.Values{"state": query["state"], "code": other["code"]}), "oidc_failed") // PKCE
	r.refused(finish(ticket, url.Values{"state": query["state"], "code": {"made up"}}), "oidc_failed")
	if err := finish(ticket, query); err != nil {
		t.Errorf("the right one: %v", err)
	}
	r.refused(finish(ticket, query), "oidc_failed")

	query, ticket = r.begin()
	r.now = r.now.Add(oidc.TicketLength)
	r.refused(finish(ticket, query), "oidc_failed")
}

func TestFinish_Token(t *testing.T) {
	t.Parallel()
	f := func(name, code string, claims map[string]any) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.far.Set(func(p *oidctest.Provider) { p.Claims = claims })
			query, ticket := r.begin()
			_, err := r.Finish(t.Context(), ticket, query)
			r.refused(err, code)
		})
	}
	f("another nonce", "oidc_failed", map[string]any{"nonce": "another"})
	f("expired", "oidc_failed", map[string]any{"exp": noon.Add(-time.Second).Unix()})
	f("another client", "oidc_failed", map[string]any{"aud": "another client"})
	f("another issuer", "oidc_failed", map[string]any{"iss": "https://another.example"})
	f("unverified email", "email_unverified", map[string]any{"email_verified": false})
	f("verification unknown", "email_unverified", map[string]any{"email_verified": nil})
	f("no email", "email_unverified", map[string]any{"email": ""})
}

// Every ticket has its own name, which does not change, so that the caller can tell whether it was used.
func TestFinish_NamesTheTicket(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	address, ticket, err := r.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	named := func(query url.Values, ticket string) oidc.TicketID {
		t.Helper()
		who, err := r.Finish(t.Context(), ticket, query)
		if err != nil {
			t.Fatal(err)
		}
		return who.Ticket
	}
	first, again := named(r.visit(address), ticket), named(r.visit(address), ticket) // with two codes of the provider
	other := named(r.begin())
	if first != again || first == other || first.ID == ([16]byte{}) {
		t.Errorf("named %v, again %v, another %v", first, again, other)
	}
}

func TestAllowedDomains(t *testing.T) {
	t.Parallel()
	f := func(email, code string) {
		t.Helper()
		t.Run(email, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			config := r.config(oidctest.ClientSecret)
			config.EmailDomains = []string{"example.com", "kelvin.example"}
			r.Provider = oidc.New(config)
			r.far.Set(func(p *oidctest.Provider) { p.Claims = map[string]any{"email": email} })
			query, ticket := r.begin()
			who, err := r.Finish(t.Context(), ticket, query)
			if code == "" && (err != nil || who.Email != email) {
				t.Errorf("got %+v (%v)", who, err)
			} else if code != "" {
				r.refused(err, code)
			}
		})
	}
	f("person@example.com", "")
	f("Person@EXAMPLE.com", "")
	f("person@kelvin.example", "")
	f("person@other.example", "email_domain_refused")
	f("person@sub.example.com", "email_domain_refused")
	f("person@notexample.com", "email_domain_refused")
	f("person@example.com.other.example", "email_domain_refused")
	f("person@example.com@other.example", "email_domain_refused")
	f("person", "email_domain_refused")
	f("person@", "email_domain_refused")
	f("person@\u212aelvin.example", "email_domain_refused") // the Kelvin sign folds to k
}

// An identity that a browser keeps cannot be forged, does not outlive its time, and is not a ticket.
func TestKeptIdentity(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	query, ticket := r.begin()
	who, err := r.Finish(t.Context(), ticket, query)
	if err != nil {
		t.Fatal(err)
	}
	kept := r.SealIdentity(who)
	got, ok := r.another(oidctest.ClientSecret).OpenIdentity(kept) // on another node
	if !ok || got.Ticket == who.Ticket || got.Ticket.Ends != noon.Add(oidc.TicketLength).UnixMilli() {
		t.Errorf("got %+v (%t)", got, ok)
	}
	if got.Ticket = who.Ticket; got != who {
		t.Errorf("got %+v, want %+v", got, who)
	}
	for _, text := range []string{"", kept + "x", "x" + kept, ticket} {
		if _, ok := r.OpenIdentity(text); ok {
			t.Errorf("%q opens", text)
		}
	}
	if _, ok := r.another("another secret").OpenIdentity(kept); ok {
		t.Error("it opens with another secret")
	}
	_, err = r.Finish(t.Context(), kept, query)
	r.refused(err, "oidc_failed")
	r.now = r.now.Add(oidc.TicketLength)
	if _, ok := r.OpenIdentity(kept); ok {
		t.Error("it has no end")
	}
}

// While the provider is away, signing in says so; once it is back, it works.
func TestProviderAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	away := func(away bool) { r.far.Set(func(p *oidctest.Provider) { p.Away = away }) }
	away(true)
	_, _, err := r.Begin(t.Context())
	r.refused(err, "oidc_unavailable")
	away(false)
	_, _, err = r.Begin(t.Context())
	r.refused(err, "oidc_unavailable") // it has failed just now
	r.now = r.now.Add(time.Second)
	query, ticket := r.begin()
	away(true)
	_, err = r.Finish(t.Context(), ticket, query)
	r.refused(err, "oidc_unavailable")
	away(false)
	if _, err := r.Finish(t.Context(), ticket, query); err != nil {
		t.Error(err)
	}
	r.far.Close()
	_, err = r.Finish(t.Context(), ticket, query)
	r.refused(err, "oidc_unavailable")
}

func TestNoSecretIsLogged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	query, ticket := r.begin()
	wrong := r.another("another secret") // its tickets have another authentication code too
	_, err := wrong.Finish(t.Context(), ticket, query)
	r.refused(err, "oidc_failed")
	r.far.Set(func(p *oidctest.Provider) { p.Claims = map[string]any{"nonce": "another"} })
	_, err = r.Finish(t.Context(), ticket, query)
	r.refused(err, "oidc_failed")
	_, err = r.Finish(t.Context(), ticket, query)
	r.refused(err, "oidc_failed")
	secrets := []string{oidctest.ClientSecret, "another secret", ticket, query.Get("code"), query.Get("state")}
	for _, secret := range secrets {
		if strings.Contains(r.logs.String(), secret) {
			t.Errorf("the log holds %q:\n%s", secret, r.logs.String())
		}
	}
	if !strings.Contains(r.logs.String(), "invalid_grant") {
		t.Errorf("the log does not have the provider's error code:\n%s", r.logs.String())
	}
}
