package console_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/console"
	"github.com/assaydata/assay/internal/web"

	"github.com/assaydata/assay/internal/oidc"
	"github.com/assaydata/assay/internal/oidc/oidctest"
)

// withProvider is the option of a rig that people can sign in to through a provider.
func withProvider(t *testing.T, now func() time.Time) (*oidctest.Provider, func(*apitest.Config)) {
	far := oidctest.New(t, now)
	return far, func(c *apitest.Config) {
		c.Web.PublicURL, c.Console.OIDCName = "https://data.example", "Example SSO"
		c.Console.OIDC = oidc.New(oidc.Config{
			Issuer: far.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret,
			RedirectURL: c.Web.PublicURL + console.OIDCCallback, Now: now, Log: slog.New(slog.DiscardHandler),
		})
	}
}

// visit goes to the provider as the browser does, and gives the path that it is sent back to.
func (r *rig) visit(address string) string {
	r.Test.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	request, err := http.NewRequestWithContext(r.Test.(*testing.T).Context(), http.MethodGet, address, nil)
	r.Must(err)
	response, err := client.Do(request)
	r.Must(err)
	defer response.Body.Close()
	back, err := response.Location()
	r.Must(err)
	return back.RequestURI()
}

func TestOIDC(t *testing.T) {
	t.Parallel()
	far, option := withProvider(t, func() time.Time { return apitest.Now })
	r := newRig(t, option)
	begin := func() (back, ticket string) {
		t.Helper()
		got := r.Get("", "/api/session/oidc")
		if got.StatusCode != 303 || got.Header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(got.Header.Get("Location"), far.URL+"/authorize?") {
			t.Fatalf("%d %v %s", got.StatusCode, got.Header, got.Text)
		}
		c := got.Cookies()[0]
		if c.Name != web.HostPrefix+console.TicketCookie || c.Path != "/" || c.MaxAge != 600 ||
			!c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode {
			t.Errorf("the cookie is %+v", c)
		}
		return r.visit(got.Header.Get("Location")), c.Name + "=" + c.Value
	}
	back, ticket := begin()
	got := r.Get("", back, "Cookie", ticket)
	if got.StatusCode != 303 || got.Header.Get("Location") != "/settings" {
		t.Fatalf("%d %v %s", got.StatusCode, got.Header, got.Text)
	}
	c := cookie(t, got)
	if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode {
		t.Errorf("the cookie is %+v", c)
	}
	r.Sessions["person"] = c.Name + "=" + c.Value
	if got := r.Get("person session", "/api/account"); !strings.Contains(got.Text, `"email":"person@example.com","name":"A Person","has_password":false,"oidc_issuer":"`+far.URL) {
		t.Errorf("%s", got.Text)
	}

	refused := func(back, cookie string, status int, code string) {
		t.Helper()
		if got := r.Get("", back, "Cookie", cookie); got.StatusCode != status || !strings.Contains(got.Text, `"code":"`+code+`"`) {
			t.Errorf("%d %s, want %d %s", got.StatusCode, got.Text, status, code)
		}
		got := r.Get("", back, "Cookie", cookie, "Accept", "text/html")
		if got.StatusCode != 303 || !strings.HasPrefix(got.Header.Get("Location"), "/signin?error=") {
			t.Errorf("a browser: %d %v", got.StatusCode, got.Header)
		}
		for _, c := range got.Cookies() {
			if strings.HasSuffix(c.Name, web.SessionCookie) || c.MaxAge >= 0 {
				t.Errorf("a refused sign-in sets %+v", c)
			}
		}
	}
	refused(back, ticket, 401, "oidc_failed") // a code counts once
	back, ticket = begin()
	refused(back, "", 401, "oidc_failed")
	refused(strings.Replace(back, "state=", "state=x", 1), ticket, 401, "oidc_failed")
	refused(console.OIDCCallback+"?error=access_denied&state="+state(t, back), ticket, 401, "oidc_failed")
	far.Set(func(p *oidctest.Provider) { p.Claims = map[string]any{"email_verified": false} })
	refused(back, ticket, 403, "email_unverified")

	if strings.Contains(r.Logs.String(), "code=") || strings.Contains(r.Logs.String(), "state=") {
		t.Errorf("the log holds a code: %s", r.Logs.String())
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
	t.Parallel()
	far, option := withProvider(t, func() time.Time { return apitest.Now })
	far.Close()
	r := newRig(t, option)
	got := r.Get("", "/api/session/oidc")
	if got.StatusCode != 503 || !strings.Contains(got.Text, `"message":"The sign-in provider cannot be reached. Try again later.","code":"oidc_unavailable"`) {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
	if got := r.Get("", "/api/session/oidc", "Accept", "text/html"); got.Header.Get("Location") != "/signin?error=oidc_unavailable" {
		t.Errorf("a browser: %d %v", got.StatusCode, got.Header)
	}
	if got := r.Get("", "/api/session"); got.Text != `{"success":true,"data":{"account":null,"must_change_password":false,"oidc":{"name":"Example SSO"},"second_factor":null,"must_add_second_factor":false,"passkey_host":null}}` {
		t.Errorf("%s", got.Text)
	}
	r.add(person)
	if got := r.Write(http.MethodPost, "", "/api/session", credentials(person, apitest.Password)); got.StatusCode != 200 {
		t.Errorf("with a password: %d %s", got.StatusCode, got.Text)
	}
}

func TestOIDC_NotSetUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if got := r.Get("", "/api/session"); got.Text != `{"success":true,"data":{"account":null,"must_change_password":false,"oidc":null,"second_factor":null,"must_add_second_factor":false,"passkey_host":null}}` {
		t.Errorf("%s", got.Text)
	}
	for _, target := range []string{"/api/session/oidc", console.OIDCCallback} {
		if got := r.Get("", target); got.StatusCode != 404 || !strings.Contains(got.Text, "This server has no sign-in provider.") {
			t.Errorf("%s: %d %s", target, got.StatusCode, got.Text)
		}
	}
}
