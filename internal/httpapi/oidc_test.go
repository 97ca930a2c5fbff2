package httpapi

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/oidc"
	"github.com/assaydata/assay/internal/oidc/oidctest"
)

// withProvider is the option of a rig that people can sign in to through a provider.
func withProvider(t *testing.T, now func() time.Time) (*oidctest.Provider, func(*Config)) {
	far := oidctest.New(t, now)
	return far, func(c *Config) {
		c.PublicURL, c.OIDCName = "https://data.example", "Example SSO"
		c.OIDC = oidc.New(oidc.Config{
			Issuer: far.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, RedirectURL: c.PublicURL + OIDCCallback, Now: now,
			Log: slog.New(slog.DiscardHandler),
		})
	}
}

// visit goes to the provider as the browser does, and gives the path that it is sent back to.
func (r *rig) visit(address string) string {
	r.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	request, err := http.NewRequestWithContext(r.t.(*testing.T).Context(), get, address, nil)
	r.must(err)
	response, err := client.Do(request)
	r.must(err)
	defer response.Body.Close()
	back, err := response.Location()
	r.must(err)
	return back.RequestURI()
}

func TestOIDC(t *testing.T) {
	far, option := withProvider(t, func() time.Time { return fixtureNow })
	r := newRig(t, option)
	begin := func() (back, ticket string) {
		t.Helper()
		got := r.get("", "/api/session/oidc")
		if got.StatusCode != 303 || got.Header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(got.Header.Get("Location"), far.URL+"/authorize?") {
			t.Fatalf("%d %v %s", got.StatusCode, got.Header, got.body)
		}
		c := got.Cookies()[0]
		if c.Name != ticketCookie || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/api/session/oidc" || c.MaxAge != 600 {
			t.Errorf("the cookie is %+v", c)
		}
		return r.visit(got.Header.Get("Location")), c.Name + "=" + c.Value
	}
	back, ticket := begin()
	got := r.get("", back, "Cookie", ticket)
	if got.StatusCode != 303 || got.Header.Get("Location") != "/settings" {
		t.Fatalf("%d %v %s", got.StatusCode, got.Header, got.body)
	}
	c := cookie(t, got)
	if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode {
		t.Errorf("the cookie is %+v", c)
	}
	r.sessions["person"] = c.Name + "=" + c.Value
	if got := r.get("person session", "/api/account"); !strings.Contains(got.body, `"email":"person@example.com","name":"A Person","has_password":false,"oidc_issuer":"`+far.URL) {
		t.Errorf("%s", got.body)
	}

	refused := func(back, cookie string, status int, code string) {
		t.Helper()
		if got := r.get("", back, "Cookie", cookie); got.StatusCode != status || !strings.Contains(got.body, `"code":"`+code+`"`) {
			t.Errorf("%d %s, want %d %s", got.StatusCode, got.body, status, code)
		}
		got := r.get("", back, "Cookie", cookie, "Accept", "text/html")
		if got.StatusCode != 303 || !strings.HasPrefix(got.Header.Get("Location"), "/signin?error=") {
			t.Errorf("a browser: %d %v", got.StatusCode, got.Header)
		}
		for _, c := range got.Cookies() {
			if c.Name == sessionCookie || c.MaxAge >= 0 {
				t.Errorf("a refused sign-in sets %+v", c)
			}
		}
	}
	refused(back, ticket, 401, "oidc_failed") // a code counts once
	back, ticket = begin()
	refused(back, "", 401, "oidc_failed")
	refused(strings.Replace(back, "state=", "state=x", 1), ticket, 401, "oidc_failed")
	refused(OIDCCallback+"?error=access_denied&state="+state(t, back), ticket, 401, "oidc_failed")
	far.Set(func(p *oidctest.Provider) { p.Claims = map[string]any{"email_verified": false} })
	refused(back, ticket, 403, "email_unverified")

	if strings.Contains(r.logs.String(), "code=") || strings.Contains(r.logs.String(), "state=") {
		t.Errorf("the log holds a code: %s", r.logs.String())
	}
}

func state(t *testing.T, back string) string {
	t.Helper()
	parsed, err := url.Parse(back)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Query().Get("state")
}

// TestOIDC_ProviderAway: the server is there although the provider is not, and the password still opens.
func TestOIDC_ProviderAway(t *testing.T) {
	far, option := withProvider(t, func() time.Time { return fixtureNow })
	far.Close()
	r := newRig(t, option)
	got := r.get("", "/api/session/oidc")
	if got.StatusCode != 503 || !strings.Contains(got.body, `"message":"The sign-in provider cannot be reached. Try again later.","code":"oidc_unavailable"`) {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if got := r.get("", "/api/session/oidc", "Accept", "text/html"); got.Header.Get("Location") != "/signin?error=oidc_unavailable" {
		t.Errorf("a browser: %d %v", got.StatusCode, got.Header)
	}
	if got := r.get("", "/api/session"); got.body != `{"success":true,"data":{"account":null,"oidc":{"name":"Example SSO"}}}` {
		t.Errorf("%s", got.body)
	}
	r.add(person)
	if got := r.write(post, "", "/api/session", credentials(person, password)); got.StatusCode != 200 {
		t.Errorf("with a password: %d %s", got.StatusCode, got.body)
	}
}

func TestOIDC_NotSetUp(t *testing.T) {
	r := newRig(t)
	if got := r.get("", "/api/session"); got.body != `{"success":true,"data":{"account":null,"oidc":null}}` {
		t.Errorf("%s", got.body)
	}
	for _, target := range []string{"/api/session/oidc", OIDCCallback} {
		if got := r.get("", target); got.StatusCode != 404 || !strings.Contains(got.body, "This server has no sign-in provider.") {
			t.Errorf("%s: %d %s", target, got.StatusCode, got.body)
		}
	}
}
