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

// rig is a provider at the other end, our half of it, and a clock that both look at.
type rig struct {
	*oidc.Provider
	t    *testing.T
	far  *oidctest.Provider
	now  time.Time
	logs bytes.Buffer
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, now: time.Date(2026, 2, 4, 12, 0, 0, 0, time.UTC)}
	r.far = oidctest.New(t, func() time.Time { return r.now })
	r.Provider = r.another(oidctest.ClientSecret)
	return r
}

// another is our half on another node.
func (r *rig) another(secret string) *oidc.Provider {
	return oidc.New(oidc.Config{
		Issuer: r.far.URL, ClientID: oidctest.ClientID, ClientSecret: secret, RedirectURL: "https://assay.example/api/session/oidc/callback",
		Now: func() time.Time { return r.now }, Log: slog.New(slog.NewTextHandler(&r.logs, nil)),
	})
}

// visit goes to the provider and gives what it sends the browser back with.
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

func (r *rig) begin() (answer url.Values, ticket string) {
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
	for _, algorithm := range []string{"RS256", "ES256"} {
		r := newRig(t)
		r.far.Set(func(p *oidctest.Provider) { p.Algorithm = algorithm })
		answer, ticket := r.begin()
		got, err := r.another(oidctest.ClientSecret).Finish(t.Context(), ticket, answer) // on whichever node
		if want := (oidc.Identity{Issuer: r.far.URL, Subject: "subject-1", Email: "person@example.com", Name: "A Person"}); err != nil || got != want {
			t.Errorf("%s: got %+v (%v), want %+v", algorithm, got, err, want)
		}
		if r.logs.Len() > 0 {
			t.Errorf("logged: %s", r.logs.String())
		}
	}
}

// A code counts once, and only with its own ticket.
func TestFinish_TicketAndCode(t *testing.T) {
	r := newRig(t)
	answer, ticket := r.begin()
	other, otherTicket := r.begin()

	finish := func(ticket string, answer url.Values) error {
		_, err := r.Finish(t.Context(), ticket, answer)
		return err
	}
	r.refused(finish("", answer), "oidc_failed")
	r.refused(finish("x"+ticket, answer), "oidc_failed")
	r.refused(finish(ticket+"x", answer), "oidc_failed")
	r.refused(finish(otherTicket, answer), "oidc_failed")
	r.refused(finish(ticket, url.Values{"code": answer["code"]}), "oidc_failed")
	r.refused(finish(ticket, url.Values{"code": answer["code"], "state": {"wrong"}}), "oidc_failed")
	r.refused(finish(ticket, url.Values{"state": answer["state"], "error": {"access_denied"}}), "oidc_failed")
	r.refused(finish(ticket, url.Values{"state": answer["state"], "code": other["code"]}), "oidc_failed") // PKCE
	r.refused(finish(ticket, url.Values{"state": answer["state"], "code": {"made up"}}), "oidc_failed")
	if err := finish(ticket, answer); err != nil {
		t.Errorf("the right one: %v", err)
	}
	r.refused(finish(ticket, answer), "oidc_failed")

	answer, ticket = r.begin()
	r.now = r.now.Add(oidc.TicketLength)
	r.refused(finish(ticket, answer), "oidc_failed")
}

func TestFinish_Token(t *testing.T) {
	r := newRig(t)
	f := func(code string, claims map[string]any) {
		t.Helper()
		r.far.Set(func(p *oidctest.Provider) { p.Claims = claims })
		answer, ticket := r.begin()
		_, err := r.Finish(t.Context(), ticket, answer)
		r.refused(err, code)
	}
	f("oidc_failed", map[string]any{"nonce": "another"})
	f("oidc_failed", map[string]any{"exp": r.now.Add(-time.Second).Unix()})
	f("oidc_failed", map[string]any{"aud": "another client"})
	f("oidc_failed", map[string]any{"iss": "https://another.example"})
	f("email_unverified", map[string]any{"email_verified": false})
	f("email_unverified", map[string]any{"email_verified": nil})
	f("email_unverified", map[string]any{"email": ""})
}

// While the provider is away, signing in says so; once it is back, it works.
func TestProviderAway(t *testing.T) {
	r := newRig(t)
	away := func(away bool) { r.far.Set(func(p *oidctest.Provider) { p.Away = away }) }
	away(true)
	_, _, err := r.Begin(t.Context())
	r.refused(err, "oidc_unavailable")
	away(false)
	_, _, err = r.Begin(t.Context())
	r.refused(err, "oidc_unavailable") // it has just been asked
	r.now = r.now.Add(time.Second)
	answer, ticket := r.begin()
	away(true)
	_, err = r.Finish(t.Context(), ticket, answer)
	r.refused(err, "oidc_unavailable")
	away(false)
	if _, err := r.Finish(t.Context(), ticket, answer); err != nil {
		t.Error(err)
	}
	r.far.Close()
	_, err = r.Finish(t.Context(), ticket, answer)
	r.refused(err, "oidc_unavailable")
}

func TestNoSecretIsLogged(t *testing.T) {
	r := newRig(t)
	answer, ticket := r.begin()
	wrong := r.another("another secret") // whose tickets are others, too
	_, err := wrong.Finish(t.Context(), ticket, answer)
	r.refused(err, "oidc_failed")
	r.far.Set(func(p *oidctest.Provider) { p.Claims = map[string]any{"nonce": "another"} })
	_, err = r.Finish(t.Context(), ticket, answer)
	r.refused(err, "oidc_failed")
	_, err = r.Finish(t.Context(), ticket, answer)
	r.refused(err, "oidc_failed")
	for _, secret := range []string{oidctest.ClientSecret, "another secret", ticket, answer.Get("code"), answer.Get("state")} {
		if strings.Contains(r.logs.String(), secret) {
			t.Errorf("the log holds %q:\n%s", secret, r.logs.String())
		}
	}
	if !strings.Contains(r.logs.String(), "invalid_grant") {
		t.Errorf("the log does not tell what the provider says:\n%s", r.logs.String())
	}
}
