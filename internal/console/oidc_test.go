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
	"github.com/assaydata/assay/internal/store"
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

// beginOIDC begins a sign-in, and returns the path that the provider sends the browser back to and the cookie of the
// ticket.
func (r *rig) beginOIDC() (back, ticket string) {
	r.Test.Helper()
	got := r.Get("", "/api/session/oidc")
	if got.StatusCode != 303 || got.Header.Get("Cache-Control") != "no-store" {
		r.Test.Fatalf("%d %v %s", got.StatusCode, got.Header, got.Text)
	}
	c := got.Cookies()[0]
	if c.Name != web.HostPrefix+console.TicketCookie || c.Path != "/" || c.MaxAge != 600 ||
		!c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode {
		r.Test.Errorf("the cookie is %+v", c)
	}
	return r.visit(got.Header.Get("Location")), c.Name + "=" + c.Value
}

func TestOIDC(t *testing.T) {
	t.Parallel()
	far, option := withProvider(t, func() time.Time { return apitest.Now })
	r := newRig(t, option)
	back, ticket := r.beginOIDC()
	got := r.Get("", back, "Cookie", ticket)
	if got.StatusCode != 303 || got.Header.Get("Location") != "/" {
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
	back, ticket = r.beginOIDC()
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
	if got := r.Get("", "/api/session"); got.Text != signedOut(`{"name":"Example SSO"}`) {
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
	if got := r.Get("", "/api/session"); got.Text != signedOut("null") {
		t.Errorf("%s", got.Text)
	}
	for _, target := range []string{"/api/session/oidc", console.OIDCCallback} {
		if got := r.Get("", target); got.StatusCode != 404 || !strings.Contains(got.Text, "This server has no sign-in provider.") {
			t.Errorf("%s: %d %s", target, got.StatusCode, got.Text)
		}
	}
}

// linkCookieOf returns the cookie of the identity that waits for a password.
func linkCookieOf(t *testing.T, got apitest.Reply) string {
	t.Helper()
	for _, c := range got.Cookies() {
		if c.Name == web.HostPrefix+console.LinkCookie {
			if c.MaxAge != 600 || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode {
				t.Errorf("the cookie is %+v", c)
			}
			return c.Name + "=" + c.Value
		}
	}
	t.Fatalf("no cookie of an identity: %d %v %s", got.StatusCode, got.Header, got.Text)
	return ""
}

// The provider's word alone does not open an account that has a password: its owner links it, once.
func TestOIDC_LinkNeedsPassword(t *testing.T) {
	t.Parallel()
	_, option := withProvider(t, func() time.Time { return apitest.Now })
	r := newRig(t, option)
	r.add(person)
	back, ticket := r.beginOIDC()
	got := r.Get("", back, "Cookie", ticket)
	if got.StatusCode != 303 || got.Header.Get("Location") != "/signin" {
		t.Fatalf("%d %v %s", got.StatusCode, got.Header, got.Text)
	}
	for _, c := range got.Cookies() {
		if strings.HasSuffix(c.Name, web.SessionCookie) {
			t.Errorf("a session without the password: %+v", c)
		}
	}
	kept := linkCookieOf(t, got)
	if got := r.Get("", "/api/session", "Cookie", kept); !strings.Contains(got.Text, `"account":null,`) || !strings.Contains(got.Text, `"link":{"email":"`+person+`"}`) {
		t.Errorf("%s", got.Text)
	}

	link := func(body, cookie string) apitest.Reply {
		t.Helper()
		return r.Write(http.MethodPost, "", "/api/session/oidc/link", body, "Cookie", cookie)
	}
	refused := func(got apitest.Reply, status int, code string) {
		t.Helper()
		if got.StatusCode != status || !strings.Contains(got.Text, `"code":"`+code+`"`) || len(got.Cookies()) > 0 {
			t.Errorf("%d %v %s, want %d %s", got.StatusCode, got.Header, got.Text, status, code)
		}
	}
	const right, wrong = `{"password":"` + apitest.Password + `"}`, `{"password":"` + wrongPassword + `"}`
	refused(link(wrong, kept), 401, "sign_in_failed")
	refused(link(`{"password":""}`, kept), 400, "invalid_body")
	refused(link(right, ""), 401, "sign_in_ended")
	refused(link(right, kept+"x"), 401, "sign_in_ended")
	refused(link(right, strings.Replace(ticket, console.TicketCookie, console.LinkCookie, 1)), 401, "sign_in_ended")
	if got := r.Get("", "/api/session/oidc", "Cookie", kept); got.StatusCode != 303 {
		t.Errorf("another sign-in meanwhile: %d", got.StatusCode)
	}

	got = link(right, kept)
	if got.StatusCode != 200 || !strings.Contains(got.Text, `"email":"`+person+`"`) {
		t.Fatalf("%d %s", got.StatusCode, got.Text)
	}
	c := cookie(t, got)
	r.Sessions["linked"] = c.Name + "=" + c.Value
	if got := r.Get("linked session", "/api/account"); !strings.Contains(got.Text, `"has_password":true,"oidc_issuer":"http://`) {
		t.Errorf("%s", got.Text)
	}
	refused(link(right, kept), 401, "sign_in_ended") // the identity is used

	back, ticket = r.beginOIDC()
	if got := r.Get("", back, "Cookie", ticket); got.Header.Get("Location") != "/" {
		t.Errorf("the next sign-in: %d %v %s", got.StatusCode, got.Header, got.Text)
	}
}

// The cookie of an identity is no way to guess faster than at the sign-in: the attempts count together.
func TestOIDC_LinkIsLimited(t *testing.T) {
	t.Parallel()
	_, option := withProvider(t, func() time.Time { return apitest.Now })
	r := newRig(t, option)
	r.add(person)
	back, ticket := r.beginOIDC()
	kept := linkCookieOf(t, r.Get("", back, "Cookie", ticket))
	const body = `{"password":"` + wrongPassword + `"}`
	for i := range 5 {
		if got := r.Write(http.MethodPost, "", "/api/session/oidc/link", body, "Cookie", kept); got.StatusCode != 401 {
			t.Fatalf("guess %d: %d %s", i+1, got.StatusCode, got.Text)
		}
	}
	if got := r.Write(http.MethodPost, "", "/api/session/oidc/link", body, "Cookie", kept); got.StatusCode != 429 {
		t.Errorf("a sixth guess: %d %s", got.StatusCode, got.Text)
	}
	if got := r.Write(http.MethodPost, "", "/api/session", credentials(person, wrongPassword)); got.StatusCode != 429 {
		t.Errorf("at the sign-in: %d %s", got.StatusCode, got.Text)
	}
}

// A ticket that was copied out of a browser does not sign in again, although the provider gives another code for the
// same address.
func TestOIDC_TicketWorksOnce(t *testing.T) {
	t.Parallel()
	_, option := withProvider(t, func() time.Time { return apitest.Now })
	r := newRig(t, option)
	began := r.Get("", "/api/session/oidc")
	ticket := began.Cookies()[0].Name + "=" + began.Cookies()[0].Value
	for i, want := range []int{303, 401} {
		got := r.Get("", r.visit(began.Header.Get("Location")), "Cookie", ticket)
		if got.StatusCode != want {
			t.Errorf("use %d: %d %s, want %d", i+1, got.StatusCode, got.Text, want)
		}
		if want == 401 && !strings.Contains(got.Text, `"code":"sign_in_ended"`) {
			t.Errorf("use %d: %s", i+1, got.Text)
		}
	}
}

// A sign-in through the provider leaves its address where one with a password does: in the list of sessions and in the
// audit log.
func TestOIDC_RecordsAddress(t *testing.T) {
	t.Parallel()
	_, option := withProvider(t, func() time.Time { return apitest.Now })
	r := newRig(t, option)
	back, ticket := r.beginOIDC()
	c := cookie(t, r.Get("", back, "Cookie", ticket, "peer", "192.0.2.7:1", "User-Agent", "curl/8.5.0"))
	r.Sessions["person"] = c.Name + "=" + c.Value
	if got := r.Get("person session", "/api/account/sessions"); !strings.Contains(got.Text, `"address":"192.0.2.7"`) {
		t.Errorf("the list of sessions: %s", got.Text)
	}
	log, err := r.Accounts.Store.AuditLog(t.Context(), store.AuditFilter{Subject: "account:person@example.com", Limit: 1})
	r.Must(err)
	if len(log) != 1 || log[0].Action != "session.start" || !strings.Contains(string(log[0].Detail), `"address":"192.0.2.7"`) ||
		!strings.Contains(string(log[0].Detail), `"how":"oidc"`) {
		t.Errorf("the audit log: %+v", log)
	}
}
